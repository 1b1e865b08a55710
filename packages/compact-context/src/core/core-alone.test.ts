import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createArchiveStore } from "../archive/store.ts";
import { conflict } from "../errors.ts";
import { type ManagerParts, type ManagerSettings, SessionManager } from "./manager.ts";
import { argumentsText, type Message, messageText, resultText } from "./message.ts";
import { defaultPolicy } from "./policy.ts";
import type { Codecs, StorageDriver, Summarizer, TokenCounter } from "./ports.ts";
import type { SessionEvent } from "./report.ts";

// The core with ports of a few lines each: nothing outside of core/ is needed to compact, to archive and to resume.

const codecs: Codecs = {
  forList: () => ({
    format: undefined,
    neutral: true,
    certain: true,
    decode: (list) => [...(list as Message[])],
    encode: (messages) => [...messages],
  }),
  showFormat: () => false,
};

const countText = (text: string): number => Math.ceil(text.length / 4);
const counter: TokenCounter = {
  id: "characters/4",
  exact: true,
  perRequest: 0,
  countText,
  countMessage: ({ parts }) =>
    parts.reduce((total, part) => {
      if (part.type === "text") return total + countText(part.text);
      if (part.type === "toolCall") return total + countText(part.name + argumentsText(part));
      return part.type === "toolResult" ? total + countText(resultText(part)) : total;
    }, 4),
  countUncertain: () => 0,
  countSystem: (system) => (system === undefined ? 0 : countText(system)),
  countTools: (tools) => (tools === undefined ? 0 : countText(JSON.stringify(tools))),
  range: (tokens) => ({ tokens, exact: true, low: tokens, high: tokens }),
};

/** Says which messages it was given, by their first words. */
const summarizer: Summarizer = {
  name: "first-words",
  deterministic: true,
  async summarize(messages, { maxTokens, previous = "" }) {
    const lines = messages.map((message) => messageText(message).slice(0, 24)).filter((line) => line !== "");
    const text = [previous, ...lines]
      .filter((line) => line !== "")
      .join("\n")
      .slice(0, maxTokens * 4);
    return { text, tokens: countText(text), summarizer: "first-words", messagesRead: messages.length };
  },
};

function createDriver(): StorageDriver {
  const values = new Map<string, { value: string; version: string }>();
  let versions = 0;
  const write = (key: string, value: string): { version: string } => {
    versions += 1;
    values.set(key, { value, version: String(versions) });
    return { version: String(versions) };
  };
  const joined = (pieces: string | Iterable<string>): string =>
    typeof pieces === "string" ? pieces : [...pieces].join("");
  return {
    location: "map",
    get: async (key) => values.get(key),
    version: async (key) => values.get(key)?.version,
    async *stream(key) {
      const stored = values.get(key);
      if (stored !== undefined) yield stored.value;
    },
    async put(key, value, { ifVersion } = {}) {
      const current = values.get(key)?.version ?? null;
      if (ifVersion !== undefined && ifVersion !== current) throw conflict(key);
      return write(key, joined(value));
    },
    append: async (key, text) => void write(key, (values.get(key)?.value ?? "") + joined(text)),
    list: async (prefix, { after = "", limit } = {}) =>
      [...values.keys()]
        .filter((key) => key.startsWith(prefix) && key > after)
        .sort()
        .slice(0, limit),
    delete: async (key) => void values.delete(key),
  };
}

function createManager(
  driver: StorageDriver,
  events: SessionEvent[] = [],
  lists?: ManagerParts["lists"],
): SessionManager {
  const redaction = {
    enabled: true,
    redactText: (text: string) => text,
    redactValue: (value: unknown) => value,
  };
  let time = 0;
  const now = (): Date => {
    time += 1000;
    return new Date(time);
  };
  const settings: ManagerSettings = {
    policy: { ...defaultPolicy, hardCapBuffer: 100, keepRecentTurns: 2 },
    summaryRole: "assistant",
    maxContextTokens: 2_000,
    codecs,
    counterFor: () => counter,
    readUsage: () => undefined,
    limitsInputOnly: () => false,
    model: undefined,
    maxSummaryTokens: undefined,
    reasoningBound: false,
    onStorageFailure: "stop",
  };
  const parts: ManagerParts = {
    environment: { now, clock: () => time, later: () => () => undefined },
    enter: async () => undefined,
    pause: () => undefined,
    open: async () => {
      const archive = createArchiveStore(driver, redaction);
      const face = { archive, archiveDriver: driver, stateDriver: driver };
      return { ...face, patient: face };
    },
    worker: "worker",
    redaction,
    summarizers: [summarizer],
    recorder: {
      announcer: () => (event) => void events.push(event),
      write: async () => undefined,
      flush: async () => undefined,
    },
    lists,
    warn: (message) => {
      throw new Error(message);
    },
  };
  return new SessionManager(settings, parts);
}

const conversation = (turns: number): Message[] =>
  Array.from({ length: turns }, (_, index): Message[] => [
    { id: `u${index}`, role: "user", parts: [{ type: "text", text: `ask ${index} ${"tide ".repeat(40)}` }] },
    {
      id: `a${index}`,
      role: "assistant",
      parts: [{ type: "text", text: `answer ${index} ${"rope ".repeat(40)}` }],
    },
  ]).flat();
const cost = (list: readonly Message[]): number =>
  list.reduce((total, message) => total + counter.countMessage(message), 0);

describe("the core alone", () => {
  it("TRG-1 gives back the caller's own array below the trigger", async () => {
    const list = conversation(5);
    const { messages, report } = await createManager(createDriver()).preflight("s", list);
    expect(messages).toBe(list);
    expect(report).toMatchObject({ compacted: false, reason: "below_trigger" });
  });

  it("FIT-6 compacts above it: archived first, then summarized, within the budget", async () => {
    const driver = createDriver();
    const events: SessionEvent[] = [];
    const list = conversation(20);
    const { messages, report } = await createManager(driver, events).preflight("s", list);
    expect(report).toMatchObject({ compacted: true, summarizer: "first-words", summaryVersion: 1 });
    expect(cost(messages as Message[])).toBeLessThanOrEqual(1_900);
    expect(messages.slice(-4)).toEqual(list.slice(-4));
    expect(messageText(messages[0] as Message)).toMatch(/^<COMPACT-SUMMARY v1>\nask 0/);
    expect(await driver.list("s/")).toEqual(
      expect.arrayContaining(["s/state.json", "s/summary-001.json", "s/transcript-pre-compact-001.jsonl"]),
    );
    expect(events.map(({ kind }) => kind)).toEqual(["estimate", "archived", "decision", "summary", "pruned"]);
  });

  it("RUN-2 resumes in another process: the raw list gives the same view, nothing is summarized twice", async () => {
    const driver = createDriver();
    const list = conversation(20);
    const first = await createManager(driver).preflight("s", list);
    const resumed = createManager(driver);
    const again = await resumed.preflight("s", list);
    expect(again.report.compacted).toBe(false);
    expect(again.messages.map((message) => (message as Message).id)).toEqual(
      first.messages.map((message) => (message as Message).id),
    );
    const longer = [...list, ...conversation(40).slice(40)];
    const later = await resumed.preflight("s", longer);
    expect(later.report).toMatchObject({ compacted: true, summaryVersion: 2 });
    const ids = resumed.getRunningSummary("s")?.summarizedMessageIds ?? [];
    expect(new Set(ids).size).toBe(ids.length);
    expect(cost(later.messages as Message[])).toBeLessThanOrEqual(1_900);
  });

  it("reads a list as its check gives it back, once for each call", async () => {
    const calls: string[] = [];
    const events: SessionEvent[] = [];
    const manager = createManager(createDriver(), events, (report) => ({
      async prepare(sessionId, list) {
        calls.push(`${sessionId} ${list.length}`);
        report(sessionId, "list_mended", "the first message went");
        return list.slice(1);
      },
      lintWaiting: async () => void calls.push("waiting"),
      *findFaults() {
        yield;
        return [];
      },
      forget: (sessionId) => void calls.push(`forget ${sessionId}`),
    }));
    const list = conversation(2);
    const { messages } = await manager.preflight("s", list);
    expect(messages).toEqual(list.slice(1));
    await manager.flush();
    await manager.release("s");
    expect(calls).toEqual(["s 4", "waiting", "forget s"]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "list_mended" }));
  });

  it("imports nothing but itself and errors.ts", () => {
    const folder = new URL(".", import.meta.url);
    const sources = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
    expect(sources.length).toBeLessThanOrEqual(17);
    for (const name of sources) {
      const text = readFileSync(new URL(name, folder), "utf8");
      for (const [, specifier] of text.matchAll(/from "([^"]+)"/g)) {
        expect(`${name}: ${specifier}`).toMatch(/: (?:\.\/[a-z]+\.ts|\.\.\/errors\.ts)$/);
      }
    }
  });
});
