import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createChannelMemory } from "../../packages/compact-context/src/memory/channel-memory.ts";
import { talk } from "./talk.ts";

let workspaceDir: string;
let channelDir: string;
const workers: ChildProcess[] = [];

beforeEach(() => {
  workspaceDir = mkdtempSync(join(tmpdir(), "compact-pending-"));
  channelDir = join(workspaceDir, "team");
});
afterEach(() => {
  for (const worker of workers.splice(0)) worker.kill("SIGKILL");
  rmSync(workspaceDir, { recursive: true, force: true });
});

async function started(): Promise<ChildProcess> {
  const worker = fork(join(import.meta.dirname, "pending-worker.mjs"), [workspaceDir, channelDir]);
  workers.push(worker);
  await once(worker, "message");
  return worker;
}

async function told(worker: ChildProcess): Promise<Record<string, unknown>> {
  const [message] = (await once(worker, "message")) as [Record<string, unknown>];
  return message;
}

async function done(worker: ChildProcess): Promise<readonly string[]> {
  worker.send("go");
  await told(worker);
  return (await told(worker)).tasks as readonly string[];
}

/** What an earlier process left: the n-th range says one durable thing. */
function leave(count: number): void {
  const pending = join(channelDir, ".memory", "pending");
  mkdirSync(pending, { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const said = talk(`r${n}`)
      .user(`Always use port ${8000 + n} for service ${n}.`)
      .reply("Noted.");
    const range = JSON.stringify({ sessionId: "s", messages: said.messages });
    writeFileSync(join(pending, `${n}.json`), range);
  }
}

const left = (): string[] => readdirSync(join(channelDir, ".memory", "pending"));
const memory = (): string => readFileSync(join(channelDir, "MEMORY.md"), "utf8");

describe("what waits to be taken in", () => {
  it("MEM-8 is taken in once, by one of two processes that open the channel together", async () => {
    leave(4);
    const both = await Promise.all([started(), started()]);
    const tasks = (await Promise.all(both.map(done))).flat();
    expect(tasks.filter((task) => task.startsWith("consolidation"))).toHaveLength(4);
    for (let n = 1; n <= 4; n += 1) expect(memory().split(`port ${8000 + n}`)).toHaveLength(2);
    expect(left()).toEqual([]);
  });

  it("MEM-12 is taken in by the next process where the first was killed over it", async () => {
    leave(1);
    const first = await started();
    first.send("go");
    await told(first);
    await expect.poll(() => left().length).toBe(2);
    const ended = once(first, "exit");
    first.kill("SIGKILL");
    await ended;
    expect(memory()).not.toContain("port 8001");
    const next = createChannelMemory({ workspaceDir, channelDir });
    writeFileSync(join(channelDir, ".memory", "pending", "done.json.claim"), "left over");
    await next.recall("anything");
    await next.settled();
    expect(memory()).toContain("port 8001");
    expect(left()).toEqual([]);
  });
});
