import type { Steps } from "../errors.ts";
import { applyEdit, type Edit, hasBoundReasoning, losesText, sparing } from "./edit.ts";
import { callsOfTools, carriesCompaction, type Message, summaryMessage } from "./message.ts";
import {
  type KeepCounts,
  neededIndexes,
  type Order,
  orderInSteps,
  type Partition,
  partition,
  relaxations,
} from "./policy.ts";
import type { TokenCounter } from "./ports.ts";
import type { CompactionRequest } from "./request.ts";
import { isUnderWay, isUserSpeech, latestUserMessage } from "./units.ts";

// Decides what stays so that a request fits: first by the keep counts, lowered one by one while they keep too
// much; if even their floor is too much, texts are truncated or the request is refused. Free room goes to
// recalled results and to the newest removable messages. All functions are pure.

export interface KeepSet {
  readonly request: CompactionRequest;
  readonly partition: Partition;
  /** The keep counts after lowering, and how many times they were lowered. */
  readonly keep: KeepCounts;
  readonly relaxed: number;
  /** Index of the latest user message; -1 if there is none. */
  readonly latest: number;
  /** Tokens that no compaction removes: fixed tokens and pinned messages. */
  readonly pinnedTokens: number;
  /** One edit per changed kept message. */
  readonly edits: ReadonlyMap<number, Edit>;
  readonly kept: ReadonlySet<number>;
  /** Tokens per message, before and after its edit. */
  readonly before: readonly number[];
  readonly costs: readonly number[];
}

/** A summary message without text; a constant, so that it is counted once. */
const EMPTY_SUMMARY = summaryMessage({ version: 99, text: "" }, "assistant");

/** Tokens of a summary message without its text: tags, role, overhead, and two for joining texts. */
export function summaryOverhead(counter: TokenCounter): number {
  return counter.countMessage(EMPTY_SUMMARY) + 2;
}

/** Tokens of a summary message with that much text, or its reserve. */
export function summaryCost({ summaryReserve, counter }: CompactionRequest, text: number): number {
  return summaryReserve ?? text + summaryOverhead(counter);
}

/** Maximum tokens of a summary by default, however much room there is: beyond it, verbatim messages are more useful. */
export const MAX_SUMMARY_TOKENS = 8192;
/** Minimum tokens for which a summary is worthwhile. */
export const MIN_SUMMARY_TOKENS = 64;
/** With less room than this, tags and framing leave too little for a summary's text. */
const MINIMAL_ROOM = 256;
/** If less than this share of a list can remain, the summary matters more than the newest messages. */
const LOW_BUDGET_SHARE = 0.05;
/** Share of a low budget that kept messages can take untruncated. */
const LOW_BUDGET_KEPT = 0.4;

/** What the keep counts keep, unedited. */
export function keepByCounts(
  request: CompactionRequest,
  keep: KeepCounts,
  { costs, latest, order }: Ground,
  relaxed: number,
): KeepSet {
  const { held, instructions } = request;
  const parts = partition(request.messages, keep, { ask: latest, held, instructions, order });
  const indexes = [...parts.layers.keys()];
  const pinned = indexes.filter((index) => parts.layers[index] === "pinned");
  const kept = new Set(indexes.filter((index) => parts.layers[index] !== "remainder"));
  const pinnedTokens = request.fixedTokens + sumOf(pinned, costs);
  const edits = new Map<number, Edit>();
  return {
    request,
    partition: parts,
    keep,
    relaxed,
    latest,
    pinnedTokens,
    edits,
    kept,
    before: costs,
    costs,
  };
}

interface Ground {
  /** Tokens of each message before edits. */
  readonly costs: readonly number[];
  /** Index of the latest user message; -1 if there is none. */
  readonly latest: number;
  readonly order: Order;
}

export function* groundOf({ messages, counter }: CompactionRequest): Steps<Ground> {
  const costs = messages.map((message) => counter.countMessage(message));
  yield;
  const latest = latestUserMessage(messages);
  const order = yield* orderInSteps(messages);
  yield;
  return { costs, latest, order };
}

/** Project instructions are pinned up to this share of the limit, if the floor of the keep counts fits beside them. */
const INSTRUCTIONS_SHARE = 0.25;

/**
 * Decides what stays under `limit`: the first keep counts, lowered one by one, at which the kept messages fit
 * with a useful summary, a fiftieth of the budget. Over the budget only if what must stay does not fit it.
 */
export function* fitToLimit(request: CompactionRequest, limit: number): Steps<KeepSet> {
  const ground = yield* groundOf(request);
  const counts = [...relaxations(request.policy)];
  const setAt = (relaxed: number): KeepSet =>
    keepByCounts(request, counts[relaxed] as KeepCounts, ground, relaxed);
  const last = counts.length - 1;
  const { messages, instructions } = request;
  const ours = [...messages.keys()].filter((index) => instructions?.has(messages[index] as Message));
  const pinnable = sumOf(ours, ground.costs) <= limit * INSTRUCTIONS_SHARE;
  if (ours.length > 0 && !(pinnable && floorOf(setAt(last)) <= limit))
    return yield* fitToLimit({ ...request, instructions: undefined }, limit);
  const most = Math.min(request.maxSummaryTokens, Math.floor(request.budget / 50));
  const useful = Math.max(0, most - MIN_SUMMARY_TOKENS);
  const fits = (set: KeepSet, room: number): boolean =>
    floorOf(set) + (needsSummary(set) ? room : 0) <= limit;
  let set = setAt(0);
  while (!fits(set, useful) && set.relaxed < last) {
    yield;
    set = setAt(set.relaxed + 1);
  }
  const kept = fits(set, 0) && !isCrowded(set, limit) ? set : overflow(setAt(last), ground, limit);
  return restoreResults(extend(keepRecalled(kept, limit), limit), limit);
}

/** Minimum tokens of the result: what is kept, and a small summary if one is needed. */
export function floorOf(set: KeepSet): number {
  const { request, kept, costs } = set;
  // Very small budgets hold only the latest user message; if another role comes first, a summary opens the
  // list.
  const messageAlone = isMinimalBudget(set) && opensWithUser(set);
  const room = messageAlone ? 0 : summaryCost(request, MIN_SUMMARY_TOKENS);
  return request.fixedTokens + sumOf(kept, costs) + (needsSummary(set) ? room : 0);
}

/** A summary covers dropped messages, and the content of cleared results and truncated texts. */
export function needsSummary({ request, kept, edits }: KeepSet): boolean {
  return kept.size < request.messages.length || [...edits.values()].some(losesText);
}

export function sumOf(indexes: Iterable<number>, costs: readonly number[]): number {
  let total = 0;
  for (const index of indexes) total += costs[index] ?? 0;
  return total;
}

/** The set with these edits; `saving`: skips those that do not shorten their message. */
export function withEdits(set: KeepSet, found: Iterable<[number, Edit]>, saving = false): KeepSet {
  const edits = new Map(set.edits);
  const costs = [...set.costs];
  for (const [index, edit] of found) {
    const cost = editedCost(set.request, set.request.messages[index] as Message, edit);
    // The truncation marker costs tokens: a text slightly longer than the cap stays whole.
    if (saving && cost >= (costs[index] ?? 0)) continue;
    edits.set(index, edit);
    costs[index] = cost;
  }
  return { ...set, edits, costs };
}

function editedCost(request: CompactionRequest, message: Message, edit: Edit): number {
  return request.counter.countMessage(applyEdit(message, edit, request));
}

export function unpinned({ kept, partition: parts }: KeepSet): number[] {
  return [...kept].filter((index) => parts.layers[index] !== "pinned");
}

/**
 * Removes bound reasoning after the first removed or changed message: the provider would reject or ignore it.
 */
export function releaseReasoning(set: KeepSet): KeepSet {
  const { kept, edits } = set;
  const { messages, reasoningBound } = set.request;
  if (!reasoningBound) return set;
  const changed = messages.findIndex((_, index) => !kept.has(index) || edits.has(index));
  const from = needsSummary(set) ? 0 : changed;
  if (from === -1) return set;
  const bound = unpinned(set).filter((at) => at >= from && hasBoundReasoning(messages[at] as Message));
  const found = bound.map((at): [number, Edit] => [at, { ...edits.get(at), stripReasoning: true }]);
  return withEdits(set, found);
}

/** True if pinned messages leave too little for a summary. */
function isMinimalBudget({ request, pinnedTokens }: KeepSet): boolean {
  return request.summaryReserve === undefined && request.budget - pinnedTokens < MINIMAL_ROOM;
}

/** True if very little of the list can remain; see `LOW_BUDGET_SHARE`. */
function isLowBudget({ request, costs }: KeepSet, limit: number): boolean {
  return limit < LOW_BUDGET_SHARE * costs.reduce((total, cost) => total + cost, request.fixedTokens);
}

function opensWithUser({ request, kept }: KeepSet): boolean {
  const first = request.messages.find(
    ({ role }, index) => kept.has(index) && role !== "system" && role !== "developer",
  );
  return first?.role === "user";
}

/** True if untruncated messages leave too little for the summary in a low budget. */
function isCrowded(set: KeepSet, limit: number): boolean {
  const mayCut = set.request.policy.onOverflow === "elide" && isLowBudget(set, limit) && needsSummary(set);
  return mayCut && sumOf(unpinned(set), set.costs) > limit * LOW_BUDGET_KEPT;
}

/** If even the floor is too large: truncates texts, misses the target, or summarizes more of the turn. */
function overflow(set: KeepSet, ground: Ground, limit: number): KeepSet {
  const { request } = set;
  if (set.pinnedTokens > request.budget) return set;
  const cut = request.policy.onOverflow === "elide" ? cutTowards(set, limit) : undefined;
  if (cut !== undefined) return cut;
  if (floorOf(set) <= request.budget) return set;
  const aim = Math.min(request.preferred ?? limit, limit);
  const less = summarizeEarlierAnswers(set, aim);
  if (floorOf(less) <= request.budget) return less;
  return summarizeEarlierAnswers(withoutEarlierExchange(set, ground), aim);
}

/**
 * Drops the exchange of an earlier turn: otherwise the last one stays until the next exchange, however large,
 * and every later call would be refused.
 */
function withoutEarlierExchange(set: KeepSet, ground: Ground): KeepSet {
  const newest = set.partition.units.findLast(({ kind }) => kind === "exchange");
  if (newest === undefined || (newest.indexes.at(-1) ?? 0) > ground.latest) return set;
  return keepByCounts(set.request, { ...set.keep, keepToolIoPairs: 0 }, ground, set.relaxed + 1);
}

/**
 * Drops earlier answers of the newest turn, oldest first, until the rest fits; the newest answer stays.
 * Otherwise a turn without user messages would eventually fill any budget.
 */
function summarizeEarlierAnswers(set: KeepSet, limit: number): KeepSet {
  const { messages } = set.request;
  const { units, layers } = set.partition;
  const answers = units.filter(({ kind, indexes }) => {
    const [index = -1] = indexes;
    const message = messages[index];
    if (kind !== "message" || index < set.latest || message === undefined) return false;
    return layers[index] === "recent" && !isUserSpeech(message) && !carriesCompaction(message);
  });
  const newest = answers.findLast(({ indexes }) =>
    indexes.some((index) => messages[index]?.role === "assistant"),
  );
  const kept = new Set(set.kept);
  const less = { ...set, kept };
  for (const unit of answers) {
    if (floorOf(less) <= limit) break;
    if (unit !== newest) for (const index of unit.indexes) kept.delete(index);
  }
  return less;
}

/** Keeps recalled results in up to half of the free room, newest first. */
function keepRecalled(set: KeepSet, limit: number): KeepSet {
  const { recalled, messages, preferred } = set.request;
  if (recalled === undefined || recalled.size === 0 || set.edits.size > 0) return set;
  let room = (Math.min(preferred ?? limit, limit) - floorOf(set)) / 2;
  const kept = new Set(set.kept);
  for (const { indexes } of set.partition.units.toReversed()) {
    const wanted = indexes.some((index) => recalled.has(messages[index] as Message) && !kept.has(index));
    const cost = sumOf(indexes, set.costs);
    if (!wanted || cost > room) continue;
    room -= cost;
    for (const index of indexes) kept.add(index);
  }
  return { ...set, kept };
}

/** With a target, fills half of the free room or more with the newest eligible units, their tool results cleared. */
function extend(set: KeepSet, limit: number): KeepSet {
  const { request } = set;
  const { messages, counter, policy } = request;
  if (request.target === undefined || set.edits.size > 0 || isMinimalBudget(set)) return set;
  if (policy.onOverflow === "elide" && isLowBudget(set, limit)) return set;
  let room = roomBesideSummary(set, limit);
  const kept = new Set(set.kept);
  const edits = new Map(set.edits);
  const costs = [...set.costs];
  // The provider reads nothing before its own compaction.
  const unread = messages.findLastIndex(carriesCompaction);
  const eligible = set.partition.units.filter(
    (unit) => !unit.indexes.some((index) => set.kept.has(index) || index < unread),
  );
  const clearing: Edit =
    policy.clearToolInputs === true ? { clear: true, clearInputs: true } : { clear: true };
  const sparedIn = callsOfTools(messages, new Set(policy.excludeTools));
  for (const { indexes } of eligible.toReversed()) {
    const members = indexes.map((index) => {
      const message = messages[index] as Message;
      const edit = policy.clearToolResults ? sparing(clearing, sparedIn(message)) : undefined;
      const cleared = applyEdit(message, edit, request);
      if (cleared === message) return { index, cost: set.before[index] ?? 0, edit: undefined };
      return { index, cost: counter.countMessage(cleared), edit };
    });
    const cost = members.reduce((total, member) => total + member.cost, 0);
    const isSummary = indexes.some((index) => messages[index]?.meta?.summaryVersion !== undefined);
    if (cost > room || isSummary) break;
    room -= cost;
    for (const member of members) {
      kept.add(member.index);
      costs[member.index] = member.cost;
      if (member.edit !== undefined) edits.set(member.index, member.edit);
    }
  }
  return { ...set, kept, edits, costs };
}

/** Restores cleared tool results, newest first, while there is room in addition to the summary's share. */
function restoreResults(set: KeepSet, limit: number): KeepSet {
  let room = roomBesideSummary(set, limit);
  const edits = new Map(set.edits);
  const costs = [...set.costs];
  for (const [index, edit] of [...set.edits].toSorted(([one], [other]) => other - one)) {
    const whole = set.before[index] ?? 0;
    const more = whole - (costs[index] ?? 0);
    if (edit.clear !== true || more > room) continue;
    room -= more;
    edits.delete(index);
    costs[index] = whole;
  }
  return { ...set, edits, costs };
}

/**
 * Free tokens under the limit without the summary's share: at most half; none if the summary has a reserve.
 */
function roomBesideSummary(set: KeepSet, limit: number): number {
  const { maxSummaryTokens, summaryReserve } = set.request;
  const free = limit - floorOf(set);
  const share = summaryReserve === undefined ? Math.min(maxSummaryTokens, free / 2) : 0;
  return Math.max(free - share, 0);
}

// ---- truncating texts

/** Parameters for truncating texts; values are tried in order. */
interface Cuts {
  /**
   * Shares of the room, without pinned messages and the latest user message, that everything else can take.
   */
  readonly within: readonly number[];
  /** Truncated texts keep at least this many tokens before fewer messages are kept. */
  readonly floors: readonly number[];
  /** Shares of that room for kept messages other than the latest user message. */
  readonly shares: readonly number[];
}
/** Below this limit the newest messages leave no room for a useful summary. */
const SMALL_LIMIT = 1500;
const CUTS: Cuts = { within: [0.6, 1], floors: [400, 48, 8], shares: [Number.POSITIVE_INFINITY, 0.5, 0] };
const SMALL_CUTS: Cuts = { ...CUTS, within: [0.3, 0.6, 1] };
const LOW_BUDGET_CUTS: Cuts = { within: [0.3, 0.6, 1], floors: [8], shares: [1, 0] };
const MIN_CUT_TOKENS = 8;

/** What the latest user message can take, as shares of the room without pinned messages. */
interface MessageShares {
  /** Untruncated; of the room under the target. */
  readonly whole: number;
  /** Only the user's own words; of the room under the budget. */
  readonly ownWords: number;
  /** Own words truncated as well; of the room under the target. */
  readonly cut: number;
}
const SHARES: MessageShares = { whole: 0.5, ownWords: 0.75, cut: 0.75 };
/** In a low budget, the summary gets half if the latest user message must be truncated. */
const LOW_BUDGET_SHARES: MessageShares = { ...SHARES, cut: 0.5 };
/** Without room for a summary, the latest user message can have all of it. */
const MINIMAL_SHARES: MessageShares = { whole: 1, ownWords: 1, cut: 1 };
/** Tried last: the latest user message leaves more to an open exchange. */
const LAST_SHARES: readonly MessageShares[] = [0.65, 0.5, 0.35, 0.2, 0].map((cut) => ({
  whole: cut,
  ownWords: 0,
  cut,
}));

/**
 * Truncates to a target, which is raised up to the budget if truncating does not reach it; pinned tokens
 * above it are added.
 */
function cutTowards(set: KeepSet, limit: number): KeepSet | undefined {
  const { budget } = set.request;
  const lowBudget = isLowBudget(set, limit) ? LOW_BUDGET_SHARES : SHARES;
  const shares = isMinimalBudget(set) ? MINIMAL_SHARES : lowBudget;
  let aim = set.pinnedTokens >= limit ? set.pinnedTokens + limit : limit;
  for (; aim < budget; aim = set.pinnedTokens + (aim - set.pinnedTokens) * 1.5) {
    const cut = cutKept(cutLatest(set, aim, shares), aim);
    if (cut !== undefined) return cut;
  }
  for (const last of [shares, ...LAST_SHARES]) {
    const cut = cutKept(cutLatest(set, budget, last), budget);
    if (cut !== undefined) return cut;
  }
  return undefined;
}

/** The latest user message: whole, with only its own words whole, or truncated like any text. */
function cutLatest(set: KeepSet, limit: number, shares: MessageShares): KeepSet {
  const { request, latest, pinnedTokens, costs } = set;
  const message = request.messages[latest];
  if (message === undefined || set.partition.layers[latest] === "pinned") return set;
  const room = limit - pinnedTokens;
  if ((costs[latest] ?? 0) <= room * shares.whole) return set;
  const cost = (edit: Edit): number => editedCost(request, message, edit);
  const ownWords = cost({ elideTo: MIN_CUT_TOKENS, sparesOwnWords: true });
  const spares = ownWords <= (request.budget - pinnedTokens) * shares.ownWords;
  const most = spares ? Math.max(ownWords, room * shares.whole) : room * shares.cut;
  const edit = (cap: number): Edit => (spares ? { elideTo: cap, sparesOwnWords: true } : { elideTo: cap });
  const found = edit(largest(MIN_CUT_TOKENS, limit, (tokens) => cost(edit(tokens)) <= most));
  return withEdits(set, [[latest, found]], true);
}

/**
 * Truncates kept messages until they fit. Prefers fewer messages to very short texts, and a useful summary to
 * more messages.
 */
function cutKept(set: KeepSet, limit: number): KeepSet | undefined {
  const cuts = limit < SMALL_LIMIT ? SMALL_CUTS : CUTS;
  const { within, floors, shares } = isLowBudget(set, limit) ? LOW_BUDGET_CUTS : cuts;
  const isPinned = set.partition.layers[set.latest] === "pinned";
  const stays = set.pinnedTokens + (isPinned ? 0 : (set.costs[set.latest] ?? 0));
  for (const room of within.map((part) => part * Math.max(limit - stays, 0))) {
    for (const floor of floors) {
      for (const share of shares) {
        const fewer = { ...set, kept: newestWithin(set, room * share) };
        const cut = capTexts(fewer, Math.min(limit, stays + room), floor);
        if (cut !== undefined) return cut;
      }
    }
  }
  return undefined;
}

/** Pinned and needed messages (see `partition`), and the newest other units that fit into `tokens`. */
function newestWithin(set: KeepSet, tokens: number): Set<number> {
  const { messages, held } = set.request;
  const { layers, units } = set.partition;
  const needed = neededIndexes(messages, set.latest, held);
  const kept = new Set<number>();
  let room = tokens;
  for (const unit of units.toReversed()) {
    const must =
      isUnderWay(unit, messages.length - 1) ||
      unit.indexes.some((index) => layers[index] === "pinned" || needed.has(index));
    const eligible = unit.indexes.some((index) => set.kept.has(index));
    const cost = sumOf(unit.indexes, set.costs);
    if (!must && (!eligible || cost > room)) continue;
    if (!must) room -= cost;
    for (const index of unit.indexes) kept.add(index);
  }
  return kept;
}

/** The largest cap per text at which the kept messages fit `limit`; undefined if even `floor` does not. */
function capTexts(set: KeepSet, limit: number, floor: number): KeepSet | undefined {
  const fits = (cap: number): boolean => floorOf(cappedAt(set, cap)) <= limit;
  return fits(floor) ? cappedAt(set, largest(floor, limit, fits)) : undefined;
}

/** Truncates every kept message except pinned ones and the latest user message. */
function cappedAt(set: KeepSet, cap: number): KeepSet {
  const others = unpinned(set).filter((index) => index !== set.latest);
  const found = others.map((index): [number, Edit] => [index, { elideTo: cap }]);
  return withEdits(set, found, true);
}

/** The largest number from `from` to `to` that fits, to within a twentieth; `from` if none does. */
function largest(from: number, to: number, fits: (value: number) => boolean): number {
  let low = from;
  let high = Math.max(low, to);
  while (high - low > Math.max(4, low * 0.05)) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Minimum tokens that truncating can reach, including the shortest summary. */
export function minCutTokens(set: KeepSet): number {
  return floorOf(cappedAt({ ...set, kept: newestWithin(set, 0), latest: -1 }, MIN_CUT_TOKENS));
}
