import type { Format } from "../messages/message.ts";
import type { Policy } from "../policy/policy.ts";
import { type ConversationOptions, generateUtterances, seededRandom } from "./generated-lists.ts";
import { writeNativeList } from "./native-lists.ts";

/** One compaction of a history: how much of the history it sees, and what it may use. */
export interface SoakRound {
  /** Entries of the whole history that exist by now. */
  readonly end: number;
  /** Where in the room between what is pinned and the whole list the budget lies; below 0 is too little. */
  readonly share: number;
  /** Aim as a share of the budget. */
  readonly aim?: number;
  readonly onOverflow: "error" | "elide";
  readonly policy: Partial<Policy>;
}

/** A whole history in a provider's format, and the compactions it goes through while it grows. */
export interface SoakHistory {
  readonly format: Format;
  readonly seed: number;
  readonly options: ConversationOptions;
  readonly list: readonly unknown[];
  readonly rounds: readonly SoakRound[];
}

/**
 * The history of a seed: what it is made of, how often and how tightly it is compacted, are all drawn from it;
 * what `fixed` names is not.
 */
export function drawHistory(format: Format, seed: number, fixed: ConversationOptions = {}): SoakHistory {
  const random = seededRandom(seed ^ 0x5f3759df);
  const options = { ...drawOptions(random), ...fixed };
  const utterances = generateUtterances(seed, options);
  const list = writeNativeList(format, utterances);
  // Writers go entry by entry, so the entries of the first utterances are the first entries.
  const ends = utterances.flatMap((utterance, index) => {
    const end = writeNativeList(format, utterances.slice(0, index + 1)).length;
    // A host may look while some of the results of a step are still to come.
    return utterance.type === "results" && end > 1 && random() < 0.5 ? [end - 1, end] : [end];
  });
  const count = 1 + Math.floor(random() * 5);
  const cuts = Array.from({ length: count - 1 }, () => ends[Math.floor(random() * ends.length)] ?? 1);
  const rounds = [...new Set([...cuts, list.length])].toSorted((a, b) => a - b);
  return { format, seed, options, list, rounds: rounds.map((end) => ({ end, ...drawLimits(random) })) };
}

/** A whole number from `from` to `to`. */
function between(random: () => number, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

function drawOptions(random: () => number): ConversationOptions {
  const chance = (share: number): boolean => random() < share;
  return {
    turns: between(random, 1, 9),
    parallelCalls: between(random, 1, 6),
    steps: between(random, 0, 5),
    ...(chance(0.3) ? { openSteps: chance(0.05) ? between(random, 20, 145) : between(random, 1, 12) } : {}),
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
    ...(chance(0.08) ? { giantWords: between(random, 200, 4000) } : {}),
  };
}

function drawLimits(random: () => number): Omit<SoakRound, "end"> {
  return {
    share: random() < 0.04 ? -random() : random() ** 1.5,
    ...(random() < 0.3 ? { aim: 0.2 + random() * 0.8 } : {}),
    onOverflow: random() < 0.75 ? "elide" : "error",
    policy: {
      ...(random() < 0.4 ? { keepRecentTurns: between(random, 1, 8) } : {}),
      ...(random() < 0.4 ? { keepToolIoPairs: between(random, 0, 10) } : {}),
      ...(random() < 0.15 ? { keepRecentMessages: between(random, 1, 20) } : {}),
      ...(random() < 0.3 ? { clearToolResults: false } : {}),
    },
  };
}
