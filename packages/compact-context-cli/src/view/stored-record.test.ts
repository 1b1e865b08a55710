import { planCompaction } from "compact-context/internal/compact";
import { describe, expect, it } from "vitest";
import { storedRecord } from "./message-view.ts";

const plan = planCompaction(
  Array.from({ length: 20 }, (_, index) => [
    { role: "user", content: `question ${index} ${"words ".repeat(60)}` },
    { role: "assistant", content: `answer ${index} ${"text ".repeat(60)}` },
  ]).flat(),
  { maxTokens: 3000, targetTokens: 1000, policy: { keepRecentTurns: 1 } },
);
const record = {
  version: 1,
  text: "so far",
  at: "2026-03-01T12:00:00.000Z",
  summarizer: "builtin",
  tokens: 3,
  tokensBefore: 5000,
  tokensAfter: 900,
  fixedTokens: { system: 7, tools: 11 },
  fates: plan.entries.map(({ action, tokens, tokensAfter, reason }) => ({
    action,
    tokens,
    tokensAfter,
    reason,
  })),
};
const count = plan.entries.length;

describe("a summary record of the archive", () => {
  it("round-trips the outcomes of a plan through JSON", () => {
    const read = storedRecord(JSON.parse(JSON.stringify(record)) as object);
    expect(read).toMatchObject({ text: "so far", summaryTokens: 3, system: 7, tools: 11 });
    expect(read.outcomes?.map(({ tokens, tokensAfter }) => [tokens, tokensAfter])).toEqual(
      plan.entries.map(({ tokens, tokensAfter }) => [tokens, tokensAfter]),
    );
    const outcomes = read.outcomes?.map(({ outcome }) => outcome) ?? [];
    expect(outcomes[0]).toBe("summarized");
    expect(outcomes.at(-1)).toBe("kept");
  });

  const [first, ...rest] = record.fates;
  const odd: readonly (readonly [what: string, value: object | undefined])[] = [
    ["no record", undefined],
    ["none stored", { ...record, fates: undefined }],
    ["another action", { ...record, fates: [{ ...first, action: "toString" }, ...rest] }],
    ["no tokens", { ...record, fates: [{ action: "keep" }, ...rest] }],
    ["tokens below zero", { ...record, fates: [{ ...first, tokensAfter: -1 }, ...rest] }],
    ["an object in place of the list", { ...record, fates: { length: count } }],
    ["a list in place of an entry", { ...record, fates: [[], ...rest] }],
  ];
  it.each(odd)("has no outcomes where any is invalid: %s", (_, value) => {
    expect(storedRecord(value).outcomes).toBeUndefined();
  });
});
