import { CompactError } from "../errors.ts";
import type { Message } from "../messages/message.ts";
import { carriesCompaction } from "../messages/native-compaction.ts";
import { newestAsk } from "../messages/turns.ts";
import { isUnderWay, type KeepCounts, type Partition, partition } from "../policy/partition.ts";
import { relaxations } from "../policy/relax.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import { summaryMessage } from "./assemble.ts";
import { applyEdit, type Edit, type EditContext, hasBoundReasoning, losesText } from "./edit.ts";

/** What a plan is made from; counts are tokens of `counter`. */
export interface PlanInput {
  readonly messages: readonly Message[];
  readonly counter: TokenCounter;
  readonly fixedTokens: number;
  readonly budget: number;
  /** Aim; may be missed when what must stay is larger. Without it everything eligible is summarized. */
  readonly target?: number | undefined;
  /** Below this the next compaction is far enough away: the keep counts are lowered until it is reached, or to their floor. */
  readonly preferred?: number;
  readonly keep: KeepCounts;
  readonly clearToolResults: boolean;
  readonly onOverflow: "error" | "elide";
  /** The model takes signed reasoning back only behind an unchanged prefix. */
  readonly reasoningBound?: boolean;
  /** Most tokens of the summary's text. */
  readonly maxSummaryTokens: number;
  /** Most bytes of the request on the wire; see `wireBytes`. */
  readonly maxBytes?: number;
  readonly archiveId?: (message: Message) => string;
  /** Tool answers that stay whole while there is room: the model has just asked for them. */
  readonly recalled?: ReadonlySet<Message>;
}

/** A summary message without its text; a constant, so that it is counted once. */
const EMPTY_SUMMARY = summaryMessage({ version: 99, text: "" }, "assistant");

/** Tokens of a summary message beside its text: tags, role, per-message overhead, two for how texts join. */
export function summaryOverhead(counter: TokenCounter): number {
  return counter.countMessage(EMPTY_SUMMARY) + 2;
}

/** Least room worth a summary. */
export const MIN_SUMMARY_TOKENS = 64;
/** A summary needs its tags and framing, which alone would fill a smaller budget. */
const TINY_BUDGET = 256;
/** How texts are cut, tried in this order. */
interface Cuts {
  /** Shares of the limit that all that is kept may take. */
  readonly within: readonly number[];
  /** Elided texts keep at least this much, in tokens, before fewer messages are kept. */
  readonly floors: readonly number[];
  /** Shares of that room that kept messages beside the newest ask may take. */
  readonly shares: readonly number[];
}
/** Below this many tokens the newest words would leave no room for a summary that says anything. */
const SMALL_LIMIT = 1500;
const CUTS: Cuts = { within: [0.6, 1], floors: [400, 48, 8], shares: [Number.POSITIVE_INFINITY, 0.5, 0] };
const SMALL_CUTS: Cuts = { ...CUTS, within: [0.3, 0.6, 1] };
const TIGHT_CUTS: Cuts = { within: [0.3, 0.6, 1], floors: [8], shares: [1, 0] };
/** Where less than this share of a list can remain, a summary tells more of it than its newest words do. */
const TIGHT_SHARE = 0.05;
/** Most of a tight limit that kept messages take without being cut. */
const TIGHT_KEPT = 0.4;

/** What stays and what it costs, before it is told as a plan. */
export interface Draft {
  readonly partition: Partition;
  readonly keep: KeepCounts;
  readonly relaxed: number;
  /** One edit per kept message that is changed. */
  readonly edits: ReadonlyMap<number, Edit>;
  readonly kept: ReadonlySet<number>;
  readonly costs: readonly number[];
}

/** Decides what stays. Throws `InsufficientBudget` when what must stay does not fit the budget. */
export function fitToLimit(input: PlanInput, limit: number): Draft {
  const costs = input.messages.map((message) => input.counter.countMessage(message));
  const preferred = Math.min(input.preferred ?? limit, limit);
  const whole =
    fitting(input, costs, preferred) ?? (preferred < limit ? atFloor(input, costs, limit) : undefined);
  const crowded = whole !== undefined && crowds(input, whole, limit);
  const draft = whole === undefined || crowded ? overflowing(input, costs, limit) : whole;
  return restore(input, extend(input, keepRecalled(input, draft, limit), limit), limit);
}

/** True where what may be cut is kept whole and leaves a tight limit's summary too little. */
function crowds(input: PlanInput, draft: Draft, limit: number): boolean {
  if (input.onOverflow !== "elide" || !isTight(input, draft, limit) || !needsSummary(input, draft))
    return false;
  const cuttable = [...draft.kept].filter((index) => draft.partition.layers[index] !== "pinned");
  return sum(cuttable, draft.costs) > limit * TIGHT_KEPT;
}

function isTight(input: PlanInput, { costs }: Draft, limit: number): boolean {
  return limit < TIGHT_SHARE * costs.reduce((total, cost) => total + cost, input.fixedTokens);
}

/** Where the list first differs from what was sent; a summary stands before everything that is not pinned. */
function firstChange(input: PlanInput, draft: Draft): number {
  if (needsSummary(input, draft)) return 0;
  return input.messages.findIndex((_, index) => !draft.kept.has(index) || draft.edits.has(index));
}

/** Behind the first message that goes or changes, bound reasoning can't stay: the provider would reject or drop it. */
export function releaseReasoning(input: PlanInput, draft: Draft): Draft {
  const from = firstChange(input, draft);
  if (input.reasoningBound !== true || from === -1) return draft;
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  const context = editContext(input);
  for (const index of draft.kept) {
    const message = input.messages[index];
    if (message === undefined || index < from || !hasBoundReasoning(message)) continue;
    if (draft.partition.layers[index] === "pinned") continue;
    const edit: Edit = { ...edits.get(index), stripReasoning: true };
    edits.set(index, edit);
    costs[index] = input.counter.countMessage(applyEdit(message, edit, context));
  }
  return { ...draft, edits, costs };
}

/** The draft with the keep counts at their floor, where that is within the limit. */
function atFloor(input: PlanInput, costs: readonly number[], limit: number): Draft | undefined {
  const draft = floorDraft(input, costs);
  return floorOf(input, draft) <= limit ? draft : undefined;
}

function floorDraft(input: PlanInput, costs: readonly number[]): Draft {
  const counts = [...relaxations(input.keep)];
  const keep = counts.at(-1) ?? input.keep;
  return draftOf(partition(input.messages, keep), keep, counts.length - 1, costs);
}

/** The first partition, relaxing the keep counts, whose kept messages fit under `limit` with a summary. */
function fitting(input: PlanInput, costs: readonly number[], limit: number): Draft | undefined {
  let relaxed = 0;
  for (const keep of relaxations(input.keep)) {
    const draft = draftOf(partition(input.messages, keep), keep, relaxed, costs);
    if (floorOf(input, draft) <= limit) return draft;
    relaxed += 1;
  }
  return undefined;
}

function draftOf(parts: Partition, keep: KeepCounts, relaxed: number, costs: readonly number[]): Draft {
  const kept = new Set(parts.layers.flatMap((layer, index) => (layer === "remainder" ? [] : [index])));
  return { partition: parts, keep, relaxed, edits: new Map(), kept, costs };
}

/** Least tokens of the result: all that is kept, and a small summary where something goes or is emptied. */
export function floorOf(input: PlanInput, draft: Draft): number {
  // A budget of a few dozen tokens holds the newest ask and nothing else; without one the summary opens the list.
  const askAlone = input.budget < TINY_BUDGET && opensWithUser(input, draft);
  const room = askAlone ? 0 : MIN_SUMMARY_TOKENS + summaryOverhead(input.counter);
  const summary = needsSummary(input, draft) ? room : 0;
  return input.fixedTokens + sum(draft.kept, draft.costs) + summary;
}

function opensWithUser({ messages }: PlanInput, { kept }: Draft): boolean {
  const first = messages.find(
    ({ role }, index) => kept.has(index) && role !== "system" && role !== "developer",
  );
  return first?.role === "user";
}

/** A summary tells what was dropped, and what emptied results and cut texts held. */
export function needsSummary(input: PlanInput, draft: Draft): boolean {
  if (draft.kept.size < input.messages.length) return true;
  return [...draft.edits.values()].some(losesText);
}

export function sum(indexes: Iterable<number>, costs: readonly number[]): number {
  let total = 0;
  for (const index of indexes) total += costs[index] ?? 0;
  return total;
}

/** Even the floor of one turn and one pair is too large: elide, miss the aim, or give up. */
function overflowing(input: PlanInput, costs: readonly number[], limit: number): Draft {
  const draft = floorDraft(input, costs);
  const pinned = draft.partition.layers.flatMap((layer, index) => (layer === "pinned" ? [index] : []));
  const pinnedTokens = input.fixedTokens + sum(pinned, costs);
  if (pinnedTokens > input.budget) throw insufficientBudget("protected", pinnedTokens, input);
  const elided =
    input.onOverflow === "elide" ? elideTowards(input, draft, { limit, pinnedTokens }) : undefined;
  if (elided !== undefined) return elided;
  const least = floorOf(input, draft);
  if (least <= input.budget) return draft;
  throw insufficientBudget("floor", least, input);
}

/** An aim below what is pinned is an aim for the rest; one that no eliding reaches grows until it is the budget. */
function elideTowards(
  input: PlanInput,
  draft: Draft,
  { limit, pinnedTokens }: { readonly limit: number; readonly pinnedTokens: number },
): Draft | undefined {
  let aim = pinnedTokens >= limit ? pinnedTokens + limit : limit;
  for (;;) {
    const elided = elide(input, draft, Math.min(aim, input.budget));
    if (elided !== undefined || aim >= input.budget) return elided;
    aim = pinnedTokens + (aim - pinnedTokens) * 1.5;
  }
}

/**
 * Cuts what is kept until it fits: rather fewer messages than cuts that leave little of each, and rather a
 * summary of some length than more of the newest words.
 */
function elide(input: PlanInput, draft: Draft, limit: number): Draft | undefined {
  const { within, floors, shares } = cutsFor(input, draft, limit);
  for (const room of within.map((part) => part * limit)) {
    for (const floor of floors) {
      for (const share of shares) {
        const kept = newestWithin(input, draft, room * share);
        const elided = elideKept(input, { ...draft, kept }, { limit: room, floor });
        if (elided !== undefined) return elided;
      }
    }
  }
  return undefined;
}

function cutsFor(input: PlanInput, draft: Draft, limit: number): Cuts {
  if (isTight(input, draft, limit)) return TIGHT_CUTS;
  return limit < SMALL_LIMIT ? SMALL_CUTS : CUTS;
}

/** What is pinned or always stays (see `partition`), and of the rest the newest units that fit into so many tokens. */
function newestWithin(input: PlanInput, draft: Draft, tokens: number): Set<number> {
  const { layers, units } = draft.partition;
  const last = input.messages.length - 1;
  const needed = new Set([newestAsk(input.messages), input.messages.findLastIndex(carriesCompaction)]);
  const kept = new Set<number>();
  let room = tokens;
  for (const unit of units.toReversed()) {
    const must =
      isUnderWay(unit, last) || unit.indexes.some((index) => layers[index] === "pinned" || needed.has(index));
    const eligible = unit.indexes.some((index) => draft.kept.has(index));
    const cost = sum(unit.indexes, draft.costs);
    if (!must && (!eligible || cost > room)) continue;
    if (!must) room -= cost;
    for (const index of unit.indexes) kept.add(index);
  }
  return kept;
}

/** Finds the largest cap per text under which the kept messages fit `limit`. */
function elideKept(
  input: PlanInput,
  draft: Draft,
  bounds: { limit: number; floor: number },
): Draft | undefined {
  const context = editContext(input);
  const at = (cap: number): Draft => {
    const edits = new Map<number, Edit>();
    const costs = [...draft.costs];
    for (const index of draft.kept) {
      const message = input.messages[index];
      if (message === undefined || draft.partition.layers[index] === "pinned") continue;
      const edited = applyEdit(message, { elideTo: cap }, context);
      if (edited === message) continue;
      edits.set(index, { elideTo: cap });
      costs[index] = input.counter.countMessage(edited);
    }
    return { ...draft, edits, costs };
  };
  let low = bounds.floor;
  let best = at(low);
  if (floorOf(input, best) > bounds.limit) return undefined;
  let high = Math.max(low, bounds.limit);
  while (high - low > Math.max(4, low * 0.05)) {
    const middle = Math.floor((low + high) / 2);
    const candidate = at(middle);
    if (floorOf(input, candidate) <= bounds.limit) {
      low = middle;
      best = candidate;
    } else high = middle;
  }
  return best;
}

/** What edits of the planned messages are made with. */
export function editContext(input: PlanInput): EditContext {
  const countText = (text: string): number => input.counter.countText(text);
  return input.archiveId === undefined ? { countText } : { countText, archiveId: input.archiveId };
}

/** Up to half of the free room goes to what the model has just brought back, the newest first. */
function keepRecalled(input: PlanInput, draft: Draft, limit: number): Draft {
  const { recalled, messages } = input;
  if (recalled === undefined || recalled.size === 0 || draft.edits.size > 0) return draft;
  const free = Math.min(input.preferred ?? limit, limit) - floorOf(input, draft);
  let room = free / 2;
  const kept = new Set(draft.kept);
  for (const { indexes } of draft.partition.units.toReversed()) {
    const wanted = indexes.some((index) => recalled.has(messages[index] as Message) && !kept.has(index));
    const cost = sum(indexes, draft.costs);
    if (!wanted || cost > room) continue;
    room -= cost;
    for (const index of indexes) kept.add(index);
  }
  return { ...draft, kept };
}

/** With an aim, up to half of the free room goes to the newest eligible units, their tool results cleared. */
function extend(input: PlanInput, draft: Draft, limit: number): Draft {
  if (!mayExtend(input, draft, limit)) return draft;
  const free = limit - floorOf(input, draft);
  let room = Math.max(free - Math.min(input.maxSummaryTokens, free / 2), 0);
  const kept = new Set(draft.kept);
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  const context = editContext(input);
  const unread = input.messages.findLastIndex(carriesCompaction);
  const eligible = draft.partition.units.filter(
    (unit) => !unit.indexes.some((index) => draft.kept.has(index) || index < unread),
  );
  for (const unit of eligible.toReversed()) {
    const members = unit.indexes.flatMap((index) => {
      const message = input.messages[index];
      return message === undefined ? [] : [{ index, message, ...lightened(input, message, context) }];
    });
    const cost = members.reduce((total, member) => total + member.cost, 0);
    if (cost > room || members.some(({ message }) => message.meta?.summaryVersion !== undefined)) break;
    room -= cost;
    for (const member of members) {
      kept.add(member.index);
      costs[member.index] = member.cost;
      if (member.cleared) edits.set(member.index, { clear: true });
    }
  }
  return { ...draft, kept, edits, costs };
}

function mayExtend(input: PlanInput, draft: Draft, limit: number): boolean {
  if (input.target === undefined || draft.edits.size > 0 || input.budget < TINY_BUDGET) return false;
  return input.onOverflow !== "elide" || !isTight(input, draft, limit);
}

/** Gives tool results back, newest first, while there is room beside the summary's share. */
function restore(input: PlanInput, draft: Draft, limit: number): Draft {
  const free = limit - floorOf(input, draft);
  let room = Math.max(free - Math.min(input.maxSummaryTokens, free / 2), 0);
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  for (const [index, edit] of [...draft.edits].toSorted(([one], [other]) => other - one)) {
    const message = input.messages[index];
    const more = message === undefined ? 0 : input.counter.countMessage(message) - (costs[index] ?? 0);
    if (edit.clear !== true || more > room) continue;
    room -= more;
    edits.delete(index);
    costs[index] = (costs[index] ?? 0) + more;
  }
  return { ...draft, edits, costs };
}

function lightened(
  input: PlanInput,
  message: Message,
  context: EditContext,
): { cost: number; cleared: boolean } {
  const edited = input.clearToolResults ? applyEdit(message, { clear: true }, context) : message;
  const cost = input.counter.countMessage(edited);
  return { cost, cleared: edited !== message };
}

function insufficientBudget(what: "protected" | "floor", tokens: number, input: PlanInput): CompactError {
  const subject =
    what === "protected"
      ? "the system prompt, tool schemas and protected messages"
      : "the newest turn and tool call, with what is protected,";
  return new CompactError(
    "InsufficientBudget",
    `${subject} take ${tokens} tokens, but only ${input.budget} are available`,
    {
      hint:
        what === "protected"
          ? "Reduce protected memory (system prompt, protected messages, tools) or raise the context limit."
          : 'Raise the context limit, or set onOverflow to "elide" so that oversized messages keep their head and tail.',
    },
  );
}
