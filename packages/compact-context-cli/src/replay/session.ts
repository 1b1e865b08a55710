import type { Message } from "compact-context";
import { contentHash } from "compact-context/internal/core/message";
import { isPinned } from "compact-context/internal/core/policy";
import { groupUnits, type Unit } from "compact-context/internal/core/units";
import type { Settings } from "../settings.ts";
import type { CacheSegment } from "./cache.ts";
import { type CallTime, callTimes } from "./clock.ts";

/** One model call of the recorded session. */
export interface RecordedCall extends CallTime {
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

/** Prepares a session's whole history for being played. */
export function recordedSession(messages: readonly Message[], settings: Settings): RecordedSession {
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
  const ends = callStarts(messages);
  const firstLoose = pinned.indexOf(false);
  const fixed = fixedTokens === 0 ? [] : [{ hash: "system and tools", tokens: fixedTokens, blocks: 1 }];
  const times = callTimes(messages, ends);
  return {
    messages,
    calls: times.map((time, number) => {
      const end = ends[number] ?? 0;
      return { ...time, end, outputTokens: answerTokens(messages, end, segmentOf) };
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

/** Where each model call's prompt ends: before an assistant message that does not follow another. */
function callStarts(history: readonly Message[]): number[] {
  return history.flatMap((message, index) => {
    const answers = message.role === "assistant" && message.meta?.summaryVersion === undefined;
    return index > 0 && answers && history[index - 1]?.role !== "assistant" ? [index] : [];
  });
}

function answerTokens(
  messages: readonly Message[],
  start: number,
  segmentOf: (message: Message) => CacheSegment,
): number {
  let tokens = 0;
  for (let index = start; messages[index]?.role === "assistant"; index += 1) {
    const message = messages[index];
    if (message !== undefined) tokens += segmentOf(message).tokens;
  }
  return tokens;
}
