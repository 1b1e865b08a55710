import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureChannel } from "../files/ensure.ts";
import { diffLines, mergeTexts } from "./journal.ts";
import { createMemoryWriter, type MemoryWriter } from "./writer.ts";

let channelDir: string;
let writer: MemoryWriter;
let time = Date.UTC(2026, 10, 22);
const note = { author: "consolidation", reason: "a test" } as const;
const text = (file: string): Promise<string> => readFile(join(channelDir, file), "utf8").catch(() => "");
const add = async (words: string): Promise<{ id: string; changeId: string }> => {
  const operation = { op: "add", section: "Facts", text: words } as const;
  const { done, changeId } = await writer.apply([operation], note);
  return { id: done[0]?.id ?? "", changeId: changeId ?? "" };
};

beforeEach(async () => {
  channelDir = await mkdtemp(join(tmpdir(), "compact-undo-"));
  await ensureChannel(channelDir);
  time = Date.UTC(2026, 10, 22);
  writer = createMemoryWriter({ channelDir, now: () => (time += 1000), undoable: 4 });
});
afterEach(() => rm(channelDir, { recursive: true }));

it("a change is taken back exactly, and so is the taking back", async () => {
  await add("The queue is called orders.");
  const before = await Promise.all(["MEMORY.md", "RETIRED.md"].map(text));
  const [item] = (await writer.read("MEMORY.md")).sections.flatMap(({ items }) => items);
  const target = item?.id ?? "";
  const { changeId = "" } = await writer.apply([{ op: "invalidate", target, why: "renamed" }], note);
  const after = await Promise.all(["MEMORY.md", "RETIRED.md"].map(text));
  const undone = await writer.undo(changeId);
  expect(undone.left).toEqual([]);
  expect(await Promise.all(["MEMORY.md", "RETIRED.md"].map(text))).toEqual(before);
  await writer.undo(undone.changeId ?? "");
  expect(await Promise.all(["MEMORY.md", "RETIRED.md"].map(text))).toEqual(after);
});

it("later changes elsewhere stay; what was added and taken back is not learned again", async () => {
  const first = await add("The office is in Lyon.");
  await add("The parking is behind it.");
  expect((await writer.undo(first.changeId)).left).toEqual([]);
  expect(await text("MEMORY.md")).not.toContain("Lyon");
  expect(await text("MEMORY.md")).toContain("parking");
  expect((await add("The office is in Lyon.")).changeId).toBe("");
});

it("where a later change touched the same lines, it is named and nothing is done, unless in part", async () => {
  const { id } = await add("The cache holds ten minutes.");
  const first = await writer.apply(
    [
      { op: "supersede", target: id, text: "The cache holds an hour." },
      { op: "add", section: "Decisions", text: "The cache was made longer." },
    ],
    note,
  );
  const later = await writer.apply(
    [{ op: "supersede", target: first.done[0]?.id ?? "", text: "The cache holds a day." }],
    note,
  );
  const refused = await writer.undo(first.changeId ?? "");
  expect(refused.changeId).toBeUndefined();
  expect(refused.left[0]).toMatchObject({ file: "MEMORY.md", later: [later.changeId] });
  expect(await text("MEMORY.md")).toContain("a day");
  await writer.undo(first.changeId ?? "", { partial: true });
  expect(await text("MEMORY.md")).not.toContain("made longer");
  expect(await text("MEMORY.md")).toContain("a day");
});

it("a line that a person edited since is not taken back", async () => {
  const { changeId } = await add("The build takes four minutes.");
  const path = join(channelDir, "MEMORY.md");
  await writeFile(path, (await text("MEMORY.md")).replace("four", "five"));
  expect((await writer.undo(changeId)).left.length).toBe(1);
  expect(await text("MEMORY.md")).toContain("five minutes");
});

it("what can be undone is bounded; a change that is too old says so", async () => {
  const { changeId } = await add("Fact zero stands here.");
  for (const word of ["one", "two", "three", "four"]) await add(`Fact ${word} stands here.`);
  expect((await readdir(join(channelDir, ".memory", "undo"))).length).toBe(4);
  await expect(writer.undo(changeId)).rejects.toMatchObject({ code: "NotFound" });
  await expect(writer.undo("c-nothing")).rejects.toMatchObject({ code: "NotFound" });
});

it("the newest changes can be undone where the clock stands still or goes back", async () => {
  let step = 0;
  writer = createMemoryWriter({ channelDir, now: () => time - 1000 * (step++ % 3), undoable: 4 });
  const ids: string[] = [];
  for (let each = 0; each < 20; each += 1) ids.push((await add(`Fact ${each} stands here.`)).changeId);
  const kept = await readdir(join(channelDir, ".memory", "undo"));
  expect(kept.sort()).toEqual(ids.slice(-4).map((id) => `${id}.json`));
});

const lines = fc.array(fc.constantFrom<string>("a", "b", "c", "d"), { maxLength: 9 });

it("a difference, done, gives the other text; a merge with nothing else changed gives what was wanted", () => {
  fc.assert(
    fc.property(lines, lines, lines, (base, one, other) => {
      const made = [...base];
      for (const { from, to, lines: put } of diffLines(base, one).toReversed())
        made.splice(from, to - from, ...put);
      expect(made).toEqual(one);
      const page = (of: readonly string[]): string => of.map((line) => `${line}\n`).join("");
      expect(mergeTexts(page(base), page(base), page(one)).text).toBe(page(one));
      expect(mergeTexts(page(base), page(one), page(base)).text).toBe(page(one));
      const { text: merged, left } = mergeTexts(page(base), page(one), page(other));
      if (left.length === 0 && base.length > 0) {
        const added = other.filter((line) => !base.includes(line));
        for (const line of added) expect(merged.split("\n")).toContain(line);
      }
    }),
  );
});
