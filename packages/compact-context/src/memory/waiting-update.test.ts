import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Message } from "../core/message.ts";
import { createMemoryWriter } from "./changes/writer.ts";
import { createLane, createRefresh, type Lane, type Refresh } from "./lifecycle.ts";
import type { TaskContext } from "./memory-task.ts";

const said = (role: "user" | "assistant", id: string, text: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

const first = [said("user", "1", "Paint the boat blue."), said("assistant", "2", "The boat is blue.")];
const second = [...first, said("user", "3", "Paint the mast red."), said("assistant", "4", "It is red.")];
let channelDir: string;

beforeEach(async () => {
  channelDir = await mkdtemp(join(tmpdir(), "compact-waiting-"));
});
afterEach(() => rm(channelDir, { recursive: true }));

function refreshOver(lane: Lane): Refresh {
  const context: TaskContext = {
    writer: createMemoryWriter({ channelDir }),
    now: () => Date.UTC(2026, 10, 22),
    clock: () => 0,
    onTask: () => undefined,
  };
  const thresholds = { minTurnsBetweenUpdate: 1, minToolCallsBetweenUpdate: 4 };
  return createRefresh(context, lane, thresholds);
}

it("MEM-6 an update that waits is not begun a second time, and takes the newest list", async () => {
  const lane = createLane(() => undefined);
  const refresh = refreshOver(lane);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const busy = lane.run(() => held);
  expect(refresh.afterTurn("s", first, false, async () => undefined)).toBe(true);
  expect(refresh.afterTurn("s", second, false, async () => undefined)).toBe(false);
  release();
  await busy;
  await lane.idle();
  expect(await readFile(join(channelDir, "SESSION.md"), "utf8")).toContain("mast");
});

it("MEM-6 no other update begins beside one that is tried again", async () => {
  const works: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  const lane: Lane = {
    ...createLane(() => undefined),
    keepTrying: (_, work) => void works.push(work),
  };
  const refresh = refreshOver(lane);
  const began: boolean[] = [];
  const ready = async (): Promise<void> => {
    began.push(refresh.afterTurn("s", second, false, async () => undefined));
    if (began.length === 1) throw new Error("the folder cannot be made");
  };
  refresh.afterTurn("s", first, false, ready);
  const { signal } = new AbortController();
  await expect(works[0]?.(signal)).rejects.toThrow("the folder cannot be made");
  await works[0]?.(signal);
  expect(began).toEqual([false, false]);
  expect(works).toHaveLength(1);
});
