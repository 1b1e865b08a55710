import type { Message } from "compact-context";
import { applyEdit } from "compact-context/internal/core/edit";
import { toolResults } from "compact-context/internal/core/message";
import { type CacheSegment, tokensOf } from "./cache.ts";
import type { RecordedSession } from "./session.ts";

/** What a policy sends for one model call. */
export interface PlayedCall {
  readonly segments: readonly CacheSegment[];
  /** A model call of the policy's own, made before it. */
  readonly summarizing?: { readonly segments: readonly CacheSegment[]; readonly outputTokens: number };
}

/** Plays one session's calls in order; `end` is how many messages stand before the call. */
type PlayPolicy = (end: number) => PlayedCall;

/** Policies that others use, to be played on the same lists with the same budget. */
export const RIVALS = { trim, mask, summarize, none } as const;

/** The raw list, whatever its size. */
function none(session: RecordedSession): PlayPolicy {
  const messages = keepAll(session);
  return (end) => ({ segments: messages.segments(end) });
}

/** Each time the list would overflow the budget, the oldest exchanges and messages go until it fits. */
function trim(session: RecordedSession): PlayPolicy {
  return trimming(keepAll(session), session);
}

function trimming(messages: DroppingView, { budget }: RecordedSession): PlayPolicy {
  return (end) => {
    messages.dropUntil(end, budget);
    return { segments: messages.segments(end) };
  };
}

/** Tool results that stay readable. */
const RESULTS_KEPT = 10;

/** All tool results but the newest ten are cleared, at every call; what then still overflows is trimmed. */
function mask(session: RecordedSession): PlayPolicy {
  const resultsUpTo: number[] = [];
  for (const message of session.messages)
    resultsUpTo.push((resultsUpTo.at(-1) ?? 0) + toolResults(message).length);
  const cleared = new Map<Message, CacheSegment>();
  const view = droppingView(session, (message, index, end) => {
    const newer = (resultsUpTo[end - 1] ?? 0) - (resultsUpTo[index] ?? 0);
    if (newer < RESULTS_KEPT) return session.segmentOf(message);
    const known = cleared.get(message);
    if (known !== undefined) return known;
    const segment = session.segmentOf(applyEdit(message, { clear: true }, session));
    cleared.set(message, segment);
    return segment;
  });
  return trimming(view, session);
}

/** Shares of the window: over the first a summary is written, down to the second. */
const SUMMARIZE = { above: 0.5, downTo: 0.25 };
/** A summary's tokens: 2 % of the window, within these bounds, and never more than a tenth of it. */
const SUMMARY = { share: 0.02, least: 1200, most: 4000, mostShare: 0.1 };
const INSTRUCTION: CacheSegment = { hash: "summarize this", tokens: 300, blocks: 1 };

/**
 * Whenever the request is over half of the window, the oldest exchanges and messages go until a quarter is
 * left, and the same model turns them and the summary before into a new one, in a call of its own.
 */
function summarize(session: RecordedSession): PlayPolicy {
  const { window } = session;
  const bounded = Math.min(SUMMARY.most, Math.max(SUMMARY.least, window * SUMMARY.share));
  const outputTokens = Math.round(Math.min(bounded, window * SUMMARY.mostShare));
  const messages = keepAll(session);
  let summary: readonly CacheSegment[] = [];
  let rounds = 0;
  return (end) => {
    const standing = messages.tokens(end) + tokensOf(summary);
    const dropped =
      standing > window * SUMMARIZE.above
        ? messages.dropUntil(end, window * SUMMARIZE.downTo - outputTokens)
        : [];
    if (dropped.length === 0) return { segments: messages.segments(end, summary) };
    const folded = [INSTRUCTION, ...summary, ...dropped];
    rounds += 1;
    summary = [{ hash: `summary ${rounds}`, tokens: outputTokens, blocks: 1 }];
    return {
      segments: messages.segments(end, summary),
      summarizing: { segments: folded, outputTokens },
    };
  };
}

/** The messages before a call that were not dropped. */
interface DroppingView {
  /** Tokens of the whole request. */
  tokens(end: number): number;
  /** The request; `inserted` stands before the first message that could have been dropped. */
  segments(end: number, inserted?: readonly CacheSegment[]): CacheSegment[];
  /**
   * Drops the oldest exchanges and messages for good until the request has no more than `most` tokens, or only
   * the newest and the pinned are left; gives back what went.
   */
  dropUntil(end: number, most: number): CacheSegment[];
}

type Show = (message: Message, index: number, end: number) => CacheSegment;

const keepAll = (session: RecordedSession): DroppingView => droppingView(session, session.segmentOf);

function droppingView(session: RecordedSession, show: Show): DroppingView {
  const { messages, droppable, fixed } = session;
  const dropped = new Set<number>();
  const first = droppable[0]?.indexes[0] ?? messages.length;
  let next = 0;
  const shown = (from: number, to: number, end: number): CacheSegment[] =>
    messages.slice(from, to).flatMap((message, offset) => {
      const index = from + offset;
      return dropped.has(index) ? [] : [show(message, index, end)];
    });
  const tokens = (end: number): number => tokensOf(fixed) + tokensOf(shown(0, end, end));
  return {
    tokens,
    segments: (end, inserted = []) => {
      const head = Math.min(first, end);
      return [...fixed, ...shown(0, head, end), ...inserted, ...shown(head, end, end)];
    },
    dropUntil: (end, most) => {
      const gone: CacheSegment[] = [];
      for (let total = tokens(end); total > most; next += 1) {
        const unit = droppable[next];
        if (unit === undefined || (unit.indexes.at(-1) ?? 0) >= end - 1) break;
        const leaving = unit.indexes.flatMap((index) => shown(index, index + 1, end));
        for (const index of unit.indexes) dropped.add(index);
        total -= tokensOf(leaving);
        gone.push(...leaving);
      }
      return gone;
    },
  };
}
