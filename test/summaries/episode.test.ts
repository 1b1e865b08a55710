import { describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import type { SummarizeOptions, Summarizer } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { builtinSummarizer } from "../../packages/compact-context/src/summarizers/extractive/builtin.ts";
import { RULES, sectionTokens } from "./rules.ts";

/**
 * One long episode after the other, in the manner of constraint-rot benchmarks: a person states rules once, then comes
 * work that says nothing of them, compacted ten times in a row. What is asked is whether every rule is still there word
 * by word.
 */

interface Entry {
  readonly role: string;
  readonly content: string | null;
  readonly [more: string]: unknown;
}

interface Episode {
  readonly window: number;
  readonly summaryTokens: number;
  /** Told before any work. */
  readonly early: readonly string[];
  /** Told after two compactions. */
  readonly middle?: readonly string[];
  readonly pinned?: Entry;
}

interface Outcome {
  /** The list after each compaction. */
  readonly lists: readonly (readonly Entry[])[];
  /** What the summarizer was given in each. */
  readonly given: readonly { readonly messages: readonly Message[]; readonly options: SummarizeOptions }[];
  readonly manager: CompactManager;
}

const COMPACTIONS = 10;
const MIDDLE = 2;

/** A step of work: a wish, a call, its output, an answer; nothing in it is a rule. */
function work(step: number, lines: number): Entry[] {
  const path = `src/part${step}/module_${step}.ts`;
  const output = Array.from(
    { length: lines },
    (_, line) => `export const value_${step}_${line} = compute_${line}(${step * 1000 + line});`,
  );
  return [
    { role: "user", content: `Now look at ${path} and tell me what handler_${step} gives.` },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: `call_${step}`,
          type: "function",
          function: { name: "read_file", arguments: JSON.stringify({ path }) },
        },
      ],
    },
    { role: "tool", tool_call_id: `call_${step}`, content: output.join("\n") },
    { role: "assistant", content: `handler_${step} in ${path} adds the values up and gives their sum.` },
  ];
}

async function play({ window, summaryTokens, early, middle = [], pinned }: Episode): Promise<Outcome> {
  const given: { messages: readonly Message[]; options: SummarizeOptions }[] = [];
  const summarizer: Summarizer = {
    ...builtinSummarizer,
    summarize: (messages, options) => {
      given.push({ messages, options });
      return builtinSummarizer.summarize(messages, options);
    },
  };
  const manager = new CompactManager(
    {
      maxContextTokens: window,
      policy: { hardCapBuffer: Math.floor(window / 20), keepRecentTurns: 1, keepToolIoPairs: 1 },
      summarizer: { maxSummaryTokens: summaryTokens },
    },
    { storage: createMemoryDriver(), summarizer },
  );
  const lists: (readonly Entry[])[] = [];
  let list: readonly Entry[] = [
    { role: "user", content: ["Let us mend the totals of the yearly report.", ...early].join("\n") },
    { role: "assistant", content: "Understood. I read the code first." },
    ...(pinned === undefined ? [] : [pinned]),
  ];
  let told = false;
  for (let step = 0; lists.length < COMPACTIONS; step += 1) {
    if (!told && lists.length === MIDDLE && middle.length > 0) {
      told = true;
      list = [
        ...list,
        { role: "user", content: middle.join("\n") },
        { role: "assistant", content: "Noted." },
      ];
    }
    const { messages, report } = await manager.preflight("episode", [...list, ...work(step, window / 100)]);
    if (report.compacted) lists.push(messages);
    list = messages;
  }
  return { lists, given, manager };
}

const textOf = (list: readonly Entry[]): string => list.map(({ content }) => content ?? "").join("\n");

/** Share of the rules that stand in the list after each compaction. */
const survival = (lists: Outcome["lists"], rules: readonly string[]): number[] =>
  lists.map((list) => rules.filter((rule) => textOf(list).includes(rule)).length / rules.length);

const ALL = (rounds: number): number[] => Array.from({ length: rounds }, () => 1);

/** The rules fit a fifth of every summary, and those who said them are gone: what is there, the summary tells. */
function proves({ lists, given }: Outcome, rules: readonly string[]): void {
  for (const { options } of given) expect(sectionTokens(rules)).toBeLessThanOrEqual(options.maxTokens * 0.2);
  const said = lists
    .slice(MIDDLE + 2)
    .flat()
    .filter(({ role }) => role === "user");
  expect(said.filter(({ content }) => rules.some((rule) => content?.includes(rule)))).toEqual([]);
}

const ENGLISH = RULES.English ?? [];

describe("episodes of ten compactions by the manager", () => {
  it.each(Object.entries(RULES))(
    "SUM-2 a rule told early and two told in the middle are there after each of them: %s",
    async (_, rules) => {
      const episode = { window: 6000, summaryTokens: 560, early: rules.slice(0, 1), middle: rules.slice(1) };
      const outcome = await play(episode);
      proves(outcome, rules);
      expect(survival(outcome.lists, rules.slice(0, 1))).toEqual(ALL(COMPACTIONS));
      expect(survival(outcome.lists.slice(MIDDLE), rules)).toEqual(ALL(COMPACTIONS - MIDDLE));
    },
  );

  it.each([
    [2000, 140, 1],
    [3000, 200, 2],
    [4000, 260, 3],
    [6000, 600, 3],
    [32_000, 3200, 3],
  ])(
    "SUM-2 in a window of %i tokens, summaries of %i: %i of three rules",
    async (window, summaryTokens, count) => {
      const rules = ENGLISH.slice(0, count);
      const outcome = await play({ window, summaryTokens, early: rules });
      proves(outcome, rules);
      for (const { options } of outcome.given) expect(options.maxTokens).toBeLessThanOrEqual(summaryTokens);
      expect(survival(outcome.lists, rules)).toEqual(ALL(COMPACTIONS));
    },
  );

  it("SUM-2 two dozen rules in eight languages, told half early and half in the middle", async () => {
    const rules = Object.values(RULES).flat();
    const outcome = await play({
      window: 32_000,
      summaryTokens: 3200,
      early: rules.slice(0, 12),
      middle: rules.slice(12),
    });
    proves(outcome, rules);
    expect(survival(outcome.lists, rules.slice(0, 12))).toEqual(ALL(COMPACTIONS));
    expect(survival(outcome.lists.slice(MIDDLE), rules)).toEqual(ALL(COMPACTIONS - MIDDLE));
  });

  it("SUM-2 more rules than a fifth holds: the newest stay whole, the others are found in the archive", async () => {
    const rules = Array.from(
      { length: 60 },
      (_, index) =>
        `Never change the ${index % 2 === 0 ? "amount" : "account"} of ledger_${index * 37 + 11}.`,
    );
    const { lists, manager, given } = await play({ window: 6000, summaryTokens: 600, early: rules });
    for (const list of lists) {
      const printed = textOf(list)
        .split("\n")
        .filter((line) => line.startsWith("- Never change"));
      const kept = printed.map((line) => line.slice(2));
      expect(kept).toEqual(rules.slice(0, kept.length));
      const room = (given.at(-1)?.options.maxTokens ?? 0) * 0.2;
      expect(sectionTokens(rules.slice(0, kept.length + 1))).toBeGreaterThan(room - 8);
    }
    const shown = textOf(lists.at(-1) ?? []);
    const lost = rules.findLast((rule) => !shown.includes(rule)) ?? "";
    const name = /ledger_\d+/.exec(lost)?.[0] ?? "";
    const found = await manager.recall("episode").search(name);
    expect(found[0]).toMatchObject({ role: "user", snippet: expect.stringContaining(`of ${name}.`) });
  });

  it("PRT-1 a pinned message is the caller's own object after each of them and never given to the summarizer", async () => {
    const pinned: Entry = {
      role: "user",
      content: "The launch word is xylophone-77. Ask me before anything is sent.",
      metadata: { protected: true },
    };
    const { lists, given } = await play({ window: 4000, summaryTokens: 260, early: ENGLISH, pinned });
    for (const list of lists) expect(list.filter((entry) => entry === pinned)).toHaveLength(1);
    expect(given.length).toBeGreaterThanOrEqual(COMPACTIONS);
    for (const { messages, options } of given) {
      expect(JSON.stringify([messages, options.previous])).not.toContain("xylophone-77");
    }
  });
});
