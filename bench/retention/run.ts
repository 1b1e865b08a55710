import type { Transcript } from "../../packages/compact-context-cli/src/transcripts/transcript.ts";
import { type Case, cutsOf, ownCompactionsOf, type SessionFile } from "./cuts.ts";
import { groundTruth } from "./ground-truth.ts";
import { BASELINES, type Method, oracleLines } from "./methods.ts";
import { PRODUCT } from "./product.ts";
import { createScorer, mean, type Scores } from "./score.ts";
import { fitted, render, tokensOf } from "./turns.ts";

/** One method's text at one cut. */
export interface Row {
  readonly file: string;
  readonly corpus: string;
  readonly method: string;
  readonly prefixTokens: number;
  /** Share of the prefix that the method was given; `own` for the size of the session's own summary. */
  readonly budget: number | "own" | "all";
  /** Share of the prefix that its text takes. */
  readonly used: number;
  readonly scores: Scores;
  /** Milliseconds to make the text. */
  readonly ms: number;
}

export interface CutFacts {
  readonly file: string;
  readonly prefixTokens: number;
  readonly facts: number;
  readonly needed: number;
  readonly never: number;
  readonly resupplied: number;
}

export interface Results {
  readonly cuts: readonly CutFacts[];
  readonly rows: readonly Row[];
}

export interface RunOptions {
  readonly budgets: readonly number[];
  /** Where each stretch of a session is cut, as shares of its tokens. */
  readonly shares: readonly number[];
  readonly common: ReadonlySet<string>;
  /** Milliseconds of a steady clock. */
  clock(): number;
  read(session: SessionFile): Promise<Transcript>;
  onSession?(session: SessionFile): void;
}

/** Cuts with fewer needed facts say nothing. */
const LEAST_NEEDED = 5;

/** Every method at every cut of every session, and at the sessions' own compactions at their own size. */
export async function runRetention(sessions: readonly SessionFile[], options: RunOptions): Promise<Results> {
  const cuts: CutFacts[] = [];
  const rows: Row[] = [];
  for (const session of sessions) {
    options.onSession?.(session);
    const transcript = await options.read(session);
    for (const one of cutsOf(session, transcript, options.shares)) {
      const measured = await measure(one, options);
      if (measured === undefined) continue;
      cuts.push(measured.facts);
      rows.push(...measured.rows);
    }
    for (const one of ownCompactionsOf(session, transcript)) {
      rows.push(...((await measure(one, options))?.rows ?? []));
    }
  }
  return { cuts, rows };
}

type Produce = (budget: number) => Promise<readonly string[]>;

async function measure(
  one: Case,
  { common, budgets, clock }: RunOptions,
): Promise<{ facts: CutFacts; rows: Row[] } | undefined> {
  const { file, corpus, prefix, ownSummary } = one;
  const truth = groundTruth({ ...one, common });
  if (truth.needed.length < LEAST_NEEDED) return undefined;
  const score = createScorer({ ...one, common }, truth);
  const whole = render(prefix);
  const prefixTokens = tokensOf(whole);
  const values = new Set(truth.needed.flatMap(({ kind, value }) => (kind === "phrase" ? [] : [value])));
  const rows: Row[] = [];
  const add = (method: string, budget: Row["budget"], texts: readonly string[], ms: number): void => {
    const all = texts.map(score);
    const scores = averaged(all);
    rows.push({ file, corpus, prefixTokens, method, budget, used: scores.tokens / prefixTokens, scores, ms });
  };
  const methods = methodsOn(one, values);
  const at = async (budget: Row["budget"], tokens: number): Promise<void> => {
    for (const [method, produce] of methods) {
      const begun = clock();
      const texts = await produce(tokens);
      const ms = clock() - begun;
      // What is over the budget is cut off: every method is scored on the same room.
      add(
        method,
        budget,
        texts.map((text) => fitted(text, tokens)),
        ms,
      );
    }
  };
  const own = ownSummary === undefined ? undefined : tokensOf(ownSummary);
  add("the whole prefix", own === undefined ? "all" : "own", [whole], 0);
  if (own === undefined) for (const budget of budgets) await at(budget, Math.floor(prefixTokens * budget));
  else {
    add("the agent's own summary", "own", [ownSummary ?? ""], 0);
    await at("own", own);
  }
  const { needed, never, resupplied, all } = truth;
  const facts = { needed: needed.length, never: never.length, resupplied, facts: all };
  return { facts: { file, prefixTokens, ...facts }, rows };
}

function methodsOn({ prefix, messages }: Case, values: ReadonlySet<string>): [string, Produce][] {
  const made = (methods: readonly Method[]): Produce => {
    return (budget) => Promise.all(methods.map((method) => method(prefix, budget)));
  };
  return [
    ...Object.entries(PRODUCT).map(([name, method]): [string, Produce] => [
      name,
      async (budget) => [await method(messages, budget)],
    ]),
    ...Object.entries(BASELINES).map(([name, methods]): [string, Produce] => [name, made(methods)]),
    ["oracle lines (knows the future)", made([oracleLines(values)])],
  ];
}

function averaged(all: readonly Scores[]): Scores {
  const of = (key: keyof Scores): number | undefined => mean(all.map((scores) => scores[key]));
  return {
    tokens: of("tokens") ?? 0,
    present: of("present"),
    distant: of("distant"),
    fromUser: of("fromUser"),
    control: of("control"),
    inContext: of("inContext"),
    lookedUp: of("lookedUp"),
  };
}
