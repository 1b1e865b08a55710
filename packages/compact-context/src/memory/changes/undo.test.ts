import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureChannel } from "../files/folders.ts";
import { hunksBetween, inverse, patch } from "../markdown.ts";
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
  writer = createMemoryWriter({ channelDir, now: () => (time += 1000) });
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
  for (let round = 0; round < 16; round += 1) {
    const { version } = await writer.read("SESSION.md");
    const page = Array.from(
      { length: 1_000 },
      (_, line) => `- line ${line} of round ${round}, ${"word ".repeat(16)}`,
    );
    const replace = { op: "replaceFile", text: page.join("\n"), ifVersion: version } as const;
    expect((await writer.apply([replace], note)).done).toHaveLength(1);
  }
  expect((await stat(join(channelDir, "memory-log.jsonl"))).size).toBeLessThan(2_500_000);
  const { changes } = await writer.log();
  expect(changes).toHaveLength(17);
  await expect(writer.undo(changeId)).rejects.toMatchObject({ code: "NotFound" });
  await expect(writer.undo("c-nothing")).rejects.toMatchObject({ code: "NotFound" });
  expect((await writer.undo(changes.at(-1)?.id ?? "")).left).toEqual([]);
  expect(await text("SESSION.md")).toContain("of round 14,");
});

it("changes are listed as they came and can be undone where the clock stands still or goes back", async () => {
  let step = 0;
  writer = createMemoryWriter({ channelDir, now: () => time - 1000 * (step++ % 3) });
  const ids: string[] = [];
  for (let each = 0; each < 20; each += 1) ids.push((await add(`Fact ${each} stands here.`)).changeId);
  expect((await writer.log()).changes.map(({ id }) => id)).toEqual(ids);
  expect(new Set(ids).size).toBe(20);
  for (const id of ids) expect((await writer.undo(id)).left).toEqual([]);
  expect(await text("MEMORY.md")).not.toContain("stands here");
});

it("MEM-14 a change is still taken back after something else of it was forgotten, and that does not come back", async () => {
  const facts = [
    "Bo is getting married in June.",
    "The printer is on floor 2.",
    "The door code is on the fridge.",
  ];
  const { done } = await writer.apply(
    facts.map((words) => ({ op: "add", section: "Facts", text: words }) as const),
    note,
  );
  const [bo = "", printer = "", door = ""] = done.map(({ id }) => id);
  const { changeId = "" } = await writer.apply(
    [
      { op: "invalidate", target: door },
      { op: "supersede", target: bo, text: "Bo is getting married in July." },
      { op: "supersede", target: printer, text: "The printer is on floor 3." },
    ],
    note,
  );
  await writer.apply([{ op: "forget", topic: "Bo married" }], { author: "person", reason: "asked" });
  expect(await text("memory-log.jsonl")).not.toContain("married");
  // The name that logs of earlier versions have.
  expect(await text("memory-log.jsonl")).toContain('"scrubbed":true');
  expect((await writer.undo(changeId)).left).toEqual([]);
  expect(await text("MEMORY.md")).toMatch(/floor 2\..*\n(?:.*\n)?.*fridge/);
  for (const file of ["MEMORY.md", "RETIRED.md", "memory-log.jsonl"])
    expect(await text(file)).not.toContain("married");
});

it("a channel of an earlier version: its records for undo leave, its log is read", async () => {
  const undo = join(channelDir, ".memory", "undo");
  await mkdir(undo, { recursive: true });
  await writeFile(join(undo, "c-00000001abcd.json"), "{ not json");
  const old = { id: "c-00000001abcd", time: "2026-11-01T00:00:00Z", ...note, sources: [], files: {} };
  const line = JSON.stringify({ ...old, operations: [], refused: [] });
  await writeFile(join(channelDir, "memory-log.jsonl"), `${line}\n`);
  await add("The queue is called orders.");
  expect(await readdir(join(channelDir, ".memory"))).toEqual([]);
  expect((await writer.log()).changes).toHaveLength(2);
  await expect(writer.undo(old.id)).rejects.toMatchObject({ code: "NotFound" });
});

const lines = fc.array(fc.constantFrom<string>("a", "b", "c", "d", ""), { maxLength: 9 });
const page = (of: readonly string[]): string => of.map((line) => `${line}\n`).join("");

it("a difference, done, gives the other text, and taken back the first one", () => {
  fc.assert(
    fc.property(lines, lines, (base, other) => {
      const hunks = hunksBetween(page(base), page(other));
      expect(patch(page(base), hunks, true)).toEqual({ text: page(other), left: [] });
      expect(patch(page(other), inverse(hunks), true)).toEqual({ text: page(base), left: [] });
    }),
  );
});

it("done to a text that was changed elsewhere, a difference changes its own lines alone, and can be taken back", () => {
  const words = (prefix: string): fc.Arbitrary<string[]> =>
    fc.uniqueArray(fc.nat(99), { maxLength: 4 }).map((all) => all.map((each) => `${prefix} ${each}`));
  fc.assert(
    fc.property(
      words("top"),
      words("old"),
      words("new"),
      words("end"),
      words("by hand"),
      (top, old, put, end, hand) => {
        const before = [...top, "one", "two", "three", ...old, "four", "five", "six", ...end];
        const hunks = hunksBetween(
          page(before),
          page([...top, "one", "two", "three", ...put, "four", "five", "six", ...end]),
        );
        const edited = [...hand, ...before, ...hand];
        const after = [
          ...hand,
          ...top,
          "one",
          "two",
          "three",
          ...put,
          "four",
          "five",
          "six",
          ...end,
          ...hand,
        ];
        expect(patch(page(edited), hunks, false)).toEqual({ text: page(after), left: [] });
        expect(patch(page(after), inverse(hunks), false)).toEqual({ text: page(edited), left: [] });
        // A second application changes nothing.
        expect(patch(page(after), hunks, false)).toEqual({ text: page(after), left: [] });
      },
    ),
  );
});

it("headings stay in place where sections repeat the same lines and another section was changed since", () => {
  const page = (first: string, third: string, fourth: string): string =>
    `# Zero\n\n- edit b\n${first}- fix\n\n# One\n\n- none\n\n# Three\n\n${third}\n# Four\n\n- none\n${fourth}- fix\n`;
  const [before, third] = ["- none\n- none\n- none\n", "- edit b\n- none\n- none\n- fix\n"];
  const hunks = hunksBetween(page("- none\n", before, ""), page("- read a\n- edit b\n", third, ""));
  const since = page("- read a\n- edit b\n", third, "- read a\n");
  expect(patch(since, inverse(hunks), false)).toEqual({
    text: page("- none\n", before, "- read a\n"),
    left: [],
  });
});

it("lines of a person keep their line ends, and lines that they changed are left", () => {
  const hunks = hunksBetween("a\nb\nc\n", "a\nB\nc\n");
  expect(patch("0\r\na\nb\r\nc", hunks, false).text).toBe("0\r\na\nB\r\nc");
  expect(patch("a\nb by hand\nc\n", hunks, false)).toEqual({ text: "a\nb by hand\nc\n", left: hunks });
});
