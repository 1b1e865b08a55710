import type { Format } from "compact-context/internal/core/message";
import type { Policy } from "compact-context/internal/core/policy";
import type { SummaryStrategy } from "compact-context/internal/core/ports";
import {
  type ConversationOptions,
  generateUtterances,
  seededRandom,
  type Utterance,
} from "./generated-lists.ts";
import { writeNativeEntries } from "./native-lists.ts";

/** One compaction of a history: the part of the history it sees, and its budget. */
export interface SoakRound {
  /** Number of the history's entries that exist so far. */
  readonly end: number;
  /** Position of the budget between the pinned tokens and the whole list; below 0 it is too small. */
  readonly share: number;
  /** Target as a share of the budget. */
  readonly aim?: number;
  readonly onOverflow: "error" | "elide";
  readonly policy: Partial<Policy>;
  /** What the host passes: its whole list as new objects, or the last result plus the newer entries. */
  readonly gives: "raw" | "own";
  /** Compaction is requested explicitly, whatever the usage. */
  readonly manual: boolean;
}

/** Who writes the summaries: the built-in summarizer, a scripted one, or a failing one. */
export type SoakSummarizer = "builtin" | "scripted" | "failing" | "empty";

/** A whole history in a provider's format, and the compactions that happen while it grows. */
export interface SoakHistory {
  readonly format: Format;
  readonly seed: number;
  readonly options: ConversationOptions;
  readonly list: readonly unknown[];
  readonly rounds: readonly SoakRound[];
  /** `compact()` on its own output each time, or one session of a manager. */
  readonly drive: "compact" | "manager";
  readonly strategy: SummaryStrategy;
  readonly summarizer: SoakSummarizer;
  /** Whether the manager redacts what it stores; as slow as everything else together. */
  readonly redacts: boolean;
  /** A model that binds its reasoning to the preceding messages; the history's reasoning is sealed. */
  readonly model?: string;
}

/** Properties of a history that can be fixed instead of random. */
export interface SoakFixed {
  readonly options?: ConversationOptions;
  readonly drive?: SoakHistory["drive"];
  readonly gives?: SoakRound["gives"];
  readonly bound?: boolean;
}

/** A model whose reasoning is bound to its prefix. */
const BOUND_MODEL = "claude-fable-5-1";

const STRATEGIES: readonly SummaryStrategy[] = [
  "task_state",
  "decision_log",
  "code_delta",
  "brief",
  "step_ledger",
  "requirements_ledger",
];
/** The built-in summarizer, also the fallback of failing ones, is slower than everything else together. */
const SUMMARIZERS: readonly SoakSummarizer[] = [
  ...new Array<SoakSummarizer>(13).fill("scripted"),
  "builtin",
  "failing",
  "empty",
];

/** The history of a seed: its content and compactions are random except for `fixed`. */
export function drawHistory(format: Format, seed: number, fixed: SoakFixed = {}): SoakHistory {
  const random = seededRandom(seed ^ 0x5f3759df);
  const drawn = drawOptions(random);
  const bound = fixed.bound ?? random() < 0.3;
  const options = {
    ...drawn,
    reasoning: bound || drawn.reasoning,
    sealed: bound || drawn.sealed,
    ...fixed.options,
  };
  const utterances = generateUtterances(seed, options);
  const entries = writeNativeEntries(format, utterances);
  const list = entries.flat();
  const ends = endsOf(utterances, entries, random);
  const count = 1 + Math.floor(random() * 5);
  const cuts = Array.from({ length: count - 1 }, () => pick(random, ends) ?? 1);
  const rounds = [...new Set([...cuts, list.length])].toSorted((a, b) => a - b);
  const habit = fixed.gives ?? pick(random, ["raw", "own", undefined] as const);
  return {
    format,
    seed,
    options,
    list,
    rounds: rounds.map((at) => {
      const limits = drawLimits(random);
      const gives = habit ?? (random() < 0.5 ? "raw" : "own");
      return { end: at, ...limits, gives, manual: random() < 0.15 };
    }),
    drive: fixed.drive ?? (random() < 0.5 ? "compact" : "manager"),
    strategy: pick(random, STRATEGIES) ?? "task_state",
    summarizer: pick(random, SUMMARIZERS) ?? "builtin",
    redacts: random() < 0.05,
    model: bound ? BOUND_MODEL : undefined,
  };
}

/** Positions to compact at: after each utterance, and while results of a step are pending. */
function endsOf(
  utterances: readonly Utterance[],
  entries: readonly (readonly unknown[])[],
  random: () => number,
): number[] {
  let end = 0;
  return utterances.flatMap(({ type }, index) => {
    const count = entries[index]?.length ?? 0;
    end += count;
    if (count === 0) return [];
    return type === "results" && count > 1 && random() < 0.5 ? [end - 1, end] : [end];
  });
}

function pick<T>(random: () => number, from: readonly T[]): T | undefined {
  return from[Math.floor(random() * from.length)];
}

/** A whole number from `from` to `to`. */
function between(random: () => number, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

/** Small histories find the same faults as large ones; every tenth is large nevertheless. */
function drawOptions(random: () => number): ConversationOptions {
  const chance = (share: number): boolean => random() < share;
  const large = chance(0.1);
  return {
    turns: large ? between(random, 3, 9) : between(random, 1, 3),
    parallelCalls: large ? between(random, 1, 6) : between(random, 1, 2),
    steps: large ? between(random, 0, 5) : between(random, 0, 2),
    openSteps: chance(0.3) ? openSteps(random) : undefined,
    system: chance(0.5),
    media: chance(0.3),
    protect: chance(0.3),
    reasoning: chance(0.4),
    reasoningLoops: chance(0.2),
    deadCalls: chance(0.2),
    pendingCalls: chance(0.2),
    emptyTexts: chance(0.15),
    equalTexts: chance(0.2),
    oddTexts: chance(0.25),
    serverTools: chance(0.2),
    approvals: chance(0.2),
    compactions: chance(0.15),
    giantWords: chance(0.02) ? between(random, 200, 4000) : undefined,
  };
}

/** Steps of the unfinished turn: usually a few, occasionally up to 145. */
function openSteps(random: () => number): number {
  return random() < 0.01 ? between(random, 20, 145) : between(random, 1, 4);
}

function drawLimits(random: () => number): Omit<SoakRound, "end" | "gives" | "manual"> {
  return {
    share: random() < 0.04 ? -random() : random() ** 1.5,
    aim: random() < 0.3 ? 0.2 + random() * 0.8 : undefined,
    onOverflow: random() < 0.75 ? "elide" : "error",
    policy: {
      keepRecentTurns: random() < 0.4 ? between(random, 1, 8) : undefined,
      keepToolIoPairs: random() < 0.4 ? between(random, 0, 10) : undefined,
      keepRecentMessages: random() < 0.15 ? between(random, 1, 20) : undefined,
      clearToolResults: random() < 0.3 ? false : undefined,
    },
  };
}
