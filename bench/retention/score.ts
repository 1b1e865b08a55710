import {
  type Cut,
  type GroundTruth,
  matchedControl,
  type NeededFact,
  type PrefixFact,
} from "./ground-truth.ts";
import { createJudge, indexText } from "./presence.ts";
import { createRandom, drawn } from "./random.ts";
import { render, tokensOf, turnTokens } from "./turns.ts";

/** How much of what is needed later survives; each from 0 to 1, undefined where there was nothing to measure. */
export interface Scores {
  /** Tokens of the text. */
  readonly tokens: number;
  /** V: share of the needed facts that stand in it. */
  readonly present: number | undefined;
  /** V of those that were last seen before the newest tenth of the prefix. */
  readonly distant: number | undefined;
  /** V of those that the user said. */
  readonly fromUser: number | undefined;
  /** X: share of matched facts that are never needed. */
  readonly control: number | undefined;
  /** C: needed facts among the words of their source. */
  readonly inContext: number | undefined;
  /** F: needed facts that the words of their later use lead to. */
  readonly lookedUp: number | undefined;
}

export type Scorer = (text: string) => Scores;

const CONTROL_DRAWS = 5;
const MOST_LOOKUPS = 30;
/** The newest part of the prefix, which any tail keeps. */
const NEWEST_SHARE = 0.1;

/** Scores texts made from one prefix. */
export function createScorer({ prefix }: Cut, truth: GroundTruth): Scorer {
  const source = indexText(render(prefix));
  const judge = createJudge(source);
  const distantUntil = beginOfNewest(prefix.map(turnTokens));
  const { needed } = truth;
  const distant = needed.filter(({ last }) => last < distantUntil);
  const fromUser = needed.filter(({ origin }) => origin === "user");
  const controls = Array.from({ length: CONTROL_DRAWS }, (_, draw) => matchedControl(truth, draw));
  const asked = drawn(needed.filter(isAsked), MOST_LOOKUPS, createRandom(needed.length + 11));
  return (text) => {
    const output = indexText(text);
    const prepared = judge.prepare(output);
    return {
      tokens: tokensOf(text),
      present: share(needed, (fact) => output.has(fact)),
      distant: share(distant, (fact) => output.has(fact)),
      fromUser: share(fromUser, (fact) => output.has(fact)),
      control: mean(controls.map((facts) => share(facts, (fact: PrefixFact) => output.has(fact)))),
      inContext: share(needed, (fact) => judge.inContext(fact, output)),
      lookedUp: share(asked, (fact) => judge.lookedUp(fact, fact.useWords ?? new Set(), prepared)),
    };
  };
}

function isAsked({ useWords }: NeededFact): boolean {
  return useWords !== undefined && useWords.size >= 2;
}

function beginOfNewest(tokens: readonly number[]): number {
  const all = tokens.reduce((sum, one) => sum + one, 0);
  let before = 0;
  for (const [index, own] of tokens.entries()) {
    before += own;
    if (before > all * (1 - NEWEST_SHARE)) return index;
  }
  return tokens.length;
}

function share<T>(facts: readonly T[], test: (fact: T) => boolean | undefined): number | undefined {
  const answers = facts.map(test).filter((answer) => answer !== undefined);
  return answers.length === 0 ? undefined : answers.filter(Boolean).length / answers.length;
}

/** The mean of what is known; undefined where nothing is. */
export function mean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}
