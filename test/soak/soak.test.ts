import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decode, FORMATS } from "../../packages/compact-context/src/codecs/formats.ts";
import { countTokens } from "../../packages/compact-context/src/compact.ts";
import { checkCompaction, type SoakRoundOptions, soakHistory } from "../support/soak.ts";
import { checkResult, newlyBroken } from "../support/soak-promises.ts";
import { whole } from "../whole.ts";

/** Of each of eight formats: a thousand runs in all, or a hundred and twenty. */
const HISTORIES = whole ? 125 : 15;

describe.each(FORMATS)("%s", (format) => {
  it(`${whole ? "TST-1 " : ""}TST-2 PRT-1 PRT-5 PRT-6 FIT-6 INT-4 ${HISTORIES} histories that grow and are compacted break no promise`, {
    timeout: 120_000,
  }, async () => {
    let compactions = 0;
    for (let seed = 0; seed < HISTORIES; seed += 1) {
      const outcome = await soakHistory(format, seed);
      expect(outcome.violations).toEqual([]);
      compactions += outcome.compactions;
    }
    expect(compactions).toBeGreaterThan(HISTORIES / 2);
  });
});

interface Fixture {
  readonly about: string;
  readonly options: SoakRoundOptions;
  readonly list: readonly unknown[];
}

const folder = new URL("../fixtures/soak/", import.meta.url);

describe("what once broke a promise", () => {
  it.each([
    ["openai-agents", 333],
    ["openai-responses", 2278],
    ["openai-responses", 2491],
    ["openai-responses", 23],
    ["openai-responses", 21744],
    ["openai-agents", 26269],
    ["openai-responses", 6490],
    ["openai-agents", 14429],
    ["openai-responses", 69455],
    ["openai-agents", 69455],
  ] as const)("a session of %s, seed %d: reasoning was taken out", async (format, seed) => {
    const { violations, compactions } = await soakHistory(format, seed);
    expect({ violations, compacted: compactions > 0 }).toEqual({ violations: [], compacted: true });
  });

  it.each(readdirSync(folder))("%s", async (name) => {
    const { options, list } = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Fixture;
    const { list: left, broken, refusal } = await checkCompaction(list, options);
    expect({ broken, refusal }).toEqual({ broken: [], refusal: undefined });
    expect(left).not.toBe(list);
  });
});

describe("the checks themselves", () => {
  const list = [
    { role: "user", content: "look" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "search", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "found" },
    { role: "assistant", content: "done" },
  ];

  it("see a rule that is broken more often than before, and only that", () => {
    expect(newlyBroken(list, list.toSpliced(1, 1), "openai-chat").map(([rule]) => rule)).toEqual([
      "generic/orphan-result",
    ]);
    const orphan = list.toSpliced(1, 1);
    expect(newlyBroken(orphan, orphan, "openai-chat")).toEqual([]);
    expect(newlyBroken(orphan, [...orphan, orphan[1]], "openai-chat")).not.toEqual([]);
  });

  it("see errors that are not allowed, and allow too small a budget", async () => {
    const wrong = await checkCompaction([{ role: "nobody" }, ...list], {
      format: "openai-chat",
      maxTokens: 90,
    });
    expect(wrong.broken.map(([promise]) => promise)).toEqual(["no other error"]);
    const refused = await checkCompaction(list, { format: "openai-chat", maxTokens: 1 });
    expect(refused).toMatchObject({ refusal: "InsufficientBudget", broken: [] });
  });

  const kept = { role: "user", content: "keep this", metadata: { protected: true } };
  const ask = { role: "user", content: "and now?" };
  const summary = { role: "assistant", content: "<COMPACT-SUMMARY v1>\nx\n</COMPACT-SUMMARY v1>" };
  const tokensOf = (messages: unknown[]) => countTokens(messages, { format: "openai-chat" }).tokens;
  const promises = (messages: unknown[], changes: { maxTokens?: number; tokensAfter?: number } = {}) => {
    const before = [kept, ...list, ask];
    const report = {
      tokensAfter: changes.tokensAfter ?? tokensOf(messages),
      clearedCount: 0,
      elidedCount: 0,
    };
    return checkResult({
      list: before,
      messages: decode(before, "openai-chat"),
      result: { messages, report },
      format: "openai-chat",
      maxTokens: changes.maxTokens ?? 1000,
    }).map(([promise]) => promise);
  };

  it.each([
    ["nothing", promises([kept, summary, ask]), []],
    ["too many tokens", promises([kept, ask], { maxTokens: 5 }), ["within budget"]],
    ["tokens told wrongly", promises([kept, ask], { tokensAfter: 1 }), ["told tokens"]],
    ["another order", promises([ask, kept]), ["order"]],
    ["copies", promises([kept, summary, { ...list[3] }, ask]), ["own objects"]],
    ["a copy of what is protected", promises([{ ...kept }, ask]), ["pinned stay"]],
    ["two summaries", promises([kept, summary, { ...summary }, ask]), ["own objects", "one summary"]],
    ["no ask", promises([kept, summary]), ["newest ask"]],
  ])("see %s", (_what, found, expected) => {
    expect(found).toEqual(expected);
  });
});
