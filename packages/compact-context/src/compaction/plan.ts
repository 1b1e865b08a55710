import type { Message, Role } from "../messages/message.ts";
import type { KeepCounts, Layer, Partition } from "../policy/partition.ts";
import {
  type Draft,
  floorOf,
  MIN_SUMMARY_TOKENS,
  needsSummary,
  type PlanInput,
  sum,
  summaryOverhead,
} from "./draft.ts";
import { type Edit, losesText } from "./edit.ts";
import { fitToLimit, releaseReasoning } from "./fit.ts";
import { fitBytes, keepAll, shortenResults } from "./shorten.ts";

export type PlannedAction = "keep" | "clear" | "elide" | "summarize";

export interface PlannedMessage {
  /** Index into the list that was planned. */
  readonly index: number;
  readonly id: string;
  readonly role: Role;
  readonly layer: Layer;
  readonly action: PlannedAction;
  /** What is changed in a kept message, for `clear` and `elide`. */
  readonly edit?: Edit;
  /** Tokens now, and after the action (0 for `summarize`: what it says goes into the summary's share). */
  readonly tokens: number;
  readonly tokensAfter: number;
  /** Why, in words for a person. */
  readonly reason: string;
}

/**
 * What a compaction leaves of the newest message in which the user asks for something: all of it, the user's own words
 * without what was injected or pasted into them, or head and tail of those too.
 */
export type AskFate = "whole" | "own_words" | "cut";

/** What a compaction would do, as data: nothing has happened yet. */
export interface CompactionPlan {
  readonly entries: readonly PlannedMessage[];
  /** Most tokens the request may have afterwards; what it aims for. */
  readonly budget: number;
  readonly target: number;
  /** System prompt, tool schemas, pending input: beside the messages and never touched. */
  readonly fixedTokens: number;
  readonly tokensBefore: number;
  /** Most tokens the result will have, the summary's whole room included. */
  readonly tokensAfter: number;
  /** Room for the summary message's text; 0 when nothing is summarized. */
  readonly summaryTokens: number;
  /** The keep counts after relaxing, and how many times they were lowered. */
  readonly keep: KeepCounts;
  readonly relaxed: number;
  readonly counts: Partition["counts"];
  /** Undefined where the user asks for nothing in the list. */
  readonly newestAsk: { readonly index: number; readonly fate: AskFate } | undefined;
}

/**
 * What a plan does with each entry of the view that it was made for, one for one; beside the entries only a summary
 * of ours stands in a view. Ids alone would not do: a caller may use one twice.
 */
export function fatesOf(
  plan: CompactionPlan,
  entries: readonly { readonly message: Message }[],
): readonly (PlannedMessage | undefined)[] {
  let at = 0;
  return entries.map(({ message }) => {
    if (plan.entries[at]?.id !== message.id) at += 1;
    const fate = plan.entries[at];
    at += 1;
    return fate;
  });
}

/** Plans a compaction; pure. Throws `InsufficientBudget` when what must stay does not fit the budget. */
export function planView(input: PlanInput): CompactionPlan {
  const limit = Math.min(input.budget, input.target ?? input.budget);
  return finish(input, releaseReasoning(input, fitBytes(input, fitToLimit(input, limit))), limit);
}

/** Plans to leave out media, and nothing else, until the request fits the wire. Throws as `planView`. */
export function planBytes(input: PlanInput): CompactionPlan {
  return finish(input, releaseReasoning(input, fitBytes(input, keepAll(input))), input.budget);
}

/** Plans to shorten the tool results that were never sent and have more than `limit` tokens, and nothing else. */
export function planShortening(input: PlanInput, limit: number): CompactionPlan {
  return finish(input, shortenResults(input, limit), input.budget);
}

/** A summary takes at most half of what it replaces: it must be worth the exchange. */
function summaryRoom(input: PlanInput, draft: Draft, limit: number): number {
  if (!needsSummary(input, draft)) return 0;
  const replaced = input.messages.reduce((total, message, index) => {
    const before = input.counter.countMessage(message);
    if (!draft.kept.has(index)) return total + before;
    return losesText(draft.edits.get(index)) ? total + before - (draft.costs[index] ?? 0) : total;
  }, 0);
  const free = limit - input.fixedTokens - sum(draft.kept, draft.costs) - summaryOverhead(input.counter);
  const worth = Math.max(replaced / 2, MIN_SUMMARY_TOKENS / 2);
  return Math.max(0, Math.floor(Math.min(free, input.maxSummaryTokens, worth)));
}

function finish(input: PlanInput, draft: Draft, limit: number): CompactionPlan {
  const reachable = Math.min(input.budget, Math.max(limit, floorOf(input, draft)));
  const summaryTokens = summaryRoom(input, draft, reachable);
  const entries = input.messages.map((message, index) => planned(message, index, { input, draft }));
  const keptTokens = sum(draft.kept, draft.costs);
  return {
    entries,
    budget: input.budget,
    target: limit,
    fixedTokens: input.fixedTokens,
    tokensBefore: input.fixedTokens + entries.reduce((total, entry) => total + entry.tokens, 0),
    tokensAfter:
      input.fixedTokens +
      keptTokens +
      (summaryTokens > 0 ? summaryTokens + summaryOverhead(input.counter) : 0),
    summaryTokens,
    keep: draft.keep,
    relaxed: draft.relaxed,
    counts: draft.partition.counts,
    newestAsk: draft.ask === -1 ? undefined : { index: draft.ask, fate: askFate(draft) },
  };
}

function askFate({ ask, edits }: Draft): AskFate {
  const edit = edits.get(ask);
  if (edit?.elideTo !== undefined && edit.sparesOwnWords !== true) return "cut";
  return actionOf(true, edit) === "keep" ? "whole" : "own_words";
}

function planned(
  message: Message,
  index: number,
  { input, draft }: { input: PlanInput; draft: Draft },
): PlannedMessage {
  const layer = draft.partition.layers[index] ?? "remainder";
  const edit = draft.edits.get(index);
  const action = actionOf(draft.kept.has(index), edit);
  const tokens = input.counter.countMessage(message);
  return {
    index,
    id: message.id,
    role: message.role,
    layer,
    action,
    ...(edit === undefined ? {} : { edit }),
    tokens,
    tokensAfter: action === "summarize" ? 0 : (draft.costs[index] ?? tokens),
    reason: edit?.stripReasoning === true ? BOUND : reasonFor(message, { layer, action, edit }),
  };
}

const BOUND = "kept without its reasoning, which was bound to what left";

function reasonFor(
  message: Message,
  { layer, action, edit }: { layer: Layer; action: PlannedAction; edit: Edit | undefined },
): string {
  if (edit !== undefined && action === "elide") return cutReason(edit);
  if (action === "clear") return "kept near the recent part, its tool output emptied";
  if (action === "summarize") {
    return message.meta?.summaryVersion === undefined
      ? "older than what is kept"
      : "the earlier summary is folded into the new one";
  }
  if (layer === "pinned")
    return message.meta?.protected === true ? "protected" : `role ${message.role} is never pruned`;
  if (layer === "recent") return "in the recent turns";
  if (layer === "toolPairs") return "among the newest tool calls";
  return "fits under the target";
}

function cutReason(edit: Edit): string {
  if (edit.dropMedia === true) return "its media are left out: too many bytes for one request";
  if (edit.resultsTo !== undefined) return "tool output over the limit: keeps its head and tail";
  if (edit.sparesOwnWords === true)
    return "the newest request: what was injected or pasted into it keeps its head and tail";
  return "must stay but is too large: keeps its head and tail";
}

function actionOf(kept: boolean, edit: Edit | undefined): PlannedAction {
  if (!kept) return "summarize";
  if (edit?.clear === true) return "clear";
  const cut = edit?.elideTo ?? edit?.resultsTo ?? edit?.dropMedia;
  return cut === undefined ? "keep" : "elide";
}
