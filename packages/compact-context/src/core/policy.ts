import { runAtOnce, type Steps } from "../errors.ts";
import { carriesCompaction, type Format, type Message, type Role } from "./message.ts";
import type { SummaryStrategy, TokenCounter } from "./ports.ts";
import { groupInSteps, isUnderWay, latestUserMessage, turnStarts, type Unit } from "./units.ts";

/** When to compact and what to keep. Counts are in turns, tool pairs or messages; `*Tokens` in tokens. */
export interface Policy {
  /** A ratio, despite its name: the share of the window, 0 to 1, at which a compaction starts. */
  readonly triggerPct: number;
  /** Tokens of the window kept free for the next user input and tool results. */
  readonly hardCapBuffer: number;
  /** Number of latest turns whose user messages and text answers stay unchanged; at least 1. */
  readonly keepRecentTurns: number;
  /** Number of latest tool calls that stay with their results; a parallel batch is kept whole. */
  readonly keepToolIoPairs: number;
  /** Number of latest messages of any kind that stay; replaces `keepRecentTurns` if set. */
  readonly keepRecentMessages?: number;
  readonly rolesNeverPrune: readonly Role[];
  /** Absolute trigger, and upper limit of a compacted list. */
  readonly maxTokens?: number;
  /** Absolute trigger on the messages alone, without system prompt and tools. */
  readonly maxTokensBeforeSummary?: number;
  /** Trigger on the number of messages in the list. */
  readonly maxMessages?: number;
  /** Target of a compaction: removable messages stay, newest first, while they fit below it. */
  readonly targetContextTokens?: number;
  /** Clears old tool results that are kept beyond `keepToolIoPairs`. */
  readonly clearToolResults: boolean;
  /** With `clearToolResults`: also clears long texts in the arguments of those calls. */
  readonly clearToolInputs?: boolean;
  /** Tools whose results are never cleared and not truncated by `maxToolResultTokens`. */
  readonly excludeTools?: readonly string[];
  /** Larger tool results are truncated to head and tail before they are first sent. Default: no limit. */
  readonly maxToolResultTokens?: number;
  /** Maximum bytes of a request on the wire; media count as base64, text by its length. */
  readonly maxRequestBytes: number;
  /**
   * Share of the window at which a compaction starts if the provider's cache is cold anyway. Default: never.
   */
  readonly coldTriggerPct?: number;
  /**
   * Share of the window at which a compaction is prepared in the background, to be ready at the trigger.
   * Default: never.
   */
  readonly backgroundTriggerPct?: number;
  /** Seconds after which the provider evicts an unused prefix from its cache. */
  readonly cacheTtlSeconds: number;
  /**
   * Seconds before the provider's cache expires at which a compaction is prepared, while a model that
   * continues the live conversation still reads it from the cache. Applied by the first call after the
   * expiry. For lists over `coldTriggerPct`, or over half of `triggerPct` if that is not set. Default: never.
   */
  readonly beforeCacheLapse?: number;
  /** Purpose that summaries are written for. */
  readonly strategy: SummaryStrategy;
  /** If even the floor does not fit: throw an error, or truncate oversized messages to head and tail. */
  readonly onOverflow: "error" | "elide";
}

export const defaultPolicy: Policy = Object.freeze<Policy>({
  triggerPct: 0.85,
  hardCapBuffer: 1500,
  keepRecentTurns: 6,
  keepToolIoPairs: 4,
  rolesNeverPrune: Object.freeze<Role[]>(["system", "developer"]),
  clearToolResults: true,
  // Gemini accepts 20 MB inline, Anthropic 32 MB, OpenAI more; this fits all of them.
  maxRequestBytes: 20_000_000,
  // Anthropic's short cache; OpenAI keeps unused prefixes for 5 to 10 minutes.
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
  /** The model requested it with its tool. */
  | "requested"
  /** More bytes on the wire than `maxRequestBytes`. */
  | "max_bytes"
  /** More images than the provider accepts in one request. */
  | "max_images"
  /** Over `coldTriggerPct` while the provider's cache is cold anyway. */
  | "cold_cache"
  /** A tool result over `maxToolResultTokens` is about to be sent for the first time. */
  | "tool_output"
  /** Over the trigger, but the last compaction is so recent that another would gain nothing. */
  | "just_compacted"
  /** Over the trigger, but the last compaction was undone, and the list has hardly grown since. */
  | "undone"
  /** Over the trigger, but everything must stay. */
  | "nothing_eligible"
  /** Over the trigger, but the list fits, and a background compaction is still running. */
  | "in_background"
  /** Content that is never pruned exceeds the trigger by itself: only the hard cap still triggers. */
  | "fixed_over_trigger"
  /** Over the trigger, but the last attempts failed: the next one waits until the list has grown. */
  | "attempts_failed";

export interface TriggerInput {
  readonly tokens: number;
  /** Tokens of the messages alone. */
  readonly messageTokens: number;
  readonly maxContextTokens: number;
  /** Messages in the list. Default: 0. */
  readonly messages?: number;
  /** Bytes of the request on the wire. Default: 0. */
  readonly bytes?: number;
  /** More images than the provider accepts. */
  readonly manyImages?: boolean;
  /** The provider's cache of the prefix has expired. */
  readonly cacheCold?: boolean;
  /** Tokens of the window reserved for the answer. */
  readonly answerTokens?: number;
}

export interface TriggerDecision {
  readonly triggered: boolean;
  readonly reason: TriggerReason;
}

/** Claude's image limits: per request, and per request to a model with a window of up to `SMALL_WINDOW`. */
export const MOST_IMAGES = 600;
export const MOST_IMAGES_OF_SMALL = 100;
export const SMALL_WINDOW = 200_000;

/** Maximum images of a request in this format. */
export function mostImages(format: Format | undefined, maxContextTokens: number): number {
  if (format !== "anthropic") return Number.POSITIVE_INFINITY;
  return maxContextTokens > SMALL_WINDOW ? MOST_IMAGES : MOST_IMAGES_OF_SMALL;
}

/** The first threshold that is reached decides; equality counts as reached. */
export function decideTrigger(input: TriggerInput, policy: Policy): TriggerDecision {
  const reason = reachedThreshold(input, policy);
  return { triggered: reason !== "below_trigger", reason };
}

function reachedThreshold(input: TriggerInput, policy: Policy): TriggerReason {
  const usagePct = input.tokens / input.maxContextTokens;
  if (usagePct >= policy.triggerPct) return "trigger_pct";
  if (policy.maxTokens !== undefined && input.tokens >= policy.maxTokens) return "max_tokens";
  if (policy.maxTokensBeforeSummary !== undefined && input.messageTokens >= policy.maxTokensBeforeSummary) {
    return "max_tokens_before_summary";
  }
  if ((input.messages ?? 0) >= (policy.maxMessages ?? Number.POSITIVE_INFINITY)) return "max_messages";
  if (input.tokens > availableOf(input.maxContextTokens, policy, input.answerTokens)) return "hard_cap";
  if ((input.bytes ?? 0) > policy.maxRequestBytes) return "max_bytes";
  if (input.manyImages === true) return "max_images";
  return input.cacheCold === true && usagePct >= coldShare(policy) ? "cold_cache" : "below_trigger";
}

/** An automatic compaction waits until the list has grown by this share of the window since the last one. */
const MIN_GROWTH = 0.05;
/** Failed attempts double the wait up to this share of the window. */
const MAX_GROWTH = 0.4;

/** What came since the last compaction. */
export interface Growth {
  readonly tokens: number;
  /** Tokens that the last compaction left; undefined if there was none. */
  readonly tokensAfter: number | undefined;
  readonly addedMessages: number;
  /** The last compaction was undone. */
  readonly undone: boolean;
  /** Attempts that failed in a row, and the list's tokens at the last one. */
  readonly stall:
    | { readonly tokens: number; readonly attempts: number; readonly reason: TriggerReason }
    | undefined;
  /** Tokens that no compaction removes. */
  readonly fixedTokens: number;
}

/** Whether a list has grown enough since the last compaction for another one to gain anything. */
export function hasGrown(tokens: number, tokensAfter: number | undefined, maxContextTokens: number): boolean {
  if (tokensAfter === undefined || tokens < tokensAfter) return true;
  return tokens - tokensAfter >= MIN_GROWTH * maxContextTokens;
}

/** The reason why a list that reached the threshold `reached` but fits is sent unchanged. */
export function heldBack(
  reached: TriggerReason,
  { tokens, tokensAfter, addedMessages, undone, stall, fixedTokens }: Growth,
  policy: Policy,
  maxContextTokens: number,
): TriggerReason | undefined {
  const byCount = reached === "max_messages" && !undone && tokensAfter !== undefined;
  const grown = byCount
    ? addedMessages >= MIN_GROWTH * (policy.maxMessages ?? 1)
    : hasGrown(tokens, tokensAfter, maxContextTokens);
  if (!grown) return undone ? "undone" : "just_compacted";
  if (stall !== undefined && stall.attempts > 1 && tokens >= stall.tokens) {
    const wait = Math.min(MAX_GROWTH, MIN_GROWTH * 2 ** (stall.attempts - 2));
    if (tokens - stall.tokens < wait * maxContextTokens) return stall.reason;
  }
  const share = reached === "trigger_pct" ? policy.triggerPct : undefined;
  const threshold = reached === "cold_cache" ? coldShare(policy) : share;
  const hopeless = threshold !== undefined && fixedTokens >= threshold * maxContextTokens;
  return hopeless ? "fixed_over_trigger" : undefined;
}

/** The share of the window at which a compaction starts while the cache is cold. */
export function coldShare({ coldTriggerPct, beforeCacheLapse, triggerPct }: Policy): number {
  return coldTriggerPct ?? (beforeCacheLapse === undefined ? Number.POSITIVE_INFINITY : triggerPct / 2);
}

/**
 * TOK-9. Maximum tokens of a request: the window minus the buffer or the room for the answer, whichever is
 * larger, and at most `maxTokens` if set. `answerTokens` is the request's own output limit; 0 if it has none
 * or if the provider limits input separately from output.
 */
export function availableOf(maxContextTokens: number, policy: Policy, answerTokens = 0): number {
  const available = maxContextTokens - Math.max(policy.hardCapBuffer, answerTokens);
  return Math.min(available, policy.maxTokens ?? Number.POSITIVE_INFINITY);
}

/** Media and unreadable reasoning can cost as little as half of their estimate. */
const UNCERTAIN_LOW = 0.5;

/**
 * Lower bound of a request's cost: exact counts plus the low end of the range of the estimates. Reported
 * usage can raise an estimate without limit but never lowers it below this.
 */
export function leastTokens(tokens: number, uncertain: number, counter: TokenCounter): number {
  const doubtful = Math.min(uncertain, tokens);
  return counter.range(tokens - doubtful).low + Math.floor(doubtful * UNCERTAIN_LOW);
}

/** The settings that a request of `tokens` is over, each with the least value that would let it pass. */
export function limitsBelow(
  tokens: number,
  maxContextTokens: number,
  policy: Policy,
  answerTokens = 0,
): string {
  const window = tokens + Math.max(policy.hardCapBuffer, answerTokens);
  const limits: string[] = [];
  if ((policy.maxTokens ?? tokens) < tokens) limits.push(`policy.maxTokens to ${tokens} tokens or more`);
  if (maxContextTokens < window) limits.push(`the context limit to ${window} tokens or more`);
  return limits.join(" and ");
}

/** The four layers of a partition; only the remainder can be dropped. */
export type Layer = "pinned" | "recent" | "toolPairs" | "remainder";

export interface Partition {
  /** One layer per message, by index. */
  readonly layers: readonly Layer[];
  readonly units: readonly Unit[];
  /** Size of each layer: messages for `pinned` and `remainder`, turns, tool pairs. */
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

/** What stays in addition to what the keep counts keep, and what is already known of the list. */
interface Stays {
  /** Index of the latest user message; -1 if there is none. */
  readonly ask?: number;
  readonly held?: ReadonlySet<Message>;
  readonly instructions?: ReadonlySet<Message>;
  readonly order?: Order;
}

/** The units of a list and the start of each turn. */
export interface Order {
  readonly units: readonly Unit[];
  /** See `turnStarts`. */
  readonly starts: readonly number[];
}

export function* orderInSteps(messages: readonly Message[]): Steps<Order> {
  const units = yield* groupInSteps(messages);
  yield;
  return { units, starts: turnStarts(messages) };
}

/**
 * Assigns every message to exactly one layer; a unit is never split into kept and dropped. The latest user
 * message, held messages, an exchange in progress and the newest compaction by the provider always stay; an
 * earlier summary of ours never does, because its facts are merged into the next one.
 */
export function partition(
  messages: readonly Message[],
  keep: KeepCounts,
  {
    ask = latestUserMessage(messages),
    held,
    instructions,
    order = runAtOnce(orderInSteps(messages)),
  }: Stays = {},
): Partition {
  const { units, starts } = order;
  const recentFrom = recentBoundary(messages, starts, keep);
  const needed = neededIndexes(messages, ask, held);
  // Before its own compaction, a provider reads nothing.
  const compaction = messages.findLastIndex(carriesCompaction);
  const pairs = newestPairs(units, messages.length - 1, keep.keepToolIoPairs);
  const isFixed = (message: Message): boolean =>
    isPinned(message, keep) || instructions?.has(message) === true;
  const layerOf = ({ kind, indexes }: Unit, isPair: boolean): Layer => {
    const members = indexes.map((index) => messages[index] as Message);
    if (members.some(isFixed)) return "pinned";
    if (members.some(({ meta }) => meta?.summaryVersion !== undefined)) return "remainder";
    if (indexes.some((index) => needed.has(index))) return "recent";
    const newest = indexes.at(-1) ?? 0;
    if (newest < compaction) return "remainder";
    if (isPair) return "toolPairs";
    const byIndex = kind === "message" || keep.keepRecentMessages !== undefined;
    return byIndex && newest >= recentFrom ? "recent" : "remainder";
  };
  const layers: Layer[] = new Array<Layer>(messages.length).fill("remainder");
  let toolPairs = 0;
  for (const unit of units) {
    const layer = layerOf(unit, pairs.has(unit));
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

/** Indexes of the latest user message, the provider's newest own compaction, and held messages. */
export function neededIndexes(
  messages: readonly Message[],
  ask: number,
  held: ReadonlySet<Message> | undefined,
): ReadonlySet<number> {
  const needed = new Set([ask, messages.findLastIndex(carriesCompaction)]);
  for (const message of held ?? []) needed.add(messages.indexOf(message));
  return needed;
}

/** True for a message that must stay unchanged. Never true for our own summary: the next one replaces it. */
export function isPinned({ meta, role }: Message, keep: Pick<Policy, "rolesNeverPrune">): boolean {
  if (meta?.protected === true) return true;
  return meta?.summaryVersion === undefined && keep.rolesNeverPrune.includes(role);
}

/** The index from which plain messages are recent. */
function recentBoundary(messages: readonly Message[], starts: readonly number[], keep: KeepCounts): number {
  if (keep.keepRecentMessages !== undefined) return messages.length - keep.keepRecentMessages;
  return starts.length > keep.keepRecentTurns ? (starts[starts.length - keep.keepRecentTurns] ?? 0) : 0;
}

/** The newest exchanges with at least `count` calls in total, and the open one. */
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
 * FIT-1: the keep counts to try: the given ones, then alternately one turn and one tool pair fewer, down to
 * one of each. `keepRecentMessages` is halved instead of turns.
 */
export function* relaxations(keep: KeepCounts): Generator<KeepCounts> {
  const { rolesNeverPrune } = keep;
  let { keepRecentTurns, keepToolIoPairs, keepRecentMessages } = keep;
  let turnNext = true;
  for (;;) {
    yield { keepRecentTurns, keepToolIoPairs, keepRecentMessages, rolesNeverPrune };
    const canGiveTurn = (keepRecentMessages ?? keepRecentTurns) > 1;
    const canGivePair = keepToolIoPairs > 1;
    if (!canGiveTurn && !canGivePair) return;
    if (!canGiveTurn || (canGivePair && !turnNext)) keepToolIoPairs -= 1;
    else if (keepRecentMessages === undefined) keepRecentTurns -= 1;
    else keepRecentMessages = Math.floor(keepRecentMessages / 2);
    turnNext = !turnNext;
  }
}
