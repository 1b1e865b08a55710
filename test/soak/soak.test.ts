import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/messages/codecs.ts";
import { checkCompaction, newlyBroken, type SoakRoundOptions, soakHistory } from "../../src/testing/soak.ts";

const HISTORIES = 40;

describe.each(FORMATS)("%s", (format) => {
  it(`TST-2 PRT-1 PRT-5 PRT-6 FIT-6 INT-4 ${HISTORIES} histories that grow and are compacted break no promise`, async () => {
    let compactions = 0;
    for (let seed = 0; seed < HISTORIES; seed += 1) {
      const outcome = await soakHistory(format, seed);
      expect(outcome.violations).toEqual([]);
      compactions += outcome.compactions;
    }
    expect(compactions).toBeGreaterThan(HISTORIES);
  });
});

interface Fixture {
  readonly about: string;
  readonly options: SoakRoundOptions;
  readonly list: readonly unknown[];
}

const folder = new URL("../fixtures/soak/", import.meta.url);

describe("what once broke a promise", () => {
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
    }).catch((error: unknown) => ({ broken: [["thrown", String(error)]] }));
    expect(wrong.broken).toHaveLength(1);
    const refused = await checkCompaction(list, { format: "openai-chat", maxTokens: 1 });
    expect(refused).toMatchObject({ refusal: "InsufficientBudget", broken: [] });
  });
});
