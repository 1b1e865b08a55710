import { describe, expect, it } from "vitest";
import { detectFormat, FORMATS } from "../../packages/compact-context/src/codecs/formats.ts";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager, type ManagerPorts } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { summarizeMessages } from "../../packages/compact-context/src/summarize-messages.ts";
import { LISTS, SECRET } from "./secret-lists.ts";

const NAMES = Object.keys(LISTS);
/** Any stretch of it would tell: none may be anywhere. */
const PIECE = SECRET.slice(4, 16);

function listOf(name: string): unknown[] {
  return LISTS[name]?.() ?? [];
}

function compacting(ports: ManagerPorts): CompactManager {
  return new CompactManager({ maxContextTokens: 6000, policy: { keepRecentTurns: 1 } }, ports);
}

/** A model that keeps what it was asked and answers with what it was shown, as a careless one does. */
function listening(): { readonly model: TextModel; readonly heard: string[] } {
  const heard: string[] = [];
  const model: TextModel = {
    name: "test:listening",
    window: 100_000,
    generate: (request) => {
      heard.push(JSON.stringify(request));
      return Promise.resolve({ text: `The work went on. The token was ${SECRET}.`, stop: "end" });
    },
  };
  return { model, heard };
}

async function storedIn(storage: ReturnType<typeof createMemoryDriver>): Promise<string[]> {
  const stored: string[] = [];
  for (const key of await storage.list("")) stored.push(key, JSON.stringify(await storage.get(key)));
  return stored;
}

describe("a secret in every kind of part", () => {
  it("every format has a list here, and is recognised", () => {
    const formats = NAMES.map((name) => detectFormat(listOf(name)));
    expect(new Set(formats)).toEqual(new Set(FORMATS));
  });

  it.each(NAMES)("attack 33: RED-1 %s: in no stored object, no event and no warning", async (name) => {
    const storage = createMemoryDriver();
    const said: string[] = [];
    const manager = compacting({
      storage,
      exporters: [{ export: (event) => void said.push(JSON.stringify(event)) }],
      onWarning: (warning) => said.push(warning),
    });
    const list = listOf(name);
    const before = structuredClone(list);
    const result = await manager.manualCompact("s", list);
    await manager.flush();
    expect(list).toEqual(before);
    expect(JSON.stringify(result.messages)).toContain(SECRET);
    const stored = await storedIn(storage);
    expect(stored.length).toBeGreaterThan(3);
    expect(said.length).toBeGreaterThan(1);
    for (const text of [...stored, ...said]) expect(text).not.toContain(PIECE);
    expect(stored.join("")).toContain("<REDACTED>");
  });

  it("RED-1 facts about people leave with redaction.personal as little as secrets do", async () => {
    const person = [
      "max.mustermann@example.org",
      "+49 151 23456789",
      "DE89370400440532013000",
      "4111111111111111",
    ];
    const storage = createMemoryDriver();
    const said: string[] = [];
    const manager = new CompactManager(
      { maxContextTokens: 6000, policy: { keepRecentTurns: 1 }, redaction: { personal: true } },
      {
        storage,
        exporters: [{ export: (event) => void said.push(JSON.stringify(event)) }],
        memoryFlushHook: (messages) => void said.push(JSON.stringify(messages)),
      },
    );
    const list = Array.from({ length: 12 }, (_, turn) => [
      { role: "user", content: `${turn}: write to ${person.join(" or ")} ${"word ".repeat(40)}` },
      { role: "assistant", content: `I wrote to ${person.join(", ")} ${"text ".repeat(40)}` },
    ]).flat();
    await manager.manualCompact("s", list);
    await (await manager.archive()).search("wrote");
    await manager.flush();
    const stored = await storedIn(storage);
    expect(stored.some((key) => key.includes("/search/"))).toBe(true);
    expect(said.length).toBeGreaterThan(1);
    for (const fact of person) expect([...stored, ...said].join("\n")).not.toContain(fact);
  });

  it.each(NAMES)("attack 33: RED-1 %s: in no queued memory flush and not before its hook", async (name) => {
    const storage = createMemoryDriver();
    const handed: string[] = [];
    let open = (): void => undefined;
    const gate = new Promise<void>((done) => {
      open = done;
    });
    const manager = compacting({
      storage,
      memoryFlushHook: async (messages, flush) => {
        handed.push(JSON.stringify([messages, flush]));
        await gate;
      },
    });
    await manager.manualCompact("s", listOf(name));
    const queued = (await storage.list("")).filter((key) => key.includes("outbox"));
    const waiting = await storedIn(storage);
    open();
    await manager.flush();
    expect(queued.length).toBeGreaterThan(0);
    expect(handed.length).toBeGreaterThan(0);
    for (const text of [...waiting, ...handed]) expect(text).not.toContain(PIECE);
    expect(handed.join("")).toContain("<REDACTED>");
  });

  it.each(NAMES)(
    "attack 33: RED-1 %s: in no request to a text model, nor what it answers in the state",
    async (name) => {
      const storage = createMemoryDriver();
      const { model, heard } = listening();
      const manager = compacting({ storage, summarizer: model });
      const first = await manager.manualCompact("s", listOf(name));
      await manager.manualCompact("s", [...first.messages, ...listOf(name)], {
        note: `mind ${SECRET}`,
      });
      await manager.flush();
      expect(heard.length).toBeGreaterThan(1);
      for (const text of [...heard, ...(await storedIn(storage))]) expect(text).not.toContain(PIECE);
      expect(heard.join("")).toContain("<REDACTED>");
    },
  );

  it("RED-1 in no request of a running summary, the summary so far included", async () => {
    const { model, heard } = listening();
    const options = { model, maxTokens: 3000, maxTokensBeforeSummary: 500, maxSummaryTokens: 400 };
    const list = listOf("anthropic");
    const { runningSummary } = await summarizeMessages(list.slice(0, 16), options);
    await summarizeMessages(list, { ...options, runningSummary });
    expect(heard.length).toBeGreaterThan(1);
    for (const text of heard) expect(text).not.toContain(PIECE);
  });
});
