import type { CompactionResult, Message } from "compact-context";
import { contentHash } from "compact-context/internal/core/message";
import { isPinned } from "compact-context/internal/core/policy";
import { groupUnits, isUserSpeech, type Unit } from "compact-context/internal/core/units";
import type { Settings } from "../settings.ts";
import type { CacheSegment } from "./cache.ts";

/** One model call of the recorded session. */
interface RecordedCall extends CallTime {
  /** Number of the session's messages before it. */
  readonly end: number;
  /** Tokens of the recorded answer. */
  readonly outputTokens: number;
}

/** A recorded session prepared for replay: every policy plays the same lists, sizes and times. */
export interface RecordedSession {
  readonly messages: readonly Message[];
  readonly calls: readonly RecordedCall[];
  /** Units that are dropped as a whole, in order, without the pinned ones. */
  readonly droppable: readonly Unit[];
  /** System prompt and tool schemas: one segment, or none if the file has neither. */
  readonly fixed: readonly CacheSegment[];
  /** Leading segments of every request that no policy changes: `fixed` and the pinned messages after it. */
  readonly headLength: number;
  segmentOf(message: Message): CacheSegment;
  countText(text: string): number;
  readonly window: number;
  readonly budget: number;
}

/** Prepares a session's history for replay; `manyAgents` comes from its transcript. */
export function recordedSession(
  messages: readonly Message[],
  settings: Settings,
  manyAgents = false,
): RecordedSession {
  const { counter, fixedTokens, window, budget, config } = settings;
  const segments = new WeakMap<Message, CacheSegment>();
  const segmentOf = (message: Message): CacheSegment => {
    const known = segments.get(message);
    if (known !== undefined) return known;
    const tokens = counter.countMessage(message);
    const segment = { hash: contentHash(message), tokens, blocks: Math.max(1, message.parts.length) };
    segments.set(message, segment);
    return segment;
  };
  const pinned = messages.map((message) => isPinned(message, config.policy));
  const ends = callStarts(messages, manyAgents);
  const firstUnpinned = pinned.indexOf(false);
  const fixed = fixedTokens === 0 ? [] : [{ hash: "system and tools", tokens: fixedTokens, blocks: 1 }];
  const times = callTimes(messages, ends);
  return {
    messages,
    calls: times.map((time, number) => {
      const end = ends[number] ?? 0;
      return { ...time, end, outputTokens: answerTokens(messages.slice(end, ends[number + 1]), segmentOf) };
    }),
    droppable: groupUnits(messages).filter((unit) => !unit.indexes.some((index) => pinned[index])),
    fixed,
    headLength: fixed.length + (firstUnpinned < 0 ? messages.length : firstUnpinned),
    segmentOf,
    countText: (text) => counter.countText(text),
    window,
    budget,
  };
}

/** The end of each model call's prompt: before an assistant message that does not continue the previous answer. */
function callStarts(history: readonly Message[], manyAgents: boolean): number[] {
  return history.flatMap((message, index) => {
    const isAnswer = message.role === "assistant" && message.meta?.summaryVersion === undefined;
    const continues = !manyAgents && history[index - 1]?.role === "assistant";
    return index > 0 && isAnswer && !continues ? [index] : [];
  });
}

/** Tokens of the leading assistant messages between one call and the next. */
function answerTokens(messages: readonly Message[], segmentOf: (message: Message) => CacheSegment): number {
  let tokens = 0;
  for (const message of messages) {
    if (message.role !== "assistant") break;
    tokens += segmentOf(message).tokens;
  }
  return tokens;
}

/** Assumed seconds of a model call and its tools if the session has no timestamps. */
const CALL_SECONDS = 15;
/** Assumed seconds before a user message if the session has no timestamps. */
const USER_SECONDS = 120;

/** When a model call was made. */
interface CallTime {
  /** Seconds since the first call. */
  readonly time: number;
  /** True if the interval before it comes from the session's timestamps. */
  readonly recorded: boolean;
  /** True if the user sent a message since the previous call. */
  readonly opensTurn: boolean;
}

/**
 * The time of each call: that of the newest message before it; without timestamps 15 s after the previous call, and
 * 2 min more after a user message. It never decreases.
 */
export function callTimes(history: readonly Message[], ends: readonly number[]): CallTime[] {
  const times: CallTime[] = [];
  let before: number | undefined;
  /** Seconds to add to a timestamp. */
  let offset: number | undefined;
  for (const [number, end] of ends.entries()) {
    const added = history.slice(ends[number - 1] ?? 0, end);
    const opensTurn = added.some(opensATurn);
    const stamps = stampsOf(added);
    const stamp = stamps.length === 0 ? undefined : Math.max(...stamps) / 1000;
    const stamped = stamp === undefined || offset === undefined ? undefined : stamp + offset;
    const seconds = CALL_SECONDS + (opensTurn ? USER_SECONDS : 0);
    const time: number = Math.max(before ?? 0, stamped ?? (before === undefined ? 0 : before + seconds));
    if (stamp !== undefined) offset ??= time - stamp;
    times.push({ time, recorded: stamped !== undefined, opensTurn });
    before = time;
  }
  return times;
}

function opensATurn(message: Message): boolean {
  return isUserSpeech(message) && !message.parts.some((part) => part.type === "toolResult");
}

/** Timestamps of messages in milliseconds. */
export function stampsOf(messages: readonly Message[]): number[] {
  return messages.flatMap(({ meta }) => {
    const time = Date.parse(meta?.timestamp ?? "");
    return Number.isNaN(time) ? [] : [time];
  });
}

/** One compaction during a replay. */
export interface ReplayCompaction {
  /** The model call that it preceded, from 1. */
  readonly call: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly elapsedMs: number;
}

/** Counts of a replay, as `--json` has them; `Without` is what would have been sent without compaction. */
export type ReplayTotals = ReturnType<ReturnType<typeof createTotals>["sums"]>;

/** Receives the raw list of a call and what the manager made of it; `call` counts from 1. */
export type CallListener = (
  raw: readonly Message[],
  result: CompactionResult<Message>,
  played: { readonly call: number; readonly elapsedMs: number },
) => void;

/** Counts requests, compactions and times, call by call. */
export function createTotals({ counter, fixedTokens, budget }: Settings) {
  const rounds: ReplayCompaction[] = [];
  const sums = {
    /** Tokens of the largest request. */
    mostTokensSent: 0,
    mostTokensWithout: 0,
    /** Calls whose request exceeded the budget; 0 as sent unless something is wrong. */
    callsOverBudget: 0,
    callsOverBudgetWithout: 0,
    /** Prompt tokens of all calls, and those that repeat the previous call's prefix. */
    promptTokens: 0,
    cachedTokens: 0,
    promptTokensWithout: 0,
    /** Milliseconds of the preflights that compacted, and of all. */
    compactionMs: 0,
    preflightMs: 0,
  };
  let previous: readonly Message[] = [];
  const size = (messages: readonly Message[]): number =>
    messages.reduce((total, message) => total + counter.countMessage(message), fixedTokens);

  const add: CallListener = (raw, { messages, report }, { call, elapsedMs }) => {
    const sent = size(messages);
    const whole = size(raw);
    const repeated = commonPrefix(previous, messages);
    sums.mostTokensSent = Math.max(sums.mostTokensSent, sent);
    sums.mostTokensWithout = Math.max(sums.mostTokensWithout, whole);
    sums.callsOverBudget += sent > budget ? 1 : 0;
    sums.callsOverBudgetWithout += whole > budget ? 1 : 0;
    sums.promptTokens += sent;
    sums.promptTokensWithout += whole;
    sums.cachedTokens += previous.length === 0 ? 0 : size(messages.slice(0, repeated));
    sums.preflightMs += elapsedMs;
    previous = messages;
    if (!report.compacted) return;
    const { tokensBefore, tokensAfter, messagesBefore, messagesAfter } = report;
    sums.compactionMs += elapsedMs;
    rounds.push({ call, tokensBefore, tokensAfter, messagesBefore, messagesAfter, elapsedMs });
  };
  return {
    add,
    sums: () => ({
      ...sums,
      rounds,
      cachedShare: sums.cachedTokens / Math.max(1, sums.promptTokens),
      compactionMs: tenths(sums.compactionMs),
      preflightMs: tenths(sums.preflightMs),
    }),
  };
}

/** Length of the common prefix by object identity: an edited message is a new object. */
function commonPrefix(before: readonly Message[], now: readonly Message[]): number {
  let length = 0;
  while (length < before.length && length < now.length && before[length] === now[length]) length += 1;
  return length;
}

/** Rounded to a tenth. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
