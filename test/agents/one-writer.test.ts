import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentMessage } from "../../packages/compact-context/src/agent/agent-message.ts";
import { agentWith, endOf, eventsOf, play, tempFolder, tool } from "./harness.ts";

/** The list as it is stored. */
function stored(channelDir: string): readonly AgentMessage[] {
  const lines = readFileSync(join(channelDir, "context.jsonl"), "utf8").trim().split("\n").slice(1);
  return lines.map((line) => (JSON.parse(line) as { message: AgentMessage }).message);
}

function untold(channelDir: string): { answer: () => { text: string }; options: { channelDir: string } } {
  return { answer: () => ({ text: "ok" }), options: { channelDir } };
}

describe("a channel's session is written by one agent", () => {
  it("another process is refused while it runs, and goes on once it was killed", async () => {
    const channelDir = tempFolder();
    const worker = fork(join(import.meta.dirname, "one-writer-worker.mjs"), [channelDir]);
    onTestFinished(() => void worker.kill("SIGKILL"));
    await once(worker, "message");
    const { answer, options } = untold(channelDir);
    await expect(agentWith(answer, options)).rejects.toMatchObject({
      code: "Conflict",
      message: `another agent (process ${worker.pid}) has this channel open`,
      place: channelDir,
      hint: expect.stringContaining("Close that one first"),
    });
    const ended = once(worker, "exit");
    worker.kill("SIGKILL");
    await ended;
    const { agent } = await agentWith(answer, options);
    expect(JSON.stringify(agent.messages)).toContain("Said by the worker.");
    expect(endOf(await play(agent, "and now?"))?.end).toBe("answered");
    expect(stored(channelDir)).toEqual(agent.messages);
  });

  it("goes to a newer agent of the same process, even in the middle of the earlier one's turn", async () => {
    const channelDir = tempFolder();
    let finish: (text: string) => void = () => undefined;
    const slow = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const first = await agentWith(
      (_request, number) => (number === 1 ? { calls: [{ name: "wait", arguments: {} }] } : { text: "late" }),
      { channelDir, tools: [tool("wait", () => slow)] },
    );
    const turn = play(first.agent, "wait for it");
    await expect.poll(() => first.agent.messages.length).toBe(2);

    const second = await agentWith(() => ({ text: "mine" }), { channelDir });
    await play(second.agent, "two");
    finish("done");
    const told = eventsOf(await turn, "warning").map(({ diagnostic }) => diagnostic);
    expect(told).toMatchObject([
      { code: "session-not-saved", hint: expect.stringMatching(/another one|that one/) },
    ]);
    await play(second.agent, "three");
    expect(stored(channelDir)).toEqual(second.agent.messages);

    const lost = {
      code: "Conflict",
      message: "this channel is another agent's by now, or its lock was removed",
    };
    await expect(play(first.agent, "and I?")).rejects.toMatchObject(lost);
    await expect(first.agent.compact()).rejects.toMatchObject(lost);
    await expect(first.agent.startNew()).rejects.toMatchObject(lost);
    await first.agent.close();
    expect(endOf(await play(second.agent, "four"))?.end).toBe("answered");
    expect(stored(channelDir)).toEqual(second.agent.messages);
    expect(readFileSync(join(channelDir, "log.jsonl"), "utf8")).toContain('"late"');
  });

  it("is free again after `close`, and after an agent that could not be made", async () => {
    const channelDir = tempFolder();
    const lock = join(channelDir, "agent.lock");
    const { answer, options } = untold(channelDir);
    const { agent } = await agentWith(answer, options);
    expect(existsSync(lock)).toBe(true);
    await agent.close();
    expect(existsSync(lock)).toBe(false);
    await expect(play(agent, "still there?")).rejects.toMatchObject({
      code: "Conflict",
      message: "this agent was closed, and its channel given back",
    });
    const twins = [tool("same", () => ""), tool("same", () => "")];
    await expect(agentWith(answer, { ...options, tools: twins })).rejects.toMatchObject({
      code: "InvalidConfig",
    });
    expect(existsSync(lock)).toBe(false);
  });
});
