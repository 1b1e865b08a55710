import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode, encode, FORMATS } from "../../packages/compact-context/src/codecs/formats.ts";
import { toolCalls, toolResults } from "../../packages/compact-context/src/core/message.ts";
import {
  describeRules,
  lint,
  repair,
  type Violation,
} from "../../packages/compact-context/src/lint/index.ts";
import { breakList, faultsOfRepair, MUTATIONS, validList } from "../support/broken-lists.ts";
import { manifest, present, read, recordings } from "../transcripts/sessions.ts";
import { partOf, whole } from "../whole.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const chosen = fc.record({
  turns: fc.integer({ min: 1, max: 5 }),
  media: fc.boolean(),
  reasoning: fc.boolean(),
  protect: fc.boolean(),
  system: fc.boolean(),
});
const runs = (most: number) => ({ numRuns: whole ? most : most / 4 });
const mendable = new Set(describeRules().flatMap((rule) => (rule.mend === undefined ? [] : [rule.id])));

const errors = (found: readonly Violation[]): string[] =>
  found.filter((one) => one.severity === "error").map((one) => `${one.rule} ${one.path}`);

/** Lists of each format that are broken and mended; `npm run soak -- --broken` takes 100,000. */
const BROKEN = whole ? 2_000 : 500;

/** Errors that `repair` says it mends. */
const left = (found: readonly Violation[]): string[] => errors(found.filter((one) => mendable.has(one.rule)));

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((entry, index) => entry === other[index]);

describe.each(FORMATS)("lint and repair of generated %s lists", (format) => {
  it("find nothing in a valid list", () => {
    fc.assert(
      fc.property(seeds, chosen, (seed, options) => {
        expect(lint(validList(format, seed, options), format)).toEqual([]);
      }),
      runs(40),
    );
  });

  it("find nothing in its beginnings, and its open calls only when asked", () => {
    fc.assert(
      fc.property(seeds, fc.nat(40), (seed, end) => {
        const list = validList(format, seed, { reasoning: true }).slice(0, end + 1);
        const found = lint(list, format).filter((one) => one.rule !== "items/reasoning-followed");
        expect(errors(found)).toEqual([]);
        const messages = decode(list, format);
        const answered = new Set(messages.flatMap(toolResults).map((result) => result.id));
        const open = messages.flatMap(toolCalls).filter((call) => !answered.has(call.id));
        const asked = lint(list, format, { pendingAllowed: false });
        expect(asked.filter((one) => one.rule === "generic/dead-call").length).toBe(open.length);
      }),
      runs(60),
    );
  });

  it("INT-4 give a valid list back as the caller's own objects", () => {
    fc.assert(
      fc.property(seeds, chosen, (seed, options) => {
        const list = validList(format, seed, options);
        const { messages, ...rest } = repair(list, format);
        expect(rest).toEqual({ mends: [] });
        expect(messages).not.toBe(list);
        expect(isSame(messages, list)).toBe(true);
      }),
      runs(40),
    );
  });

  it("mend a broken list once and for all, and change nothing that came in", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(faultsOfRepair(format, seed)).toEqual([]);
      }),
      { numRuns: BROKEN },
    );
  });

  it("PRT-7 name the place of an orphan result, an id used twice, an unknown role and things that are no entries", () => {
    const list = validList(format, 11, { turns: 2 });
    const messages = decode(list, format);
    const at = messages.findIndex(
      (message) => toolResults(message).length > 0 && toolCalls(message).length === 0,
    );
    const caller = messages.findLastIndex((message, index) => index < at && toolCalls(message).length > 0);
    const rulesAt = (broken: readonly unknown[], index: number): string[] =>
      lint(broken, format).flatMap((one) => (one.index === index ? [one.rule] : []));
    expect(rulesAt(list.toSpliced(1, caller, list[0]), at - caller + 1)).toContain("generic/orphan-result");
    const doubled = rulesAt(list.toSpliced(caller + 1, 0, structuredClone(list[caller])), caller + 1);
    // Gemini's calls have no ids: the copy is a call of its own that nobody answers.
    expect(doubled).toContain(format === "gemini" ? "generic/dead-call" : "generic/duplicate-call");
    // In pi every word is a role.
    const stranger = { role: format === "pi" ? 7 : "narrator", content: "x" };
    expect(rulesAt([...list, stranger], list.length)).toEqual(["generic/unknown-role"]);
    expect(rulesAt([null, ...list], 0)).toContain("generic/unreadable-entry");
  });

  it("PRT-7 survive whatever is in a list, and leave only what reads as an entry", () => {
    const word = fc.constantFrom(
      "user",
      "assistant",
      "tool",
      "model",
      "text",
      "tool_use",
      "function_call",
      "",
      7,
      null,
    );
    const near = fc.record(
      {
        role: word,
        type: word,
        content: fc.anything(),
        parts: fc.anything(),
        tool_calls: fc.anything(),
        id: word,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(near, fc.anything()), { maxLength: 6 }), (list) => {
        for (const one of lint(list, format)) expect(one.path).toMatch(/^messages/);
        const { messages } = repair(list, format);
        expect(left(lint(messages, format))).toEqual([]);
        expect(lint(messages, format).map((one) => one.rule)).not.toContain("generic/unreadable-entry");
      }),
      runs(100),
    );
  });

  it("PRT-7 keep every text: it is in the list or in what the mends removed", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const list = breakList(seed, format, MUTATIONS);
        const { messages, mends } = repair(list, format);
        const kept = new Set(textsIn(messages));
        const removed = mends.map((mend) => mend.removed ?? "").join("\n");
        const wrapped = [...kept].filter((text) => text.includes("INVALID_JSON")).join("\n");
        // What is removed of an entry that could not be read is its JSON.
        const isKept = (text: string) =>
          kept.has(text) ||
          [text, JSON.stringify(text).slice(1, -1)].some((one) => `${removed}${wrapped}`.includes(one));
        expect(textsIn(list).filter((text) => !isKept(text))).toEqual([]);
        for (const mend of mends) {
          expect(mendable).toContain(mend.rule);
          expect(mend.index).toBeLessThan(list.length);
        }
      }),
      runs(40),
    );
  });
});

/** Fields in which formats keep what was said, called or answered. */
const WORDS = new Set([
  "text",
  "content",
  "thinking",
  "output",
  "value",
  "error",
  "result",
  "arguments",
  "INVALID_JSON",
]);

function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== "string") return textsIn(inner);
    return WORDS.has(key) && inner.trim() !== "" ? [inner.trimEnd()] : [];
  });
}

/** Calls that recorded lists leave open for good. */
const FAULTS: readonly (readonly [file: string, rule: string, count: number])[] = [
  ["pi-mono/large-session.jsonl", "generic/dead-call", 18],
  ["langchain/langgraphjs-supervisor-stream.json", "generic/dead-call", 2],
];

describe.skipIf(!present)("lint and repair of recorded lists", () => {
  const files = [...manifest.map((entry) => entry.file), ...recordings];

  // What these applications store is no provider's format.
  const foreign = files.filter((file) =>
    /opencode|moatless|swe-agent|who-and-when|aider|gemini-cli/.test(file),
  );

  it.each(
    partOf(
      files.filter((file) => !foreign.includes(file)),
      12,
    ),
  )("%s, in its own format, is clean, or its faults are known and mended", async (file) => {
    const { segments } = await read(file);
    for (const { messages: decoded } of segments) {
      const format = decoded[0]?.format;
      if (format === undefined) throw new Error(`${file} has no format`);
      const list = decoded.map((message) => message.native);
      const found = lint(list, format);
      const known = new Set(["anthropic/empty-text", "generic/result-without-id"]);
      const expected = FAULTS.find(([name]) => name === file);
      const surprising = found.filter((one) => !known.has(one.rule) && one.rule !== expected?.[1]);
      expect(surprising).toEqual([]);
      if (expected !== undefined)
        expect(found.filter((one) => one.rule === expected[1]).length).toBe(expected[2]);
      const { messages, mends } = repair(list, format);
      expect(errors(lint(messages, format))).toEqual([]);
      expect(mends.length).toBe(found.length);
      const changed = new Set(mends.map((mend) => mend.index));
      expect(list.filter((entry, index) => !changed.has(index) && !messages.includes(entry))).toEqual([]);
    }
  });

  it.each(partOf(foreign, 6))("%s is mended in every format that it is written in", async (file) => {
    const { messages } = await read(file);
    expect(messages.length).toBeGreaterThan(3);
    for (const format of FORMATS) {
      const list = encode(messages, format);
      const found = lint(list, format).filter((one) => !/system/.test(one.rule));
      const known = new Set([
        "anthropic/unique-call-ids",
        "generic/arguments-json",
        "generic/input-object",
        "generic/refused-id",
      ]);
      expect(found.filter((one) => !known.has(one.rule))).toEqual([]);
      expect(left(lint(repair(list, format).messages, format))).toEqual([]);
    }
  });

  it("the calls that pi left open are reported and answered where they stand", async () => {
    const { messages: decoded } = await read("pi-mono/large-session.jsonl");
    const list = decoded.map((message) => message.native);
    const found = lint(list, "pi");
    const { messages, mends } = repair(list, "pi");
    expect(mends.map((mend) => mend.action)).toEqual(found.map(() => "answered"));
    expect(mends.map((mend) => mend.index)).toEqual(found.map((one) => one.index));
    for (const { index, added } of mends) {
      const answer = messages.indexOf(added);
      const between = messages.slice(messages.indexOf(list[index]) + 1, answer) as { role: string }[];
      expect(answer).toBeGreaterThan(-1);
      expect(between.every((entry) => entry.role === "toolResult")).toBe(true);
      expect(added).toMatchObject({ role: "toolResult", isError: true });
    }
  });
});

it("every error is mended", () => {
  const unmended = describeRules().filter(({ severity, mend }) => severity === "error" && mend === undefined);
  expect(unmended).toEqual([]);
});

it("the table in docs/lint.md lists every rule", () => {
  const text = readFileSync(new URL("../../docs/lint.md", import.meta.url), "utf8");
  const rows = describeRules().map((rule) => {
    const formats = rule.formats.length === FORMATS.length ? "all" : rule.formats.join(", ");
    return `| \`${rule.id}\` | ${formats} | ${rule.severity} | ${rule.explanation} | ${rule.mend ?? "reported only"} | ${rule.link} |`;
  });
  expect(text.split("\n").filter((line) => line.startsWith("| `"))).toEqual(rows);
});
