import { groupUnits, type Unit } from "../messages/exchanges.ts";
import type { Message } from "../messages/message.ts";
import { carriesCompaction } from "../messages/native-compaction.ts";
import { newestAsk, turnStarts } from "../messages/turns.ts";
import type { Policy } from "./policy.ts";

/** The four parts of a partition; only the remainder may be dropped. */
export type Layer = "pinned" | "recent" | "toolPairs" | "remainder";

export interface Partition {
  /** One layer per message, by index. */
  readonly layers: readonly Layer[];
  readonly units: readonly Unit[];
  /** What is in each layer: messages for `pinned` and `remainder`, turns, tool pairs. */
  readonly counts: {
    readonly pinned: number;
    readonly recentTurns: number;
    readonly toolPairs: number;
    readonly remainder: number;
  };
}

export type KeepCounts = Pick<
  Policy,
  "keepRecentTurns" | "keepToolIoPairs" | "keepRecentMessages" | "rolesNeverPrune"
>;

/**
 * Puts every message into exactly one layer; a unit is never split over kept and dropped. The newest ask (the message
 * at `ask`; -1 for none), an exchange that is still under way and the newest compaction of the provider's own always stay; an earlier summary
 * of ours never does, because its facts go into the next one.
 */
export function partition(
  messages: readonly Message[],
  keep: KeepCounts,
  ask: number = newestAsk(messages),
): Partition {
  const units = groupUnits(messages);
  const starts = turnStarts(messages);
  const recentFrom = recentBoundary(messages, starts, keep);
  const compaction = messages.findLastIndex(carriesCompaction);
  const needed = new Set([ask, compaction]);
  const pairs = newestPairs(units, messages.length - 1, keep.keepToolIoPairs);
  const layers: Layer[] = new Array<Layer>(messages.length).fill("remainder");
  let toolPairs = 0;
  for (const unit of units) {
    const layer = layerOf(unit, messages, { keep, recentFrom, needed, compaction, pairs });
    if (layer === "toolPairs" || (layer === "recent" && unit.kind === "exchange")) toolPairs += unit.calls;
    for (const index of unit.indexes) layers[index] = layer;
  }
  return {
    layers,
    units,
    counts: {
      pinned: layers.filter((layer) => layer === "pinned").length,
      recentTurns: starts.filter((start) => start >= recentFrom).length,
      toolPairs,
      remainder: layers.filter((layer) => layer === "remainder").length,
    },
  };
}

interface LayerContext {
  readonly keep: KeepCounts;
  readonly recentFrom: number;
  readonly needed: ReadonlySet<number>;
  /** The newest compaction of the provider's own, which reads nothing before it; -1 without one. */
  readonly compaction: number;
  readonly pairs: ReadonlySet<Unit>;
}

function layerOf(unit: Unit, messages: readonly Message[], context: LayerContext): Layer {
  const members = unit.indexes.map((index) => messages[index]).filter((message) => message !== undefined);
  if (members.some((message) => isPinned(message, context.keep))) return "pinned";
  if (members.some((message) => message.meta?.summaryVersion !== undefined)) return "remainder";
  if (unit.indexes.some((index) => context.needed.has(index))) return "recent";
  const newest = unit.indexes.at(-1) ?? 0;
  if (newest < context.compaction) return "remainder";
  if (unit.kind === "message") return newest >= context.recentFrom ? "recent" : "remainder";
  if (context.pairs.has(unit)) return "toolPairs";
  return context.keep.keepRecentMessages !== undefined && newest >= context.recentFrom
    ? "recent"
    : "remainder";
}

/** True for a message that must stay unchanged and may never reach a summarizer. */
export function isPinned(message: Message, keep: Pick<Policy, "rolesNeverPrune">): boolean {
  return message.meta?.protected === true || keep.rolesNeverPrune.includes(message.role);
}

/** The index from which plain messages are recent. */
function recentBoundary(messages: readonly Message[], starts: readonly number[], keep: KeepCounts): number {
  if (keep.keepRecentMessages !== undefined) return messages.length - keep.keepRecentMessages;
  return starts.length > keep.keepRecentTurns ? (starts[starts.length - keep.keepRecentTurns] ?? 0) : 0;
}

/** True for an exchange that waits for results and ends the list: without it they would have no call. */
export function isUnderWay(unit: Unit, last: number): boolean {
  return unit.open > 0 && unit.indexes.includes(last);
}

/** The newest exchanges with at least `count` calls between them, and the one still under way. */
function newestPairs(units: readonly Unit[], last: number, count: number): Set<Unit> {
  const kept = new Set<Unit>();
  let calls = 0;
  for (const unit of units.filter((candidate) => candidate.kind === "exchange").toReversed()) {
    if (!isUnderWay(unit, last) && calls >= count) break;
    kept.add(unit);
    calls += unit.calls;
  }
  return kept;
}
