import type { CompactionResult, Message } from "compact-context";
import { contentHash } from "compact-context/internal/core/message";
import { isPinned } from "compact-context/internal/core/policy";
import { groupUnits, isUserSpeech, type Unit } from "compact-context/internal/core/units";
import type { Settings } from "../settings.ts";
import type { CacheSegment } from "./cache.ts";

/** One model call of the recorded session. */
interface RecordedCall extends CallTime {
  /** How many of the session's messages stand before it. */
  readonly end: number;
  /** Tokens of the recorded answer. */
  readonly outputTokens: number;
}

/** A recorded session as every policy is given it: the same lists, sizes and times. */
export interface RecordedSession {
  readonly messages: readonly Message[];
  readonly calls: readonly RecordedCall[];
  /** What is dropped together or not at all, in order; the pinned ones are not in it. */
  readonly droppable: readonly Unit[];
  /** System prompt and tool schemas: one segment, or none where the file has neither. */
  readonly fixed: readonly CacheSegment[];
  /** Segments at the front of every request that no policy touches: `fixed` and the pinned messages behind it. */
  readonly headLength: number;
  segmentOf(message: Message): CacheSegment;
  countText(text: string): number;
  readonly window: number;
  readonly budget: number;
}

/** Prepares a session's whole history for being played; `manyAgents` as a transcript says it. */
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
  const firstLoose = pinned.indexOf(false);
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
    headLength: fixed.length + (firstLoose < 0 ? messages.length : firstLoose),
    segmentOf,
    countText: (text) => counter.countText(text),
    window,
    budget,
  };
}

/** Where each model call's prompt ends: before an assistant message that is no more of the answer before it. */
function callStarts(history: readonly Message[], manyAgents: boolean): number[] {
  return history.flatMap((message, index) => {
    const answers = message.role === "assistant" && message.meta?.summaryVersion === undefined;
    const goesOn = !manyAgents && history[index - 1]?.role === "assistant";
    return index > 0 && answers && !goesOn ? [index] : [];
  });
}

/** Of what stands from one call to the next, the assistant messages at its beginning. */
function answerTokens(messages: readonly Message[], segmentOf: (message: Message) => CacheSegment): number {
  let tokens = 0;
  for (const message of messages) {
    if (message.role !== "assistant") break;
    tokens += segmentOf(message).tokens;
  }
  return tokens;
}

/** Seconds that a model call and its tools take where the session does not say. */
const CALL_SECONDS = 15;
/** Seconds that pass before a user speaks, where the session does not say. */
const USER_SECONDS = 120;

/** When a model call was made. */
interface CallTime {
  /** Seconds since the first call. */
  readonly time: number;
  /** True when the interval before it comes from the session's own time stamps. */
  readonly recorded: boolean;
  /** True when a user spoke since the call before. */
  readonly opensTurn: boolean;
}

/**
 * The clock of a session: a call is made when the newest message before it was, by its time stamp; without one
 * 15 s after the call before, and 2 min later when a user speaks first. It never runs backwards.
 */
export function callTimes(history: readonly Message[], ends: readonly number[]): CallTime[] {
  const times: CallTime[] = [];
  let before: number | undefined;
  /** Seconds of our clock when the time stamps' clock was at zero. */
  let offset: number | undefined;
  for (const [number, end] of ends.entries()) {
    const added = history.slice(ends[number - 1] ?? 0, end);
    const opensTurn = added.some(opensATurn);
    const stamps = stampsOf(added);
    const stamp = stamps.length === 0 ? undefined : Math.max(...stamps) / 1000;
    const stamped = stamp === undefined || offset === undefined ? undefined : stamp + offset;
    const time: number = Math.max(before ?? 0, stamped ?? expectedTime(before, opensTurn));
    if (stamp !== undefined) offset ??= time - stamp;
    times.push({ time, recorded: stamped !== undefined, opensTurn });
    before = time;
  }
  return times;
}

function expectedTime(before: number | undefined, opensTurn: boolean): number {
  if (before === undefined) return 0;
  return before + CALL_SECONDS + (opensTurn ? USER_SECONDS : 0);
}

function opensATurn(message: Message): boolean {
  return isUserSpeech(message) && !message.parts.some((part) => part.type === "toolResult");
}

/** The times that messages say, in milliseconds. */
export function stampsOf(messages: readonly Message[]): number[] {
  return messages.flatMap(({ meta }) => {
    const time = Date.parse(meta?.timestamp ?? "");
    return Number.isNaN(time) ? [] : [time];
  });
}

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

interface Tally {
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
