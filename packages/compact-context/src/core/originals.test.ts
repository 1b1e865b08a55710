import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

type Entry = { readonly role: "user" | "assistant"; readonly content: string };

/** A session over a storage that notes which transcripts are read, and refuses to read some. */
function watched() {
  const memory = createMemoryDriver();
  const read: string[] = [];
  const refused = new Set<string>();
  const storage = {
    ...memory,
    stream: (key: string) => {
      read.push(key);
      if (refused.has(key)) throw new Error("reading is not allowed");
      return memory.stream(key);
    },
  };
  const config = { maxContextTokens: 4_000, policy: { keepRecentTurns: 2, hardCapBuffer: 200 } };
  const open = () => new CompactManager(config, { storage, onWarning: () => undefined });
  return { memory, read, open, refuse: (key: string) => void refused.add(key) };
}

let said = 0;

/** Goes on with a list until it was compacted. */
async function untilCompacted(manager: CompactManager, before: readonly Entry[]): Promise<readonly Entry[]> {
  let list = before;
  for (;;) {
    said += 1;
    const turn: Entry[] = [
      { role: "user", content: `question ${said}` },
      { role: "assistant", content: `answer ${said}: ${"some words of it ".repeat(30)}` },
    ];
    const { messages, report } = await manager.preflight("s", [...list, ...turn]);
    list = messages;
    if (report.compacted) return list;
  }
}

/** How many messages a transcript has, and how many of them stand in an earlier one. */
async function linesOf(memory: ReturnType<typeof createMemoryDriver>, step: number) {
  const text = (await memory.get(`s/transcript-pre-compact-00${step}.jsonl`))?.value ?? "";
  const lines = text.trim().split("\n");
  return { all: lines.length, referring: lines.filter((line) => line.includes('"at":[')).length };
}

it("ARC-4 a session's next transcript refers to the one before, also in a later process", async () => {
  const { memory, read, open } = watched();
  const manager = open();
  let list = await untilCompacted(manager, []);
  list = await untilCompacted(manager, list);
  expect(read).toEqual(["s/transcript-pre-compact-001.jsonl"]);
  expect((await linesOf(memory, 1)).referring).toBe(0);
  // Two turns stayed, of two messages each; the summary is new.
  expect((await linesOf(memory, 2)).referring).toBe(4);
  await manager.flush();
  read.length = 0;
  await untilCompacted(open(), list);
  expect(read).toEqual(["s/transcript-pre-compact-002.jsonl"]);
  expect((await linesOf(memory, 3)).referring).toBeGreaterThanOrEqual(4);
  const archive = await open().archive();
  for (const step of [1, 2, 3]) {
    const { messages, problems } = await archive.readTranscript("s", step);
    expect([messages.length, problems]).toEqual([(await linesOf(memory, step)).all, []]);
  }
});

it("ARC-4 what comes back by an undo is not stored again", async () => {
  const { memory, read, open } = watched();
  const manager = open();
  const before = await untilCompacted(manager, []);
  const { messages } = await manager.undo<Entry>("s", before);
  read.length = 0;
  const { report } = await manager.manualCompact("s", messages ?? []);
  expect(report.compacted).toBe(true);
  expect(read).toEqual(["s/transcript-pre-compact-001.jsonl"]);
  const { all, referring } = await linesOf(memory, 2);
  expect(referring).toBe(all);
});

it("ARC-4 a transcript before that is gone, damaged or unreadable costs room, not the compaction", async () => {
  const key = "s/transcript-pre-compact-001.jsonl";
  const spoils: readonly ((session: ReturnType<typeof watched>) => Promise<void> | void)[] = [
    ({ memory }) => memory.delete(key),
    async ({ memory }) => {
      const { value = "" } = (await memory.get(key)) ?? {};
      await memory.put(key, value.replaceAll("answer", "ANSWER"));
    },
    (session) => session.refuse(key),
  ];
  for (const spoil of spoils) {
    const session = watched();
    const manager = session.open();
    const list = await untilCompacted(manager, []);
    await spoil(session);
    await untilCompacted(manager, list);
    const { all, referring } = await linesOf(session.memory, 2);
    const archive = await session.open().archive();
    const { messages, problems } = await archive.readTranscript("s", 2);
    expect([messages.length, problems]).toEqual([all, []]);
    expect(referring).toBeLessThanOrEqual(2);
  }
});
