import { CompactError } from "../errors.ts";
import type { Message } from "../messages/message.ts";
import { carriesCompaction } from "../messages/native-compaction.ts";
import { isUserSpeech } from "../messages/turns.ts";
import { relaxations } from "../policy/relax.ts";
import {
  type Draft,
  draftOf,
  editContext,
  floorOf,
  isTight,
  isTiny,
  needsSummary,
  type PlanInput,
  sum,
} from "./draft.ts";
import { applyEdit, type Edit, type EditContext, hasBoundReasoning } from "./edit.ts";
import { elideTowards, leastElided } from "./elide.ts";

/** Most of a tight limit that kept messages take without being cut. */
const TIGHT_KEPT = 0.4;

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
  return draftOf(input, keep, { relaxed: counts.length - 1, costs });
}

/** The first partition, relaxing the keep counts, whose kept messages fit under `limit` with a summary. */
function fitting(input: PlanInput, costs: readonly number[], limit: number): Draft | undefined {
  let relaxed = 0;
  for (const keep of relaxations(input.keep)) {
    const draft = draftOf(input, keep, { relaxed, costs });
    if (floorOf(input, draft) <= limit) return draft;
    relaxed += 1;
  }
  return undefined;
}

/** Even the floor of one turn and one pair is too large: elide, miss the aim, tell more of the turn, or give up. */
function overflowing(input: PlanInput, costs: readonly number[], limit: number): Draft {
  const draft = floorDraft(input, costs);
  if (draft.pinnedTokens > input.budget) throw pinnedTooLarge(input, draft);
  const elided = input.onOverflow === "elide" ? elideTowards(input, draft, limit) : undefined;
  if (elided !== undefined) return elided;
  if (floorOf(input, draft) <= input.budget) return draft;
  const told = tellEarlierAnswers(input, draft, Math.min(input.preferred ?? limit, limit));
  if (floorOf(input, told) <= input.budget) return told;
  throw restTooLarge(input, told);
}

/**
 * In the newest turn the newest answer stays, and of those before it (agents that talk among each other, comments
 * between calls) as many as fit, the oldest told first: a turn that is never interrupted would fill any budget.
 */
function tellEarlierAnswers(input: PlanInput, draft: Draft, limit: number): Draft {
  const { units, layers } = draft.partition;
  const answers = units.filter(({ kind, indexes }) => {
    const [index = -1] = indexes;
    const message = input.messages[index];
    if (kind !== "message" || index < draft.ask || message === undefined) return false;
    return layers[index] === "recent" && !isUserSpeech(message) && !carriesCompaction(message);
  });
  const newest = answers.findLast(({ indexes }) =>
    indexes.some((index) => input.messages[index]?.role === "assistant"),
  );
  const kept = new Set(draft.kept);
  const told = { ...draft, kept };
  for (const unit of answers) {
    if (floorOf(input, told) <= limit) break;
    if (unit !== newest) for (const index of unit.indexes) kept.delete(index);
  }
  return told;
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
  if (input.target === undefined || draft.edits.size > 0 || isTiny(input, draft)) return false;
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

/** Says what is too large where nothing may be cut or left out. */
function pinnedTooLarge(input: PlanInput, { pinnedTokens }: Draft): CompactError {
  const { budget, fixedTokens } = input;
  const parts = `${fixedTokens} beside the messages and ${pinnedTokens - fixedTokens} in messages that must stay`;
  return new CompactError(
    "InsufficientBudget",
    `the system prompt, tool schemas and protected messages take ${pinnedTokens} tokens (${parts}), but only ${budget} are available`,
    {
      hint: `Reduce protected memory (system prompt, protected messages, tools) or raise the context limit: ${pinnedTokens} tokens are taken before the conversation begins.`,
    },
  );
}

function restTooLarge(input: PlanInput, draft: Draft): CompactError {
  const { budget, onOverflow } = input;
  const least = onOverflow === "elide" ? leastElided(input, draft) : floorOf(input, draft);
  const subject =
    onOverflow === "elide"
      ? "what must stay, with every text in it cut short,"
      : "the newest turn and tool call, with what is protected,";
  const raise = `Raise the context limit to ${least} tokens or more`;
  return new CompactError(
    "InsufficientBudget",
    `${subject} take ${least} tokens${largestOf(input, draft)}, but only ${budget} are available`,
    {
      hint:
        onOverflow === "elide"
          ? `${raise}, or reduce what is never cut: it takes ${draft.pinnedTokens}.`
          : `${raise}, or set onOverflow to "elide" so that oversized messages keep their head and tail.`,
    },
  );
}

/** Names the largest message that had to stay without being pinned, where it takes most of the room. */
function largestOf(input: PlanInput, draft: Draft): string {
  const free = [...draft.kept].filter((index) => draft.partition.layers[index] !== "pinned");
  const index = free.reduce(
    (most, one) => ((draft.costs[one] ?? 0) > (draft.costs[most] ?? 0) ? one : most),
    -1,
  );
  const tokens = draft.costs[index] ?? 0;
  if (tokens * 2 < input.budget) return "";
  return ` (${tokens} of them in one ${input.messages[index]?.role} message)`;
}
