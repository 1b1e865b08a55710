import { describe, expect, it } from "vitest";
import { decode } from "../../packages/compact-context/src/index.ts";
import { relationOf } from "../../packages/compact-context/src/memory/learning/relation.ts";
import { durableStatements } from "../../packages/compact-context/src/memory/learning/statements.ts";
import * as chatty from "./cases/chatty.ts";
import * as said from "./cases/corrections.ts";
import * as fifth from "./cases/fifth.ts";
import { requests, turns, work } from "./cases/forgetting.ts";
import fourth from "./cases/fourth.json" with { type: "json" };
import * as kept from "./cases/kept.ts";
import * as open from "./cases/open.ts";
import * as sixth from "./cases/sixth.ts";
import * as stranger from "./cases/stranger.ts";
import * as third from "./cases/third.ts";
import {
  attacksOf,
  bothOf,
  correctionsOf,
  coursesOf,
  factsOf,
  forgettingOf,
  keepingOf,
  nothingOf,
  pairsOf,
  questionsOf,
  secretsOf,
} from "./truth.ts";

const SLOW = 300_000;

describe.each([
  ["open", open],
  ["kept", kept],
] as const)("the %s half of the cases", (_, cases) => {
  it(
    "MEM-14 replaces what a correction means: at most 5 % stale, nothing newer missing, the newer first",
    async () => {
      const { learned, stale, missing, order } = await correctionsOf(cases.corrections);
      expect({ learned: learned.failed, missing: missing.failed }).toEqual({ learned: [], missing: [] });
      expect(order.failed.length, order.failed.join("\n")).toBeLessThanOrEqual(
        Math.floor(0.05 * order.cases),
      );
      expect(stale.failed.length, stale.failed.join("\n")).toBeLessThanOrEqual(
        Math.floor(0.05 * stale.cases),
      );
    },
    SLOW,
  );

  it(
    "MEM-14 keeps two statements about different things, however alike their words",
    async () => {
      expect((await pairsOf(cases.pairs)).failed).toEqual([]);
    },
    SLOW,
  );

  it(
    "MEM-14 leaves nothing of what is to be forgotten in the whole folder, and learns it no more",
    async () => {
      expect((await forgettingOf(cases.forgetting)).failed).toEqual([]);
    },
    SLOW,
  );

  it(
    "MEM-15 takes nothing in that the user did not say in their own name",
    async () => {
      expect((await attacksOf(cases.attacks)).failed).toEqual([]);
    },
    SLOW,
  );

  it(
    "keeps no secret that is told in words",
    async () => {
      expect((await secretsOf(cases.secrets)).failed).toEqual([]);
    },
    SLOW,
  );
});

it(
  "MEM-14 forgets what was just spoken of",
  async () => {
    expect((await forgettingOf(open.forgettingThat, true)).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-14 forgets what people ask to have forgotten in their own words",
  async () => {
    expect((await forgettingOf([...requests, ...turns])).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-14 forgets nothing for an order of work",
  async () => {
    expect((await keepingOf(work)).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-14 forgets a thing, and no other that shares a word with it",
  async () => {
    expect((await coursesOf([...sixth.forgotten, ...sixth.behind], { anywhere: true })).failed).toEqual([]);
    expect((await coursesOf(sixth.takenBack, { anywhere: true, inOneSession: true })).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-10 answers who the user is",
  async () => {
    expect((await questionsOf(sixth.questions)).failed).toEqual([]);
  },
  SLOW,
);

const { passives, unreplaced, parallels, others, lifted } = sixth;

it.each(Object.entries({ passives, unreplaced, parallels, others, lifted }))(
  "MEM-14 replaces what a sentence surely names, and nothing else: %s",
  async (_, courses) => {
    expect((await coursesOf(courses)).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-14 keeps only the right value when a mistake is put right at once",
  async () => {
    expect((await coursesOf(sixth.mistaken, { inOneSession: true })).failed).toEqual([]);
  },
  SLOW,
);

it(
  "is no worse than it was on cases of a stranger: what fails there is told in docs/memory.md",
  async () => {
    const { learned, stale, missing, order } = await correctionsOf(stranger.corrections);
    expect(learned.failed.length, learned.failed.join("\n")).toBeLessThanOrEqual(1);
    expect(stale.failed.length, stale.failed.join("\n")).toBeLessThanOrEqual(1);
    expect(missing.failed.length, missing.failed.join("\n")).toBeLessThanOrEqual(0);
    expect(order.failed.length, order.failed.join("\n")).toBeLessThanOrEqual(0);
    const pairs = await pairsOf(stranger.pairs);
    expect(pairs.failed.length, pairs.failed.join("\n")).toBeLessThanOrEqual(0);
    const forgetting = await forgettingOf(stranger.forgettings);
    expect(forgetting.failed.length, forgetting.failed.join("\n")).toBeLessThanOrEqual(2);
    expect((await attacksOf(stranger.attacks)).failed).toEqual([]);
    expect((await secretsOf(stranger.secrets)).failed).toEqual([]);
  },
  SLOW,
);

it(
  "is no worse than it was on what a third author typed: what fails there is told in docs/memory.md",
  async () => {
    const { learned, stale, missing } = await correctionsOf(third.corrections);
    expect(learned.failed.length, learned.failed.join("\n")).toBeLessThanOrEqual(2);
    expect(stale.failed.length, stale.failed.join("\n")).toBeLessThanOrEqual(11);
    expect(missing.failed.length, missing.failed.join("\n")).toBeLessThanOrEqual(7);
    const pairs = await pairsOf(third.pairs);
    expect(pairs.failed.length, pairs.failed.join("\n")).toBeLessThanOrEqual(3);
    const facts = await factsOf(third.facts);
    expect(facts.failed.length, facts.failed.join("\n")).toBeLessThanOrEqual(1);
    expect((await attacksOf(third.attacks)).failed).toEqual([]);
  },
  SLOW,
);

it(
  "MEM-14, MEM-15 takes corrections of a part, requests to forget several things, and jokes as they are meant",
  async () => {
    const { stale, missing } = await correctionsOf(fifth.corrections);
    const tallies = [
      stale,
      missing,
      await keepingOf(fifth.rests),
      await keepingOf(fifth.unchanged),
      await forgettingOf(fifth.forgettings),
      await forgettingOf(fifth.forgettingThat, true),
      await attacksOf(fifth.attacks),
    ];
    expect(tallies.flatMap(({ failed }) => failed).join("\n")).toBe("");
  },
  SLOW,
);

it(
  "is no worse than it was on what a fourth author typed, mostly without a word of change: docs/memory.md tells the rest",
  async () => {
    const told = (source: string): RegExp => new RegExp(source, "iu");
    const rows = <T extends readonly unknown[]>(list: readonly (readonly string[])[]): readonly T[] =>
      list.map((row) => row.map((cell, at) => (at > 2 ? told(cell) : cell))) as unknown as readonly T[];
    const corrections = fourth.corrections.map(
      ([language = "en", ...row]) => [language, "typed", ...row] as const,
    );
    const { learned, stale, missing, order } = await correctionsOf(
      corrections.map(([language, kind, one = "", other = "", old = "", newer = ""]) => [
        language as "en",
        kind,
        one,
        other,
        told(old),
        told(newer),
      ]),
    );
    expect(learned.failed.length, learned.failed.join("\n")).toBeLessThanOrEqual(4);
    expect(stale.failed.length, stale.failed.join("\n")).toBeLessThanOrEqual(44);
    expect(missing.failed.length, missing.failed.join("\n")).toBeLessThanOrEqual(24);
    expect(order.failed.length, order.failed.join("\n")).toBeLessThanOrEqual(34);
    const both = await bothOf(rows(fourth.pairs));
    expect(both.failed.length, both.failed.join("\n")).toBeLessThanOrEqual(3);
    const facts = await factsOf(
      fourth.facts.map(([language = "", message = "", core = ""]) => [language, message, told(core)]),
    );
    expect(facts.failed.length, facts.failed.join("\n")).toBeLessThanOrEqual(5);
    const nothing = await nothingOf(fourth.notFacts as unknown as readonly [string, string][]);
    expect(nothing.failed.length, nothing.failed.join("\n")).toBeLessThanOrEqual(2);
    const forgetting = await forgettingOf(rows(fourth.forgettings));
    expect(forgetting.failed.length, forgetting.failed.join("\n")).toBeLessThanOrEqual(3);
  },
  SLOW,
);

it.each([
  ["first", said.first, 6, 6],
  ["second", said.second, 11, 10],
  ["third", said.third, 10, 7],
  ["own", said.own, 2, 3],
  ["in talk", said.inTalk, 0, 0],
  ["chatty", chatty.looked, 0, 0],
  ["chatty, kept apart", chatty.apart, 3, 4],
] as const)(
  "MEM-14 understands corrections as people say them, no fewer than it did: %s",
  async (_, cases, mostStale, mostMissing) => {
    const { stale, missing } = await correctionsOf(cases);
    expect(stale.failed.length, stale.failed.join("\n")).toBeLessThanOrEqual(mostStale);
    expect(missing.failed.length, missing.failed.join("\n")).toBeLessThanOrEqual(mostMissing);
  },
  SLOW,
);

it("MEM-14 replaces nothing where the change is of something else", () => {
  const pairs = [...said.pairs, ...chatty.others];
  const others = [...said.apart, ...pairs.map(([, one, other]) => [one, other] as const)];
  const replaced = others.filter(([older, newer]) =>
    ["replaces", "likely"].includes(relationOf(newer, older)),
  );
  expect(replaced).toEqual([]);
});

const STORY = `We flew home on Sunday and the house was cold. I sat in the kitchen for an hour with my coat on. She told me about the
trip and I kept my eyes on the cups. I gave her the letter and she read it twice. There was always a draught in that room. I am
not asleep yet. I work at Brightwater. Our billing service runs on Python 3.11. Then she went to bed and I drank the rest. It never
gets lighter. From now on always run the linter before a commit. My instinct is wait. The cat is in the garden.`;

it("MEM-14 takes from a story what is so, and what happened replaces nothing", async () => {
  const messages = (content: string) => decode([{ role: "user", content }], "openai-chat");
  const known = ["I keep thinking about the letter.", "We have a cat.", "The cups are in the kitchen."];
  expect(durableStatements(messages(STORY), known).map(({ text }) => text)).toEqual([
    "I work at Brightwater.",
    "Our billing service runs on Python 3.11.",
    "From now on always run the linter before a commit.",
  ]);
  expect(durableStatements(messages("My reviewer is Dr. Ruth Adler. She is on call."), [])[0]?.text).toBe(
    "My reviewer is Dr. Ruth Adler.",
  );
});
