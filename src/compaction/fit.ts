import { CompactError } from "../errors.ts";
import type { Message } from "../messages/message.ts";
import { type KeepCounts, type Partition, partition } from "../policy/partition.ts";
import { relaxations } from "../policy/relax.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";

/** What a plan is made from; counts are tokens of `counter`. */
export interface PlanInput {
  readonly messages: readonly Message[];
  readonly counter: TokenCounter;
  readonly fixedTokens: number;
  readonly budget: number;
  /** Aim; may be missed when what must stay is larger. Without it everything eligible is summarized. */
  readonly target?: number | undefined;
  readonly keep: KeepCounts;
  readonly clearToolResults: boolean;
  readonly onOverflow: "error" | "elide";
  /** Most tokens of the summary's text. */
  readonly maxSummaryTokens: number;
  readonly archiveId?: (message: Message) => string;
}

/** Tokens of the summary message beside its text: tag, framing, per-message overhead. */
export const SUMMARY_OVERHEAD = 28;
/** Least room worth a summary. */
export const MIN_SUMMARY_TOKENS = 64;
/** Elided texts keep at least this much, in tokens; below it the message is summarized instead. */
const ELIDE_FLOORS = [48, 8] as const;

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
  const draft = fitting(input, costs, limit) ?? overflowing(input, costs, limit);
  return extend(input, draft, limit);
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

/** Least tokens of the result: all that is kept, and a small summary where something goes. */
export function floorOf(input: PlanInput, draft: Draft): number {
  const summary = draft.kept.size === input.messages.length ? 0 : MIN_SUMMARY_TOKENS + SUMMARY_OVERHEAD;
  return input.fixedTokens + sum(draft.kept, draft.costs) + summary;
}

export function sum(indexes: Iterable<number>, costs: readonly number[]): number {
  let total = 0;
  for (const index of indexes) total += costs[index] ?? 0;
  return total;
}

/** Even the floor of one turn and one pair is too large: elide, miss the aim, or give up. */
function overflowing(input: PlanInput, costs: readonly number[], limit: number): Draft {
  const floor = [...relaxations(input.keep)];
  const keep = floor.at(-1) ?? input.keep;
  const draft = draftOf(partition(input.messages, keep), keep, floor.length - 1, costs);
  const pinned = draft.partition.layers.flatMap((layer, index) => (layer === "pinned" ? [index] : []));
  const pinnedTokens = input.fixedTokens + sum(pinned, costs);
  if (pinnedTokens > input.budget) throw insufficientBudget("protected", pinnedTokens, input);
  if (input.onOverflow === "elide") {
    const elided =
      elide(input, draft, limit) ?? (limit < input.budget ? elide(input, draft, input.budget) : undefined);
    if (elided !== undefined) return elided;
  }
  const least = floorOf(input, draft);
  if (least <= input.budget) return draft;
  throw insufficientBudget("floor", least, input);
}

/** Cuts the kept messages down until they fit; where that leaves too little, only the newest ask stays. */
function elide(input: PlanInput, draft: Draft, limit: number): Draft | undefined {
  const askOnly = new Set([...draft.kept].filter((index) => draft.partition.layers[index] !== "toolPairs"));
  const ask = input.messages.findLastIndex(
    (_, index) => draft.partition.layers[index] === "recent" && isAsk(input, index),
  );
  const least = new Set(
    [...draft.kept].filter((index) => draft.partition.layers[index] === "pinned" || index === ask),
  );
  for (const floor of ELIDE_FLOORS) {
    for (const kept of [draft.kept, askOnly, least]) {
      const elided = elideKept(
        input,
        { ...draft, kept: wholeUnits(draft.partition, kept) },
        { limit, floor },
      );
      if (elided !== undefined) return elided;
    }
  }
  return undefined;
}

function isAsk(input: PlanInput, index: number): boolean {
  return input.messages[index]?.role === "user";
}

/** Only units of which every member is kept. */
function wholeUnits(parts: Partition, kept: ReadonlySet<number>): Set<number> {
  return new Set(
    parts.units
      .filter((unit) => unit.indexes.every((index) => kept.has(index)))
      .flatMap((unit) => [...unit.indexes]),
  );
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

function editContext(input: PlanInput): EditContext {
  const countText = (text: string): number => input.counter.countText(text);
  return input.archiveId === undefined ? { countText } : { countText, archiveId: input.archiveId };
}

/** With an aim, up to half of the free room goes to the newest eligible units, their tool results cleared. */
function extend(input: PlanInput, draft: Draft, limit: number): Draft {
  if (input.target === undefined || draft.edits.size > 0) return draft;
  const free = limit - floorOf(input, draft);
  let room = Math.max(free - Math.min(input.maxSummaryTokens, free / 2), 0);
  const kept = new Set(draft.kept);
  const edits = new Map(draft.edits);
  const costs = [...draft.costs];
  const context = editContext(input);
  const eligible = draft.partition.units.filter(
    (unit) => !unit.indexes.some((index) => draft.kept.has(index)),
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
