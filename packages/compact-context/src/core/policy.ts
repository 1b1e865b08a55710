import { runAtOnce, type Steps } from "../errors.ts";
import { carriesCompaction, type Message, type Role } from "./message.ts";
import type { SummaryStrategy } from "./ports.ts";
import { groupInSteps, isUnderWay, latestUserMessage, turnStarts, type Unit } from "./units.ts";

/** When to compact and what stays. Counts are of turns, tool pairs or messages; `*Tokens` of tokens. */
export interface Policy {
  /** A ratio, despite its name: the share of the window at which a compaction starts, 0 to 1. */
  readonly triggerPct: number;
  /** Tokens of the window left free for the next user input and tool results. */
  readonly hardCapBuffer: number;
  /** Newest turns whose user messages and text answers stay unchanged; at least 1. */
  readonly keepRecentTurns: number;
  /** Newest tool calls that stay with their results; a parallel batch is kept whole. */
  readonly keepToolIoPairs: number;
  /** Newest messages that stay, whatever their kind; replaces `keepRecentTurns` when given. */
  readonly keepRecentMessages?: number;
  readonly rolesNeverPrune: readonly Role[];
  /** Absolute trigger, and ceiling of a compacted list. */
  readonly maxTokens?: number;
  /** Absolute trigger on the messages alone, system prompt and tools not counted. */
  readonly maxTokensBeforeSummary?: number;
  /** Trigger on the number of messages of the list. */
  readonly maxMessages?: number;
  /** Where a compaction aims: what it may drop stays, newest first, as long as it fits under this. */
  readonly targetContextTokens?: number;
  /** Empties old tool results that are kept beyond `keepToolIoPairs`. */
  readonly clearToolResults: boolean;
  /** With `clearToolResults`: long texts in the arguments of those calls as well. */
  readonly clearToolInputs?: boolean;
  /** Names of tools whose results are never emptied, and not cut by `maxToolResultTokens`. */
  readonly excludeTools?: readonly string[];
  /** Tool results of more tokens keep head and tail from the first time they are sent; no limit when left out. */
  readonly maxToolResultTokens?: number;
  /** Most bytes of a request on the wire, where media count as base64 and text by its length. */
  readonly maxRequestBytes: number;
  /** Share of the window at which a compaction starts when the provider's cache is cold anyway; never when left out. */
  readonly coldTriggerPct?: number;
  /** Share of the window at which a compaction is prepared beside the run, to be ready at the trigger; never when left out. */
  readonly backgroundTriggerPct?: number;
  /** Seconds after which the provider has forgotten a prefix that was not sent. */
  readonly cacheTtlSeconds: number;
  /**
   * Seconds before the provider's cache lapses at which a compaction is prepared, while a model that summarizes behind
   * the live conversation still reads it from the cache. The first call after the lapse takes it. For lists over
   * `coldTriggerPct`, or half of `triggerPct` without it. Never when left out.
   */
  readonly beforeCacheLapse?: number;
  /** What summaries are shaped for. */
  readonly strategy: SummaryStrategy;
  /** What happens when even the floor does not fit: an error, or oversized messages keep their head and tail. */
  readonly onOverflow: "error" | "elide";
}

export const defaultPolicy: Policy = Object.freeze<Policy>({
  triggerPct: 0.85,
  hardCapBuffer: 1500,
  keepRecentTurns: 6,
  keepToolIoPairs: 4,
  rolesNeverPrune: Object.freeze<Role[]>(["system", "developer"]),
  clearToolResults: true,
  // Gemini takes 20 MB inline, Anthropic 32 MB, OpenAI more: this fits all of them.
  maxRequestBytes: 20_000_000,
  // Anthropic's short cache; OpenAI keeps prefixes for 5 to 10 minutes without use.
  cacheTtlSeconds: 300,
  strategy: "task_state",
  onOverflow: "error",
});

export type TriggerReason =
  | "below_trigger"
  | "trigger_pct"
  | "max_tokens"
  | "max_tokens_before_summary"
  | "max_messages"
  | "hard_cap"
  | "manual"
  /** The model asked for it with its own tool. */
  | "requested"
  /** More bytes on the wire than `maxRequestBytes`. */
  | "max_bytes"
  /** Over `coldTriggerPct`, and the provider's cache is cold anyway. */
  | "cold_cache"
  /** A tool result over `maxToolResultTokens` is about to be sent for the first time. */
  | "tool_output"
  /** Over the trigger, but the last compaction is so recent that another would gain nothing. */
  | "just_compacted"
  /** Over the trigger, but the last compaction was undone, and the list has hardly grown since. */
  | "undone"
  /** Over the trigger, but all of it must stay. */
  | "nothing_eligible"
  /** Over the trigger, but it fits, and a background compaction is still running. */
  | "in_background"
  /** What is never pruned is over the trigger on its own: only the hard cap still triggers. */
  | "fixed_over_trigger"
  /** Over the trigger, but the last attempts failed: the next one waits until the list has grown. */
  | "attempts_failed";

export interface TriggerInput {
  readonly tokens: number;
  /** Tokens of the messages alone. */
  readonly messageTokens: number;
  readonly maxContextTokens: number;
  /** Messages of the list; 0 when left out. */
  readonly messages?: number;
  /** Bytes of the request on the wire; 0 when left out. */
  readonly bytes?: number;
  /** The provider's cache of the prefix has expired. */
  readonly cacheCold?: boolean;
  /** Tokens of the window that the answer may take. */
  readonly answerTokens?: number;
}

export interface TriggerDecision {
  readonly triggered: boolean;
  readonly reason: TriggerReason;
  readonly usagePct: number;
}

/** The first threshold that is reached decides; being equal to it counts as reached. */
export function decideTrigger(input: TriggerInput, policy: Policy): TriggerDecision {
  const usagePct = input.tokens / input.maxContextTokens;
  const reason = reachedThreshold(input, policy, usagePct);
  return { triggered: reason !== "below_trigger", reason, usagePct };
}

function reachedThreshold(input: TriggerInput, policy: Policy, usagePct: number): TriggerReason {
  if (usagePct >= policy.triggerPct) return "trigger_pct";
  if (policy.maxTokens !== undefined && input.tokens >= policy.maxTokens) return "max_tokens";
  if (policy.maxTokensBeforeSummary !== undefined && input.messageTokens >= policy.maxTokensBeforeSummary) {
    return "max_tokens_before_summary";
  }
  if ((input.messages ?? 0) >= (policy.maxMessages ?? Number.POSITIVE_INFINITY)) return "max_messages";
  if (input.tokens > availableOf(input.maxContextTokens, policy, input.answerTokens)) return "hard_cap";
  if ((input.bytes ?? 0) > policy.maxRequestBytes) return "max_bytes";
  return input.cacheCold === true && usagePct >= coldShare(policy) ? "cold_cache" : "below_trigger";
}

/** The share of the window at which a compaction starts while the cache is cold. */
export function coldShare({ coldTriggerPct, beforeCacheLapse, triggerPct }: Policy): number {
  return coldTriggerPct ?? (beforeCacheLapse === undefined ? Number.POSITIVE_INFINITY : triggerPct / 2);
}

/**
 * TOK-9. Most tokens a request may have: the window less the buffer or the room for the answer, whichever is larger,
 * and no more than `maxTokens` where that is set. `answerTokens` is the request's own output limit, 0 where it names
 * none or where the provider limits input apart from output.
 */
export function availableOf(maxContextTokens: number, policy: Policy, answerTokens = 0): number {
  const available = maxContextTokens - Math.max(policy.hardCapBuffer, answerTokens);
  return Math.min(available, policy.maxTokens ?? Number.POSITIVE_INFINITY);
}

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

/** What stays beside what the keep counts keep. */
export interface Stays {
  /** Index of the newest ask; -1 for none. */
  readonly ask?: number;
  readonly held?: ReadonlySet<Message>;
  readonly instructions?: ReadonlySet<Message>;
  /** That of the messages, where it is known. */
  readonly order?: Order;
}

/** What belongs together in a list, and where turns begin. */
export interface Order {
  readonly units: readonly Unit[];
  /** See `turnStarts`. */
  readonly starts: readonly number[];
}

function orderOf(messages: readonly Message[]): Order {
  return runAtOnce(orderInSteps(messages));
}

export function* orderInSteps(messages: readonly Message[]): Steps<Order> {
  const units = yield* groupInSteps(messages);
  yield;
  return { units, starts: turnStarts(messages) };
}

/**
 * Puts every message into exactly one layer; a unit is never split over kept and dropped. The newest ask, what is held,
 * an exchange that is still under way and the newest compaction of the provider's own always stay; an earlier summary of
 * ours never does, because its facts go into the next one.
 */
export function partition(
  messages: readonly Message[],
  keep: KeepCounts,
  { ask = latestUserMessage(messages), held, instructions, order = orderOf(messages) }: Stays = {},
): Partition {
  const { units, starts } = order;
  const recentFrom = recentBoundary(messages, starts, keep);
  const compaction = messages.findLastIndex(carriesCompaction);
  const needed = neededIndexes(messages, ask, held);
  const pairs = newestPairs(units, messages.length - 1, keep.keepToolIoPairs);
  const layers: Layer[] = new Array<Layer>(messages.length).fill("remainder");
  let toolPairs = 0;
  for (const unit of units) {
    const layer = layerOf(unit, messages, { keep, instructions, recentFrom, needed, compaction, pairs });
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

/** The newest ask, the provider's own newest compaction, and what is held. */
export function neededIndexes(
  messages: readonly Message[],
  ask: number,
  held: ReadonlySet<Message> | undefined,
): ReadonlySet<number> {
  const needed = new Set([ask, messages.findLastIndex(carriesCompaction)]);
  for (const message of held ?? []) needed.add(messages.indexOf(message));
  return needed;
}

interface LayerContext extends Pick<Stays, "instructions"> {
  readonly keep: KeepCounts;
  readonly recentFrom: number;
  readonly needed: ReadonlySet<number>;
  /** Index of the provider's own newest compaction, before which it reads nothing; -1 for none. */
  readonly compaction: number;
  readonly pairs: ReadonlySet<Unit>;
}

function layerOf(unit: Unit, messages: readonly Message[], context: LayerContext): Layer {
  const { keep, instructions, needed } = context;
  let [isSummary, isNeeded] = [false, false];
  for (const index of unit.indexes) {
    const message = messages[index] as Message;
    if (isPinned(message, keep) || instructions?.has(message) === true) return "pinned";
    isSummary ||= message.meta?.summaryVersion !== undefined;
    isNeeded ||= needed.has(index);
  }
  if (isSummary) return "remainder";
  if (isNeeded) return "recent";
  const newest = unit.indexes.at(-1) ?? 0;
  if (newest < context.compaction) return "remainder";
  if (unit.kind === "message") return newest >= context.recentFrom ? "recent" : "remainder";
  if (context.pairs.has(unit)) return "toolPairs";
  return context.keep.keepRecentMessages !== undefined && newest >= context.recentFrom
    ? "recent"
    : "remainder";
}

/** True for a message that must stay unchanged. Our own summary never is: the next one replaces it. */
export function isPinned({ meta, role }: Message, keep: Pick<Policy, "rolesNeverPrune">): boolean {
  if (meta?.protected === true) return true;
  return meta?.summaryVersion === undefined && keep.rolesNeverPrune.includes(role);
}

/** The index from which plain messages are recent. */
function recentBoundary(messages: readonly Message[], starts: readonly number[], keep: KeepCounts): number {
  if (keep.keepRecentMessages !== undefined) return messages.length - keep.keepRecentMessages;
  return starts.length > keep.keepRecentTurns ? (starts[starts.length - keep.keepRecentTurns] ?? 0) : 0;
}

/** The newest exchanges with at least `count` calls in all, and the open one. */
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

/**
 * FIT-1: the keep counts to try: the given ones, then alternately one turn and one tool pair less, down to one of each.
 * `keepRecentMessages` is halved in place of turns.
 */
export function* relaxations(keep: KeepCounts): Generator<KeepCounts> {
  const { keepRecentTurns, keepToolIoPairs, keepRecentMessages, rolesNeverPrune } = keep;
  let current: KeepCounts = { keepRecentTurns, keepToolIoPairs, keepRecentMessages, rolesNeverPrune };
  let turnNext = true;
  yield current;
  while (canGiveTurn(current) || current.keepToolIoPairs > 1) {
    if ((turnNext && canGiveTurn(current)) || current.keepToolIoPairs <= 1) current = giveTurn(current);
    else current = { ...current, keepToolIoPairs: current.keepToolIoPairs - 1 };
    turnNext = !turnNext;
    yield current;
  }
}

function canGiveTurn(keep: KeepCounts): boolean {
  return (keep.keepRecentMessages ?? keep.keepRecentTurns) > 1;
}

function giveTurn(keep: KeepCounts): KeepCounts {
  if (keep.keepRecentMessages === undefined) return { ...keep, keepRecentTurns: keep.keepRecentTurns - 1 };
  return { ...keep, keepRecentMessages: Math.floor(keep.keepRecentMessages / 2) };
}
