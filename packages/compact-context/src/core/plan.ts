import { CompactError, flatMapInSteps, runAtOnce, type Steps } from "../errors.ts";
import { applyEdit, type Edit, losesText, sparing } from "./edit.ts";
import {
  fitToLimit,
  floorOf,
  groundOf,
  type KeepSet,
  keepByCounts,
  MIN_SUMMARY_TOKENS,
  minCutTokens,
  needsSummary,
  releaseReasoning,
  summaryCost,
  summaryOverhead,
  sumOf,
  unpinned,
  withEdits,
} from "./fit.ts";
import {
  callsOfTools,
  imageCount,
  type Message,
  mediaBytes,
  type Role,
  resultText,
  type ToolResultPart,
  toolResults,
  wireBytes,
} from "./message.ts";
import {
  availableOf,
  type KeepCounts,
  type Layer,
  limitsBelow,
  type Partition,
  type Policy,
  partition,
  relaxations,
} from "./policy.ts";
import type { TokenCounter } from "./ports.ts";
import type { CompactionRequest } from "./request.ts";
import { clientCalls, isProjectInstructions } from "./units.ts";

// What a compaction will do, as data. Dry runs, tests and the compaction itself use the same plan.

export type PlannedAction = "keep" | "clear" | "elide" | "summarize";

export interface PlannedMessage {
  /** Index in the planned list. */
  readonly index: number;
  readonly id: string;
  readonly role: Role;
  readonly layer: Layer;
  readonly action: PlannedAction;
  /** The change to a kept message, for `clear` and `elide`. */
  readonly edit?: Edit;
  /** Tokens now, and after the action (0 for `summarize`: the summary's tokens are counted separately). */
  readonly tokens: number;
  readonly tokensAfter: number;
  /** Human-readable reason. */
  readonly reason: string;
}

/**
 * How much of the latest user message a compaction keeps: all of it, the user's own words without injected or
 * pasted text, or only head and tail of those as well.
 */
export type AskFate = "whole" | "own_words" | "cut";

/** What a compaction will do. */
export interface CompactionPlan {
  readonly entries: readonly PlannedMessage[];
  /** Maximum tokens of the request afterwards, and the target. */
  readonly budget: number;
  readonly target: number;
  /** System prompt, tool schemas and pending input; never changed. */
  readonly fixedTokens: number;
  readonly tokensBefore: number;
  /** Maximum tokens of the result, if the summary uses all of its room. */
  readonly tokensAfter: number;
  /** Tokens reserved for the summary's text; 0 if nothing is summarized. */
  readonly summaryTokens: number;
  /** The keep counts after lowering, and how often they were lowered. */
  readonly keep: KeepCounts;
  readonly relaxed: number;
  readonly counts: Partition["counts"];
  /** Undefined if the list has no user message. */
  readonly newestAsk: { readonly index: number; readonly fate: AskFate } | undefined;
}

/** Plans a compaction; pure. Throws `InsufficientBudget` if what must stay does not fit the budget. */
export function planRequest(request: CompactionRequest): CompactionPlan {
  return runAtOnce(planInSteps(request));
}

export function* planInSteps(request: CompactionRequest): Steps<CompactionPlan> {
  const { reason, budget, messages, policy, counter } = request;
  if (reason === "max_bytes" || reason === "max_images")
    return yield* finish(releaseReasoning(fitMedia(keepAll(request))), budget);
  if (reason === "tool_output")
    return yield* finish(withEdits(keepAll(request), unsentCuts(messages, policy, counter)), budget);
  const limit = Math.min(budget, request.target ?? budget);
  const set = yield* fitToLimit(request, limit);
  if (floorOf(set) > budget) throw tooLarge(set);
  yield;
  return yield* finish(releaseReasoning(fitMedia(set)), limit);
}

/** The summary's share of a target that what must stay already exceeds. */
const MISSED_TARGET_SHARE = 0.1;

function* finish(set: KeepSet, limit: number): Steps<CompactionPlan> {
  const { request, latest } = set;
  const { budget, fixedTokens } = request;
  const floor = floorOf(set);
  // Missing the target anyway does not justify an empty summary.
  const room = floor > limit ? floor + limit * MISSED_TARGET_SHARE : limit;
  const summaryTokens = summaryRoom(set, Math.min(budget, room));
  yield;
  const entries = yield* flatMapInSteps(request.messages, (message, index) => [
    plannedMessage(set, message, index),
  ]);
  const summary = summaryTokens > 0 ? summaryCost(request, summaryTokens) : 0;
  return {
    entries,
    budget,
    target: limit,
    fixedTokens,
    tokensBefore: fixedTokens + entries.reduce((total, entry) => total + entry.tokens, 0),
    tokensAfter: fixedTokens + sumOf(set.kept, set.costs) + summary,
    summaryTokens,
    keep: set.keep,
    relaxed: set.relaxed,
    counts: set.partition.counts,
    newestAsk: latest === -1 ? undefined : { index: latest, fate: latestFate(set) },
  };
}

/**
 * Without a reserve, a summary gets at most half of the tokens of the messages it replaces, plus the tokens
 * of an earlier summary.
 */
function summaryRoom(set: KeepSet, limit: number): number {
  if (!needsSummary(set)) return 0;
  const { request, kept, edits, costs } = set;
  if (request.summaryReserve !== undefined) return request.maxSummaryTokens;
  let replaced = 0;
  let previous = 0;
  for (const [index, message] of request.messages.entries()) {
    const stays = kept.has(index);
    if (stays && !losesText(edits.get(index))) continue;
    const before = set.before[index] ?? 0;
    replaced += before - (stays ? (costs[index] ?? 0) : 0);
    if (message.meta?.summaryVersion !== undefined && !stays) previous += before;
  }
  const free = limit - request.fixedTokens - sumOf(kept, costs) - summaryOverhead(request.counter);
  const worth = Math.max(previous + (replaced - previous) / 2, MIN_SUMMARY_TOKENS / 2);
  return Math.max(0, Math.floor(Math.min(free, request.maxSummaryTokens, worth)));
}

function latestFate({ latest, edits }: KeepSet): AskFate {
  const edit = edits.get(latest);
  if (edit?.elideTo !== undefined && edit.sparesOwnWords !== true) return "cut";
  return actionOf(true, edit) === "keep" ? "whole" : "own_words";
}

function plannedMessage(set: KeepSet, message: Message, index: number): PlannedMessage {
  const layer = set.partition.layers[index] ?? "remainder";
  const edit = set.edits.get(index);
  const action = actionOf(set.kept.has(index), edit);
  const tokens = set.before[index] ?? 0;
  return {
    index,
    id: message.id,
    role: message.role,
    layer,
    action,
    edit,
    tokens,
    tokensAfter: action === "summarize" ? 0 : (set.costs[index] ?? tokens),
    reason: reasonFor(message, layer, action, edit),
  };
}

function actionOf(kept: boolean, edit: Edit | undefined): PlannedAction {
  if (!kept) return "summarize";
  if (edit?.clear === true) return "clear";
  const cut = edit?.elideTo ?? edit?.resultsTo ?? edit?.dropMedia;
  return cut === undefined ? "keep" : "elide";
}

function reasonFor(message: Message, layer: Layer, action: PlannedAction, edit: Edit | undefined): string {
  if (edit?.stripReasoning === true) return "kept without its reasoning, which was bound to what left";
  if (edit !== undefined && action === "elide") return cutReason(edit);
  if (action === "clear") return "kept near the recent part, its tool output or input emptied";
  if (action === "summarize") {
    return message.meta?.summaryVersion === undefined
      ? "older than what is kept"
      : "the earlier summary is folded into the new one";
  }
  if (layer === "pinned") return pinnedReason(message);
  if (layer === "recent") return "in the recent turns";
  if (layer === "toolPairs") return "among the newest tool calls";
  return "fits under the target";
}

function pinnedReason(message: Message): string {
  if (message.meta?.protected === true) return "protected";
  return isProjectInstructions(message)
    ? "the project's instructions"
    : `role ${message.role} is never pruned`;
}

function cutReason(edit: Edit): string {
  if (edit.dropMedia === true) return "its media are left out: too many, or too many bytes, for one request";
  if (edit.resultsTo !== undefined) return "tool output over the limit: keeps its head and tail";
  if (edit.sparesOwnWords === true)
    return "the newest request: what was injected or pasted into it keeps its head and tail";
  return "must stay but is too large: keeps its head and tail";
}

function keepAll(request: CompactionRequest): KeepSet {
  const [given = request.policy] = relaxations(request.policy);
  const set = keepByCounts(request, given, runAtOnce(groundOf(request)), 0);
  return { ...set, kept: new Set(request.messages.keys()) };
}

// ---- bytes and images on the wire

/** Media are reduced to these shares of the limits, so that the next image does not trigger again. */
const BYTES_SHARE = 0.5;
const IMAGES_SHARE = 0.8;

/**
 * Removes media, oldest first, while the kept messages exceed the limit of bytes or images; pinned messages
 * and the latest user message keep theirs. Throws `InsufficientBudget` if there are still too many bytes.
 */
function fitMedia(set: KeepSet): KeepSet {
  const { request, kept, edits } = set;
  const maxBytes = request.policy.maxRequestBytes;
  const { mostImages = Number.POSITIVE_INFINITY } = request;
  const messageAt = (index: number): Message => request.messages[index] as Message;
  const edited = (index: number, edit = edits.get(index)): Message =>
    applyEdit(messageAt(index), edit, request);
  let bytes = 0;
  let images = 0;
  for (const message of [...kept].map((index) => edited(index))) {
    bytes += wireBytes(message);
    images += imageCount(message);
  }
  const bytesAim = aimFor(bytes, maxBytes, BYTES_SHARE);
  const imagesAim = aimFor(images, mostImages, IMAGES_SHARE);
  const found = new Map<number, Edit>();
  for (const index of unpinned(set).sort((one, other) => one - other)) {
    if (bytes <= bytesAim && images <= imagesAim) break;
    const holdsImage = images > imagesAim && imageCount(messageAt(index)) > 0;
    const isHeavy = bytes > bytesAim && mediaBytes(messageAt(index)) > 0;
    if (index === set.latest || !(holdsImage || isHeavy)) continue;
    const edit: Edit = { ...edits.get(index), dropMedia: true };
    const [before, after] = [edited(index), edited(index, edit)];
    bytes += wireBytes(after) - wireBytes(before);
    images += imageCount(after) - imageCount(before);
    found.set(index, edit);
  }
  if (bytes <= maxBytes) return found.size === 0 ? set : withEdits(set, found);
  throw new CompactError(
    "InsufficientBudget",
    `the newest message and what is protected take ${bytes} bytes, but a request may have ${maxBytes}`,
    { hint: "Send smaller images, or raise policy.maxRequestBytes where the provider takes more." },
  );
}

/** The size down to which media are removed; the limit if it is not exceeded. */
function aimFor(size: number, limit: number, share: number): number {
  return size > limit ? limit * share : limit;
}

// ---- unsent tool results, and recalled ones

/** The tools that return archived messages to a model; they limit their own results. */
export const RECALL_TOOL_NAMES: ReadonlySet<string> = new Set(["compact_expand", "compact_search"]);

/**
 * Truncations of the tool results over `maxToolResultTokens` from the end of the last assistant message on: no request
 * has contained them yet. Pinned messages, recalled results and results of `excludeTools` stay whole.
 */
export function unsentCuts(
  messages: readonly Message[],
  { maxToolResultTokens: limit, ...policy }: Policy,
  counter: TokenCounter,
): [number, Edit][] {
  if (limit === undefined) return [];
  const isLong = (part: ToolResultPart): boolean => {
    const text = resultText(part);
    return text.length > limit && counter.countText(text) > limit;
  };
  const newest = messages.findLastIndex(({ role }) => role === "assistant");
  const start = endsInResult(messages[newest]) ? newest : newest + 1;
  const found = [...messages.keys()]
    .slice(start)
    .filter((index) => toolResults(messages[index] as Message).some(isLong));
  if (found.length === 0) return [];
  const sparedIn = callsOfTools(messages, new Set([...RECALL_TOOL_NAMES, ...(policy.excludeTools ?? [])]));
  const { layers } = partition(messages, policy);
  return found.flatMap((index): [number, Edit][] => {
    const message = messages[index] as Message;
    const spared = sparedIn(message);
    const isCut = toolResults(message).some((part) => isLong(part) && !spared.includes(part.id));
    return isCut && layers[index] !== "pinned" ? [[index, sparing({ resultsTo: limit }, spared)]] : [];
  });
}

/** True for an assistant message that holds its results, as UI messages do, and says nothing after them. */
function endsInResult(message: Message | undefined): boolean {
  const last = message?.parts.at(-1);
  return last?.type === "toolResult" && clientCalls(message as Message).some(({ id }) => id === last.id);
}

// ---- refusals

function tooLarge(set: KeepSet): CompactError {
  const { request, pinnedTokens } = set;
  const { budget, fixedTokens, policy, answerTokens = 0 } = request;
  if (budget <= 1 && answerTokens >= policy.hardCapBuffer && answerTokens > fixedTokens)
    return new CompactError(
      "InsufficientBudget",
      `the answer may take ${answerTokens} tokens, which leaves none for the list`,
      { hint: "Lower the output limit of the request, or raise the context limit." },
    );
  const refusal = (what: string, hint: string): CompactError =>
    new CompactError("InsufficientBudget", `${what}, but only ${budget} are available`, {
      hint: `${hint}.${answerHint(request)}`,
    });
  if (pinnedTokens > budget)
    return refusal(
      `the system prompt, tool schemas and protected messages take ${pinnedTokens} tokens (${fixedTokens} beside the messages and ${pinnedTokens - fixedTokens} in messages that must stay)`,
      `Reduce protected memory (system prompt, protected messages, tools) or raise ${limitsOf(request, Math.max(pinnedTokens, floorOf(set)))}: ${pinnedTokens} are taken before the conversation begins`,
    );
  const cuts = policy.onOverflow === "elide";
  const least = cuts ? minCutTokens(set) : floorOf(set);
  const subject = cuts
    ? "what must stay, with every text in it cut short,"
    : "the newest turn and tool call, with what is protected,";
  const others = cuts
    ? `reduce what is never cut: it takes ${pinnedTokens}`
    : 'set onOverflow to "elide" so that oversized messages keep their head and tail';
  return refusal(
    `${subject} take ${least} tokens${largestKept(set)}`,
    `Raise ${limitsOf(request, least)}, or ${others}`,
  );
}

/** What to raise for a list of `tokens`. Settings are in the provider's tokens, as far as its usage is known. */
function limitsOf(request: CompactionRequest, tokens: number): string {
  const { budget, policy, answerTokens, maxContextTokens } = request;
  if (maxContextTokens === undefined) return `maxTokens to ${tokens} tokens or more`;
  const available = availableOf(maxContextTokens, policy, answerTokens);
  const theirs = Math.max(tokens, Math.ceil((tokens * available) / budget));
  return limitsBelow(theirs, maxContextTokens, policy, answerTokens);
}

/** Advice if the answer takes a large part of the window. */
function answerHint({ answerTokens = 0, policy, budget }: CompactionRequest): string {
  if (answerTokens <= Math.max(policy.hardCapBuffer, budget / 4)) return "";
  return ` The answer may take ${answerTokens} tokens of the window: a lower output limit leaves more for the list.`;
}

/** Names the largest message that is not pinned, if it takes most of the budget. */
function largestKept(set: KeepSet): string {
  const { request, costs } = set;
  const index = unpinned(set).reduce(
    (most, one) => ((costs[one] ?? 0) > (costs[most] ?? 0) ? one : most),
    -1,
  );
  const tokens = costs[index] ?? 0;
  if (tokens * 2 < request.budget) return "";
  return ` (${tokens} of them in one ${request.messages[index]?.role} message)`;
}
