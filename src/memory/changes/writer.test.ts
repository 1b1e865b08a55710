import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureChannel } from "../files/ensure.ts";
import { createMemoryWriter, type MemoryWriter } from "./writer.ts";

let channelDir: string;
let writer: MemoryWriter;
const note = { author: "consolidation", reason: "a test" } as const;
const memory = (): Promise<string> => readFile(join(channelDir, "MEMORY.md"), "utf8");

beforeEach(async () => {
  channelDir = await mkdtemp(join(tmpdir(), "compact-changes-"));
  await ensureChannel(channelDir);
  writer = createMemoryWriter({ channelDir, now: () => Date.UTC(2026, 10, 22) });
});
afterEach(() => rm(channelDir, { recursive: true }));

it("MEM-8 an item is added once, superseded, and what was retired is not learned again", async () => {
  const add = { op: "add", section: "Decisions", text: "Deploys go out on Thursdays." } as const;
  const { done } = await writer.apply([add, add], note);
  const id = done[0]?.id ?? "";
  expect(done.length).toBe(1);
  expect(await memory()).toContain(
    `- Deploys go out on Thursdays. <!-- ${id} 2026-11-22T00:00:00Z consolidation agent -->`,
  );
  await writer.apply([{ op: "supersede", target: id, text: "Deploys go out on Fridays." }], note);
  expect(await memory()).not.toContain("Thursdays");
  const again = await writer.apply([{ ...add, text: "deploys go out on thursdays" }], note);
  expect(again.refused.map(({ reason }) => reason)).toEqual(["retired"]);
});

it("MEM-1 a line that a person wrote is changed by a person only", async () => {
  await writeFile(join(channelDir, "MEMORY.md"), "## Facts\r\n- mine\r\n- also mine");
  const [item] = (await writer.read("MEMORY.md")).sections[0]?.items ?? [];
  const forget = { op: "forget", target: item?.id ?? "" } as const;
  expect((await writer.apply([forget], note)).refused[0]?.reason).toBe("kept-by-people");
  expect((await writer.apply([forget], { ...note, author: "person" })).done.length).toBe(1);
  expect(await memory()).toBe("## Facts\r\n- also mine");
});
