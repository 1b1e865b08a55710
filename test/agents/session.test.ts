import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAgent } from "../../packages/compact-context/src/agent/index.ts";
import { createScriptedModel } from "../../packages/compact-context/src/agent/scripted.ts";
import { CompactError } from "../../packages/compact-context/src/errors.ts";
import { lint } from "../../packages/compact-context/src/lint/index.ts";
import { createChannelMemory } from "../../packages/compact-context/src/memory/index.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { agentWith, endOf, eventsOf, play, resultsIn, tempFolder, tool } from "./harness.ts";

const SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const filler = (seed: number): string =>
  Array.from({ length: 120 }, (_, index) => `detail ${seed}-${index} of the build log`).join("\n");

describe("a session in its channel", () => {
  it("goes on in another process, its compactions known, its secrets not written", async () => {
    const channelDir = tempFolder();
    const storage = createMemoryDriver();
    const more = {
      channelDir,
      managerPorts: { storage, onWarning: () => undefined },
      config: { maxContextTokens: 9000, policy: { hardCapBuffer: 500 } },
    };
    const first = await agentWith((_r, number) => ({ text: `Noted ${number}.` }), more);
    for (let turn = 1; turn <= 12; turn += 1) await play(first.agent, `token is ${SECRET}\n${filler(turn)}`);
    expect(first.agent.context().compactions).toBeGreaterThan(0);
    await first.agent.close();

    const second = await agentWith(() => ({ text: "Still here." }), more);
    expect(second.agent.sessionId).toBe(first.agent.sessionId);
    expect(second.agent.messages).toHaveLength(first.agent.messages.length);
    expect(endOf(await play(second.agent, "and now?"))?.end).toBe("answered");
    expect(
      second.requests[0]?.messages.some((message) => JSON.stringify(message).includes("COMPACT-SUMMARY")),
    ).toBe(true);
    for (const file of ["context.jsonl", "log.jsonl"])
      expect(readFileSync(join(channelDir, file), "utf8")).not.toContain(SECRET);
  });

  it("mends what a process that died left: torn lines, calls without results", async () => {
    const channelDir = tempFolder();
    const { agent } = await agentWith(() => ({ text: "ok" }), { channelDir });
    await play(agent, "one");
    const call = { type: "tool-call", toolCallId: "c1", toolName: "run", input: {} };
    const message = { role: "assistant", content: [call] };
    appendFileSync(
      join(channelDir, "context.jsonl"),
      `${JSON.stringify({ type: "message", message })}\n{"type":"mess`,
    );
    const problems: string[] = [];
    const next = await agentWith(() => ({ text: "fine" }), {
      channelDir,
      onDiagnostic: ({ place = "" }) => problems.push(place.replace(channelDir, "")),
    });
    expect(problems).toEqual(["/context.jsonl:5"]);
    expect(lint(next.agent.messages, "ai-sdk")).toEqual([]);
    expect(JSON.stringify(next.agent.messages.at(-1))).toContain(
      "The process ended before this call was finished",
    );
    expect(endOf(await play(next.agent, "two"))?.end).toBe("answered");
    const third = await agentWith(() => ({ text: "fine" }), { channelDir });
    expect(third.agent.messages).toHaveLength(next.agent.messages.length);
  });

  it("tells once that the disk is full, goes on in memory, and catches up", async () => {
    const driver = createMemoryDriver();
    let full = false;
    const refuse = async (): Promise<void> => {
      if (full)
        throw new CompactError("StorageFailed", "no space left on device", { hint: "Free some disk space." });
    };
    const sessionStorage: typeof driver = {
      ...driver,
      append: async (key, text) => refuse().then(() => driver.append(key, text)),
      put: async (key, value, options) => refuse().then(() => driver.put(key, value, options)),
    };
    const { agent } = await agentWith(() => ({ text: "ok" }), { sessionStorage });
    full = true;
    const events = [...(await play(agent, "one")), ...(await play(agent, "two"))];
    expect(eventsOf(events, "warning").map(({ diagnostic }) => diagnostic)).toEqual([
      { code: "session-not-saved", message: "no space left on device", hint: "Free some disk space." },
    ]);
    full = false;
    await play(agent, "three");
    const model = createScriptedModel(() => ({}));
    const next = await createAgent({ model, sessionStorage, config: { storage: { kind: "memory" } } });
    expect(next.messages).toEqual(agent.messages);
  });

  it("keeps a session apart from the one before where its beginning could not be stored", async () => {
    const driver = createMemoryDriver();
    let full = false;
    const sessionStorage: typeof driver = {
      ...driver,
      put: async (key, value, options) => {
        if (full) throw new CompactError("StorageFailed", "no space left", { hint: "Free some disk space." });
        return driver.put(key, value, options);
      },
    };
    const told: string[] = [];
    const onDiagnostic = ({ code }: { readonly code: string }): void => void told.push(code);
    const { agent } = await agentWith(() => ({ text: "ok" }), { sessionStorage, onDiagnostic });
    await play(agent, "of the old session");
    full = true;
    await agent.startNew();
    expect(told).toEqual(["session-not-saved"]);
    full = false;
    await play(agent, "of the new session");
    const next = await agentWith(() => ({ text: "ok" }), { sessionStorage });
    expect(next.agent.sessionId).toBe(agent.sessionId);
    expect(next.agent.messages).toEqual(agent.messages);
  });

  it("logs every message once, whatever became of the list", async () => {
    const driver = createMemoryDriver();
    let full = false;
    const sessionStorage: typeof driver = {
      ...driver,
      append: async (key, text) => {
        if (full && key === "context.jsonl") throw new Error("no space left");
        return driver.append(key, text);
      },
    };
    const { agent } = await agentWith(
      (_request, number) => {
        full = number === 2;
        return { text: `answer ${number}` };
      },
      { sessionStorage },
    );
    for (const text of ["one", "two", "three"]) await play(agent, text);
    await agent.close();
    const log = (await driver.get("log.jsonl"))?.value ?? "";
    const texts = [...log.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text);
    expect(texts).toEqual(["one", "answer 1", "two", "answer 2", "three", "answer 3"]);
  });

  it("begins a new session where the first line of the stored one is damaged, and says so", async () => {
    const channelDir = tempFolder();
    writeFileSync(join(channelDir, "context.jsonl"), '{"type":"sess\n{"type":"message","message":{}}\n');
    const told: string[] = [];
    const { agent } = await agentWith(() => ({ text: "ok" }), {
      channelDir,
      onDiagnostic: ({ place = "", message }) => told.push(`${place.replace(channelDir, "")} ${message}`),
    });
    expect(agent.messages).toEqual([]);
    expect(told).toEqual([
      "/context.jsonl:1 the first line of the session cannot be read, so that a new one begins",
    ]);
  });

  it("lets the host's own ports hear of compactions beside skills and memory", async () => {
    const heard: string[] = [];
    const flushed: string[] = [];
    const workspaceDir = tempFolder();
    const { agent } = await agentWith(() => ({ text: "ok" }), {
      memory: createChannelMemory({ workspaceDir, channelDir: join(workspaceDir, "channel") }),
      managerPorts: {
        storage: createMemoryDriver(),
        onWarning: () => undefined,
        beforeCompaction: (_messages, { sessionId }) => void heard.push(sessionId),
        memoryFlushHook: (messages) => void flushed.push(...messages.map(({ id }) => id)),
      },
    });
    for (let turn = 1; turn <= 9; turn += 1) await play(agent, filler(turn));
    expect((await agent.compact()).compacted).toBe(true);
    await agent.close();
    expect(heard).toEqual([agent.sessionId]);
    expect(flushed.length).toBeGreaterThan(0);
  });

  it("goes on where the archive's disk is full: the list stays whole while it fits", async () => {
    const driver = createMemoryDriver();
    const storage: typeof driver = {
      ...driver,
      put: async () => {
        throw new CompactError("StorageFailed", "no space left on device", { hint: "Free some disk space." });
      },
    };
    const { agent } = await agentWith(() => ({ text: "ok" }), {
      managerPorts: { storage, onWarning: () => undefined },
      config: { maxContextTokens: 9000, policy: { hardCapBuffer: 500 } },
    });
    const ends = [];
    for (let turn = 1; turn <= 12; turn += 1) ends.push(endOf(await play(agent, filler(turn)))?.end);
    expect(ends[0]).toBe("answered");
    expect(ends.at(-1)).toBe("failed");
    expect(agent.messages.length).toBeGreaterThan(12);
  });
});

describe("commands as data", () => {
  it("AGT-3 tells tokens by layer and the distance to the trigger, compacts on demand with an instruction, and begins a new session", async () => {
    const channelDir = tempFolder();
    const { agent, requests } = await agentWith(
      (request, number) =>
        request.messages.length === 1 && number > 3
          ? { calls: [{ name: "compact_search", arguments: { query: "falcon port" } }] }
          : { text: `Noted ${number}.` },
      { channelDir, system: "Be brief.", tools: [tool("read", () => filler(1))] },
    );
    await play(agent, "The port of falcon is 8423.");
    for (let turn = 1; turn <= 9; turn += 1) await play(agent, filler(turn));
    const before = agent.context();
    const sum = before.layers.reduce((total, layer) => total + layer.tokens, 0);
    expect(before.tokens - sum).toBeLessThan(10);
    expect(before.layers.map(({ name }) => name)).toEqual([
      "system",
      "tools",
      "pinned",
      "summary",
      "recent",
      "toolPairs",
      "remainder",
    ]);
    expect(before.untilTrigger).toBe(before.trigger - before.tokens);
    expect(before).toMatchObject({ compactions: 0, lastCompaction: undefined });

    const report = await agent.compact("look after port numbers");
    expect(report).toMatchObject({ compacted: true, reason: "manual" });
    expect(agent.context()).toMatchObject({
      compactions: 1,
      lastCompaction: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect(agent.context().tokens).toBeLessThan(before.tokens);

    const { sessionId, previous } = await agent.startNew();
    expect(sessionId).not.toBe(previous);
    expect(agent.messages).toEqual([]);
    await play(agent, "What was the port of falcon?");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toContain("8423");
  });

  it("AGT-3 hands the instruction of a compaction on demand to whoever writes the summary", async () => {
    const told: unknown[] = [];
    const { agent } = await agentWith((_request, number) => ({ text: `Noted ${number}.` }), {
      managerPorts: {
        storage: createMemoryDriver(),
        onWarning: () => undefined,
        summarizer: {
          name: "listening",
          async summarize(messages, { instruction }) {
            told.push(instruction);
            const made = { summarizer: "listening", messagesRead: messages.length };
            return { ...made, text: "The port is 8423.", tokens: 8 };
          },
        },
      },
    });
    for (let turn = 1; turn <= 9; turn += 1) await play(agent, filler(turn));
    await agent.compact("look after port numbers");
    expect(told).toEqual(["look after port numbers"]);
  });

  it("MEM-12 a new session finds in SESSION.md what the last one was about, however short that was", async () => {
    const workspaceDir = tempFolder();
    const folders = { workspaceDir, channelDir: join(workspaceDir, "channel") };
    const memory = createChannelMemory(folders);
    const { agent } = await agentWith(() => ({ text: "The parser skips blank lines now." }), {
      ...folders,
      memory,
    });
    const session = join(folders.channelDir, "SESSION.md");
    await play(agent, "Make the parser in src/parser.ts skip blank lines.");
    await memory.settled();
    expect(existsSync(session) ? readFileSync(session, "utf8") : "").not.toContain("blank lines");
    await agent.startNew();
    expect(readFileSync(session, "utf8")).toContain("blank lines");
  });

  it("lists the sessions of a channel and goes on with one, in a later process too", async () => {
    const channelDir = tempFolder();
    const { agent, requests } = await agentWith(() => ({ text: "ok" }), { channelDir });
    await play(agent, "The port of falcon is 8423.");
    const { sessionId: second } = await agent.startNew();
    await play(agent, "Name the parrot.");
    await play(agent, "Feed it.");
    const sessions = await agent.sessions();
    expect(sessions).toMatchObject([
      { id: second, messages: 4, firstAsk: "Name the parrot.", lastAsk: "Feed it." },
      { messages: 2, firstAsk: "The port of falcon is 8423." },
    ]);
    const first = sessions[1]?.id ?? "";
    await expect(agent.resume("nobody")).rejects.toMatchObject({ code: "NotFound" });
    await agent.resume(first);
    expect(agent.sessionId).toBe(first);
    await play(agent, "Which port?");
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain("8423");
    await agent.close();
    const { agent: later } = await agentWith(() => ({ text: "ok" }), { channelDir });
    expect(later.sessionId).toBe(first);
    expect(later.messages).toHaveLength(4);
    await later.close();
  });

  it("AGT-3 tells the distance to a trigger that counts the messages alone", async () => {
    const { agent } = await agentWith(() => ({ text: "ok" }), {
      system: "Be brief.",
      config: { storage: { kind: "memory" }, policy: { maxTokensBeforeSummary: 2500 } },
    });
    await play(agent, filler(1));
    const first = agent.context();
    const messages = first.layers.filter(({ name }) => name !== "system" && name !== "tools");
    const tokens = messages.reduce((sum, layer) => sum + layer.tokens, 0);
    expect(first.untilTrigger).toBe(2500 - tokens);
  });

  it("finds after a new session what was too short for a compaction", async () => {
    const channelDir = tempFolder();
    const { agent, requests } = await agentWith(
      (request, number) => {
        const [seen = ""] = resultsIn(request);
        if (number === 2) return { calls: [{ name: "compact_search", arguments: { query: "falcon port" } }] };
        if (number === 3)
          return { calls: [{ name: "compact_expand", arguments: { id: /log-\d+/.exec(seen)?.[0] } }] };
        return { text: "ok" };
      },
      { channelDir },
    );
    await play(agent, "The port of falcon is 8423.");
    await agent.startNew();
    await play(agent, "What was the port?");
    expect(resultsIn(requests[2] ?? { messages: [] })[0]).toContain("log-1");
    expect(resultsIn(requests[3] ?? { messages: [] })[0]).toContain("The port of falcon is 8423.");
  });

  it("goes on with another model and its window", async () => {
    const { agent } = await agentWith(() => ({ text: "ok" }), { config: { storage: { kind: "memory" } } });
    await play(agent, "one");
    await agent.useModel(
      createScriptedModel(() => ({ text: "I am another." }), { name: "demo:small", window: 8000 }),
    );
    expect(agent.context().window).toBe(8000);
    expect(endOf(await play(agent, "two"))?.text).toBe("I am another.");
  });
});
