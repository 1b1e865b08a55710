import type { CompactionResult, Message } from "compact-context";
import type { Settings } from "../settings.ts";

/** One compaction in the course of a session. */
export interface Round {
  /** The model call before which it happened, from 1. */
  readonly call: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly elapsedMs: number;
}

/** What is counted while the manager plays. */
export interface Tallied {
  readonly rounds: readonly Round[];
  /** Tokens of the largest request that was sent, and of the largest there would have been without compaction. */
  readonly mostSent: number;
  readonly mostRaw: number;
  /** Calls whose request was over the budget: as sent (must be 0), and as it would have been. */
  readonly overBudget: number;
  readonly rawOverBudget: number;
  /** Prompt tokens of all calls together, and those that a prefix cache had seen in the call before. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly rawPromptTokens: number;
  /** Milliseconds in calls that compacted, and in all preflights. */
  readonly compactionMs: number;
  readonly preflightMs: number;
}

export interface Tally {
  add(
    raw: readonly Message[],
    result: CompactionResult<Message>,
    played: { readonly call: number; readonly elapsedMs: number },
  ): void;
  sums(): Tallied;
}

/** Counts requests, rounds and times, call by call. */
export function createTally({ counter, fixedTokens, budget }: Settings): Tally {
  const rounds: Round[] = [];
  const sums = {
    mostSent: 0,
    mostRaw: 0,
    overBudget: 0,
    rawOverBudget: 0,
    promptTokens: 0,
    cachedTokens: 0,
    rawPromptTokens: 0,
    compactionMs: 0,
    preflightMs: 0,
  };
  let previous: readonly Message[] = [];
  const size = (messages: readonly Message[]): number =>
    messages.reduce((total, message) => total + counter.countMessage(message), fixedTokens);

  return {
    add(raw, { messages, report }, { call, elapsedMs }) {
      const sent = size(messages);
      const whole = size(raw);
      const known = commonPrefix(previous, messages);
      sums.mostSent = Math.max(sums.mostSent, sent);
      sums.mostRaw = Math.max(sums.mostRaw, whole);
      sums.overBudget += sent > budget ? 1 : 0;
      sums.rawOverBudget += whole > budget ? 1 : 0;
      sums.promptTokens += sent;
      sums.rawPromptTokens += whole;
      sums.cachedTokens += previous.length === 0 ? 0 : size(messages.slice(0, known));
      sums.preflightMs += elapsedMs;
      previous = messages;
      if (!report.compacted) return;
      const { tokensBefore, tokensAfter, messagesBefore, messagesAfter } = report;
      sums.compactionMs += elapsedMs;
      rounds.push({ call, tokensBefore, tokensAfter, messagesBefore, messagesAfter, elapsedMs });
    },
    sums: () => ({ ...sums, rounds }),
  };
}

/** How many of the first messages are the very same: an edited message is another object. */
function commonPrefix(before: readonly Message[], now: readonly Message[]): number {
  let length = 0;
  while (length < before.length && length < now.length && before[length] === now[length]) length += 1;
  return length;
}
