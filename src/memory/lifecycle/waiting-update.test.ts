import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Message } from "../../messages/message.ts";
import { createMemoryWriter } from "../changes/writer.ts";
import type { TaskContext } from "../memory-task.ts";
import { createLane } from "./lane.ts";
import { createRefresh } from "./refresh.ts";

const said = (role: "user" | "assistant", id: string, text: string): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

it("MEM-6 an update that waits is not begun a second time, and takes the newest list", async () => {
  const channelDir = await mkdtemp(join(tmpdir(), "compact-waiting-"));
  const context: TaskContext = {
    writer: createMemoryWriter({ channelDir }),
    now: () => Date.UTC(2026, 10, 22),
    clock: () => 0,
    onTask: () => undefined,
  };
  const lane = createLane(() => undefined);
  const thresholds = { minTurnsBetweenUpdate: 1, minToolCallsBetweenUpdate: 4 };
  const refresh = createRefresh({ program: context, context, lane, thresholds });
  const ready = async (): Promise<void> => undefined;
  const first = [said("user", "1", "Paint the boat blue."), said("assistant", "2", "The boat is blue.")];
  const second = [...first, said("user", "3", "Paint the mast red."), said("assistant", "4", "It is red.")];

  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const busy = lane.run(() => held);
  expect(refresh.afterTurn("s", first, false, ready)).toBe(true);
  expect(refresh.afterTurn("s", second, false, ready)).toBe(false);
  release();
  await busy;
  await lane.idle();
  expect(await readFile(join(channelDir, "SESSION.md"), "utf8")).toContain("mast");
  await rm(channelDir, { recursive: true });
});
