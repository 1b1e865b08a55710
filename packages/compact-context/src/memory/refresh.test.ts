import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Message } from "../core/message.ts";
import { createMemoryWriter } from "./changes/writer.ts";
import { createLane, createRefresh } from "./lifecycle.ts";
import type { TaskContext } from "./memory-task.ts";

const said = (role: "user" | "assistant", id: string, text: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

const ready = async (): Promise<void> => undefined;

let channelDirs: string[] = [];
afterEach(async () => {
  await Promise.all(channelDirs.map((folder) => rm(folder, { recursive: true })));
  channelDirs = [];
});

async function openRefresh() {
  const channelDir = await mkdtemp(join(tmpdir(), "compact-refresh-"));
  channelDirs.push(channelDir);
  const context: TaskContext = {
    writer: createMemoryWriter({ channelDir }),
    now: () => Date.UTC(2026, 10, 22),
    clock: () => 0,
    onTask: () => undefined,
  };
  const lane = createLane(() => undefined);
  const thresholds = { minTurnsBetweenUpdate: 1, minToolCallsBetweenUpdate: 4 };
  return { channelDir, lane, refresh: createRefresh(context, lane, thresholds) };
}

it("MEM-6 an update that a boundary overtook does not keep later ones from beginning", async () => {
  const { channelDir, lane, refresh } = await openRefresh();
  const first = [said("user", "1", "Paint the boat blue."), said("assistant", "2", "The boat is blue.")];
  const second = [...first, said("user", "3", "Paint the mast red."), said("assistant", "4", "It is red.")];

  // Other work is running: the update waits for it until the boundary has written SESSION.md itself.
  let release = (): void => undefined;
  const busy = lane.run(() => new Promise<void>((resolve) => (release = resolve)));
  expect(refresh.afterTurn("s", first, false, ready)).toBe(true);
  await refresh.now("s", first);
  release();
  await busy;
  await lane.idle();

  expect(refresh.afterTurn("s", second, false, ready)).toBe(true);
  await lane.idle();
  expect(await readFile(join(channelDir, "SESSION.md"), "utf8")).toContain("mast");
});

it("what updates of many sessions knew is remembered of the newest alone", async () => {
  const { lane, refresh } = await openRefresh();
  const list = [said("user", "1", "Paint the boat blue."), said("assistant", "2", "The boat is blue.")];
  for (let index = 0; index < 9; index += 1) await refresh.now(`s${index}`, list);
  expect([0, 1, 8].map((index) => refresh.afterTurn(`s${index}`, list, false, ready))).toEqual([
    true,
    false,
    false,
  ]);
  await lane.idle();
});
