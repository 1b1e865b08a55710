import type { Message } from "compact-context";
import { applyEdit } from "compact-context/internal/core/edit";
import { toolResults } from "compact-context/internal/core/message";
import { type CacheSegment, tokensOf } from "./cache.ts";
import type { RecordedSession } from "./session.ts";

/** What a policy sends for one model call. */
export interface PlayedCall {
  readonly segments: readonly CacheSegment[];
  /** The model call that writes the policy's summary first. */
  readonly summarizing?: { readonly segments: readonly CacheSegment[]; readonly outputTokens: number };
}

/** Plays one session's calls in order; `end` is the number of messages before the call. */
type PlayPolicy = (end: number) => PlayedCall;

/** Common policies of other tools, played on the same lists with the same budget. */
export const BASELINES = { trim, mask, summarize, none } as const;

/** The raw list, whatever its size. */
function none(session: RecordedSession): PlayPolicy {
  const messages = droppableList(session);
  return (end) => ({ segments: messages.segments(end) });
}

/** Drops the oldest exchanges and messages until the list fits the budget. */
function trim(session: RecordedSession, messages: DroppableList = droppableList(session)): PlayPolicy {
  return (end) => {
    messages.dropUntil(end, session.budget);
    return { segments: messages.segments(end) };
  };
}

/** Tool results that are not cleared. */
const RESULTS_KEPT = 10;

/** Clears all tool results but the newest ten at every call, then trims what still overflows. */
function mask(session: RecordedSession): PlayPolicy {
  const resultsUpTo: number[] = [];
  for (const message of session.messages)
    resultsUpTo.push((resultsUpTo.at(-1) ?? 0) + toolResults(message).length);
  const cleared = new Map<Message, CacheSegment>();
  const list = droppableList(session, (message, index, end) => {
    const newer = (resultsUpTo[end - 1] ?? 0) - (resultsUpTo[index] ?? 0);
    if (newer < RESULTS_KEPT) return session.segmentOf(message);
    const known = cleared.get(message);
    if (known !== undefined) return known;
    const segment = session.segmentOf(applyEdit(message, { clear: true }, { counter: session }));
    cleared.set(message, segment);
    return segment;
  });
  return trim(session, list);
}

/** Shares of the window: above the first a summary is written, down to the second. */
const SUMMARIZE = { above: 0.5, downTo: 0.25 };
/** Tokens of a summary: 2 % of the window, clamped, and never more than a tenth of the window. */
const SUMMARY = { share: 0.02, min: 1200, max: 4000, maxShare: 0.1 };
const INSTRUCTION: CacheSegment = { hash: "summarize this", tokens: 300, blocks: 1 };

/**
 * When the request exceeds half of the window, drops the oldest exchanges and messages down to a quarter. The same
 * model merges them and the previous summary into a new one, in an extra call.
 */
function summarize(session: RecordedSession): PlayPolicy {
  const { window } = session;
  const bounded = Math.min(SUMMARY.max, Math.max(SUMMARY.min, window * SUMMARY.share));
  const outputTokens = Math.round(Math.min(bounded, window * SUMMARY.maxShare));
  const messages = droppableList(session);
  let summary: readonly CacheSegment[] = [];
  let version = 0;
  return (end) => {
    const current = messages.tokens(end) + tokensOf(summary);
    const isOver = current > window * SUMMARIZE.above;
    const dropped = isOver ? messages.dropUntil(end, window * SUMMARIZE.downTo - outputTokens) : [];
    if (dropped.length === 0) return { segments: messages.segments(end, summary) };
    const summarizing = { segments: [INSTRUCTION, ...summary, ...dropped], outputTokens };
    version += 1;
    summary = [{ hash: `summary ${version}`, tokens: outputTokens, blocks: 1 }];
    return { segments: messages.segments(end, summary), summarizing };
  };
}

/** A session's messages without those that were dropped. */
interface DroppableList {
  /** Tokens of the whole request. */
  tokens(end: number): number;
  /** The request; `inserted` goes before the first droppable message. */
  segments(end: number, inserted?: readonly CacheSegment[]): CacheSegment[];
  /**
   * Drops the oldest exchanges and messages for good until the request has at most `maxTokens`, or only the newest and
   * the pinned are left. Returns what was dropped.
   */
  dropUntil(end: number, maxTokens: number): CacheSegment[];
}

function droppableList(
  session: RecordedSession,
  segmentOf: (message: Message, index: number, end: number) => CacheSegment = session.segmentOf,
): DroppableList {
  const { messages, droppable, fixed } = session;
  const dropped = new Set<number>();
  const first = droppable[0]?.indexes[0] ?? messages.length;
  let next = 0;
  const shown = (from: number, to: number, end: number): CacheSegment[] =>
    messages.slice(from, to).flatMap((message, offset) => {
      const index = from + offset;
      return dropped.has(index) ? [] : [segmentOf(message, index, end)];
    });
  const tokens = (end: number): number => tokensOf(fixed) + tokensOf(shown(0, end, end));
  return {
    tokens,
    segments: (end, inserted = []) => {
      const head = Math.min(first, end);
      return [...fixed, ...shown(0, head, end), ...inserted, ...shown(head, end, end)];
    },
    dropUntil: (end, maxTokens) => {
      const removed: CacheSegment[] = [];
      for (let total = tokens(end); total > maxTokens; next += 1) {
        const unit = droppable[next];
        if (unit === undefined || (unit.indexes.at(-1) ?? 0) >= end - 1) break;
        const leaving = unit.indexes.flatMap((index) => shown(index, index + 1, end));
        for (const index of unit.indexes) dropped.add(index);
        total -= tokensOf(leaving);
        removed.push(...leaving);
      }
      return removed;
    },
  };
}
