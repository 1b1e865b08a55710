import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { createArchive } from "../search/archive.ts";
import { createFsDriver } from "../storage/fs/driver.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { crc32Hex, sealRecord } from "./records.ts";
import { loadState, readState, writeState } from "./store.ts";
import { emptyState, type SessionState } from "./view.ts";

const ask = [{ role: "user", content: "hello" }];
const config = { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } };

/** As in `test/fixtures/state-v1/make.mjs`. */
function turns(from: number, to: number) {
  return Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"word ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + index} ${"text ".repeat(60)}` },
  ]).flat();
}

/** A state with a summary, in the words of several scripts. */
async function storedState(): Promise<string> {
  const storage = createMemoryDriver();
  const manager = new CompactManager(config, { storage });
  await manager.preflight("s", [{ role: "user", content: "Grüße 😀 \u2028 漢字" }, ...turns(0, 28)]);
  await manager.flush();
  return (await storage.get("s/state.json"))?.value ?? "";
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("a stored state", () => {
  it("reads back as it was", () => {
    const state: SessionState = { ...emptyState(), log: [["a", 1]], summarizedMessageIds: ["\ud800"] };
    expect(readState(writeState(state), "here")).toEqual(JSON.parse(JSON.stringify(state)));
  });

  it("names its schema first and ends with a checksum of all before it", async () => {
    const text = await storedState();
    expect(text).toMatch(/^\{"schema":3,[\s\S]*,"checksum":"[0-9a-f]{8}"\}\n$/);
    const end = text.lastIndexOf(',"checksum"');
    expect(text.slice(end)).toContain(crc32Hex(text.slice(0, end)));
  });

  it("is read without the log prefix that some were stored with, and stored without it", async () => {
    const state = readState(await storedState(), "here");
    const stored = sealRecord(2, { ...state, prefix: { length: 57, hash: "a" } });
    expect(readState(stored, "here")).toEqual(state);
    expect(writeState(readState(stored, "here"))).not.toContain("prefix");
    expect(await storedState()).not.toContain("prefix");
  });

  it("ARC-7 is never read as something else after a bit was flipped, nor when it was cut", async () => {
    const text = await storedState();
    const bytes = Buffer.from(text);
    const next = random(7);
    for (let round = 0; round < 200; round++) {
      const flipped = Buffer.from(bytes);
      const at = Math.floor(next() * flipped.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(next() * 8));
      expect(() => readState(flipped.toString("utf8"), "here"), `byte ${at}`).toThrow();
    }
    // Every bit of the beginning and the end, where schema and checksum stand.
    for (let bit = 0; bit < 8 * 48; bit++) {
      for (const at of [bit >> 3, bytes.length - 2 - (bit >> 3)]) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
        expect(() => readState(flipped.toString("utf8"), "here"), `byte ${at}`).toThrow();
      }
    }
    for (let length = 0; length < text.length - 1; length += 97) {
      expect(() => readState(text.slice(0, length), "here")).toThrow();
    }
  });

  it.each(["null", "7", "[]", "{}", "", '{"format":1', '{"format":1}', '{"format":2}', '{"schema":2}'])(
    "ARC-7 that is none of ours is told once with its place, kept, and made again: %s",
    async (text) => {
      const storage = createMemoryDriver();
      await storage.put("s/state.json", text);
      const warnings: string[] = [];
      const manager = new CompactManager({}, { storage, onWarning: (message) => warnings.push(message) });
      expect((await manager.preflight("s", ask)).messages).toBe(ask);
      expect(warnings).toEqual([expect.stringMatching(/is damaged .* kept as memory\/s\/state-damaged-/)]);
      const [aside] = await storage.list("s/state-damaged");
      expect((await storage.get(aside ?? ""))?.value).toBe(text);
      expect((await loadState(storage, "s"))?.value).toEqual(emptyState());
    },
  );

  it("ARC-7 that was damaged is made again from the archive, for raw lists and for our output alike", async () => {
    const storage = createMemoryDriver();
    const open = () => new CompactManager(config, { storage, onWarning: () => undefined });
    const manager = open();
    let list: object[] = [];
    for (let turn = 0; turn < 60; turn += 4) {
      list = [...list, ...turns(turn, turn + 4)];
      await manager.preflight("s", list);
    }
    const output = (await manager.preflight("s", list)).messages;
    await manager.flush();
    const before = (await loadState(storage, "s"))?.value;
    const text = (await storage.get("s/state.json"))?.value ?? "";
    const damage = () => storage.put("s/state.json", text.replace('"step":', '"stop":'));

    await damage();
    const fromOutput = await open().preflight("s", output);
    expect(fromOutput.messages).toBe(output);
    expect(fromOutput.summary).toBe(before?.summary?.text);

    await damage();
    const resumed = await open().preflight("s", list);
    const rebuilt = (await loadState(storage, "s"))?.value;
    expect(rebuilt?.step).toBeGreaterThanOrEqual(before?.step ?? Number.NaN);
    expect(resumed.messages.length).toBeLessThan(list.length);
    expect(resumed.report.tokensAfter).toBeLessThanOrEqual(3900);
    expect(resumed.summary).toContain("question");
    expect((await storage.list("s/")).filter((key) => key.includes("damaged"))).toHaveLength(1);
  });

  it("ARC-7 FIT-7 of a newer release is refused in words and left as it is, and a list that fits goes out", async () => {
    const storage = createMemoryDriver();
    const text = (await storedState()).replace('{"schema":3,', '{"schema":4,"more":1,');
    const end = text.lastIndexOf(',"checksum"');
    const newer = `${text.slice(0, end)},"checksum":"${crc32Hex(text.slice(0, end))}"}\n`;
    await storage.put("s/state.json", newer);
    const warnings: string[] = [];
    const manager = new CompactManager(config, { storage, onWarning: (message) => warnings.push(message) });
    expect((await manager.preflight("s", ask)).messages).toBe(ask);
    expect((await manager.preflight("s", ask)).messages).toBe(ask);
    expect(warnings).toEqual([expect.stringMatching(/written by a newer version.*Update/)]);
    await expect(manager.preflight("s", turns(0, 60))).rejects.toMatchObject({
      code: "StorageFailed",
      message: expect.stringMatching(/written by a newer version/),
      place: "memory/s/state.json",
      hint: expect.stringMatching(/Update/),
    });
    expect((await storage.get("s/state.json"))?.value).toBe(newer);
  });
});

describe("an archive that an earlier release wrote", () => {
  const recorded = join(import.meta.dirname, "../../../../test/fixtures/state-v1");
  const other = "user@example.org/42";
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "compact-v1-"));
    cpSync(recorded, root, { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it("is read: states, summaries, transcripts, ids", async () => {
    const storage = createFsDriver({ root });
    const state = (await loadState(storage, "chat-1"))?.value;
    const file: unknown = JSON.parse(readFileSync(join(recorded, "chat-1/state.json"), "utf8"));
    expect({ format: 1, ...state }).toEqual(file);
    const archive = createArchive(storage, { redact: createRedactor() });
    expect(await archive.sessions()).toEqual(["chat-1", other]);
    expect(await archive.steps("chat-1")).toEqual([1, 2]);
    expect(await archive.readSummary("chat-1", 2)).toMatchObject({ version: 2, text: expect.any(String) });
    expect((await archive.readTranscript(other, 1)).problems).toEqual([]);
  });

  it("goes on where it was, and is upgraded by the next save", async () => {
    const storage = createFsDriver({ root });
    const manager = new CompactManager(config, { storage });
    const before = (await loadState(storage, "chat-1"))?.value;
    const resumed = await manager.preflight("chat-1", turns(0, 50));
    expect(resumed.report.compacted).toBe(false);
    expect(resumed.messages.length).toBeLessThan(100);
    expect(JSON.stringify(resumed.messages)).toContain(JSON.stringify(before?.summary?.text).slice(1, 80));
    const { report } = await manager.preflight("chat-1", turns(0, 75));
    await manager.flush();
    expect(report.compacted).toBe(true);
    const text = (await storage.get("chat-1/state.json"))?.value ?? "";
    expect(text).toMatch(/^\{"schema":3,/);
    expect(text).not.toContain('"format"');
    const after = readState(text, "here");
    expect(after).toMatchObject({ step: 3, summaryCount: 3, epochStart: 150 });
    expect(after.log.slice(0, 100)).toEqual(before?.log.slice(0, 100));
    expect(readdirSync(join(root, "chat-1"))).toContain("transcript-pre-compact-003.jsonl");
  });
});

describe("a stored summary", () => {
  it("ARC-7 is undefined when a bit was flipped, and refused in words when a newer release wrote it", async () => {
    const storage = createMemoryDriver();
    const archive = createArchive(storage, { redact: createRedactor() });
    const record = { version: 1, text: "Grüße 😀", nested: { list: [1, "two"] } };
    await archive.saveSummary("s", 1, record);
    expect(await archive.readSummary("s", 1)).toEqual(record);
    const bytes = Buffer.from((await storage.get("s/summary-001.json"))?.value ?? "");
    for (let bit = 0; bit < (bytes.length - 1) * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await storage.put("s/summary-001.json", flipped.toString("utf8"));
      expect(await archive.readSummary("s", 1), `bit ${bit}`).toBeUndefined();
    }
    await storage.put("s/summary-001.json", '{"schema":3}');
    await expect(archive.readSummary("s", 1)).rejects.toMatchObject({
      code: "StorageFailed",
      place: "memory/s/summary-001.json",
      message: expect.stringMatching(/newer version/),
    });
  });
});
