import { refuseUnknown, requireOptions } from "../errors.ts";
import type { Format, LiveSummary, Message } from "./message.ts";
import type { Policy, TriggerReason } from "./policy.ts";
import type { CompactByProvider, LiveConversation, TokenBreakdown, TokenCounter } from "./ports.ts";

// What a request costs: what is sent besides the messages, the limits, and calibration by reported usage.

/** What is sent besides the messages of one call. */
export interface PreflightRequest {
  /** The model that the list goes to; the manager's own when left out. Its window, thresholds and counting hold for this call. */
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** What the user is about to send and is not in the list yet. */
  readonly input?: string;
  /** The provider's usage record of the call before, in its own shape: later estimates are calibrated by it. */
  readonly usage?: unknown;
  /**
   * Whether the provider's prompt cache has forgotten this session. When left out, it is taken to be cold
   * after `policy.cacheTtlSeconds` without a call; a process that does not know the last call takes it to be warm.
   */
  readonly cacheCold?: boolean;
  /** Most tokens the answer may have (the request's own limit); taken from the window where input and output share it. */
  readonly maxOutputTokens?: number;
  /** Recognised from the list when left out. */
  readonly format?: Format;
  /** Whether the list is mended before it is looked at; as the manager is set when left out. */
  readonly repair?: boolean;
  readonly signal?: AbortSignal;
  /** Has the provider compact entries by itself, for `summarizer.kind: "provider"`. */
  readonly compact?: CompactByProvider;
}

export interface ManualRequest extends PreflightRequest {
  /** Why, in a person's words; in the event, and an instruction to the summarizer. */
  readonly note?: string;
  /** Tokens to aim for; without it everything eligible is summarized. */
  readonly targetTokens?: number;
}

const REQUEST_FIELDS: Readonly<Record<keyof ManualRequest, true>> = {
  model: true,
  system: true,
  tools: true,
  input: true,
  usage: true,
  cacheCold: true,
  maxOutputTokens: true,
  format: true,
  repair: true,
  signal: true,
  compact: true,
  note: true,
  targetTokens: true,
};

/** Throws `InvalidArgument` for what is no request. */
export function requireRequest(request: ManualRequest): void {
  requireOptions(request, "request");
  refuseUnknown(request, REQUEST_FIELDS, "request");
}

/** A list to compact with its counter and limits: the input of planning, applying and reporting. */
export interface CompactionRequest {
  readonly messages: readonly Message[];
  /** Format of the caller's list; undefined for neutral messages of no known format. */
  readonly format: Format | undefined;
  readonly counter: TokenCounter;
  readonly policy: Policy;
  readonly reason: TriggerReason;
  /** Tokens beside the messages. */
  readonly fixedTokens: number;
  readonly budget: number;
  /** Tokens of the window that the answer takes from the budget; 0 when left out. */
  readonly answerTokens?: number;
  /** Tokens to aim for; missed where what must stay is larger. Without it everything eligible is summarized. */
  readonly target?: number;
  /** Tokens below which the next compaction is far enough away; limits what is put back or removed as a last resort. */
  readonly preferred?: number;
  readonly maxSummaryTokens: number;
  /** Tokens reserved for the whole summary message; without it, its room depends on what it replaces. */
  readonly summaryReserve?: number;
  readonly summaryRole: "assistant" | "user" | "system";
  /** The summary as a message, marked with its version; a message with our tag when left out. */
  readonly summaryAs?: (summary: LiveSummary) => Message;
  /** Version of the newest summary that is not in the list; 0 for none. */
  readonly lastSummaryVersion?: number;
  /** The model takes signed reasoning back only behind an unchanged prefix. */
  readonly reasoningBound: boolean;
  /** The id under which the archive holds a message; none where nothing is archived. */
  readonly archiveId?: (message: Message) => string;
  /** Tool answers that stay whole while there is room: the model has just asked for them. */
  readonly recalled?: ReadonlySet<Message>;
  /** Project instructions: pinned as long as they leave enough to the conversation. */
  readonly instructions?: ReadonlySet<Message>;
  /** Messages that always stay, with all that belongs to them. */
  readonly held?: ReadonlySet<Message>;
  /** What a person asked the compaction to preserve. */
  readonly note?: string;
  readonly signal?: AbortSignal;
  /** The conversation as the agent's last call sent it; called where a summarizer can use it. */
  readonly live?: () => LiveConversation | undefined;
}

/** Tokens of the messages in a view. */
export interface MessageTotals {
  readonly tokens: number;
  /** The part of them that is an estimate whatever the encoding: media and unreadable reasoning. */
  readonly uncertain: number;
  /** Those among them that are system and developer messages. */
  readonly system: number;
  readonly developer: number;
}

/** Tokens of a request by origin: the messages of a view and what travels beside them. */
export function requestBreakdown(
  totals: MessageTotals,
  { system, tools, input }: Pick<PreflightRequest, "system" | "tools" | "input">,
  counter: TokenCounter,
): TokenBreakdown {
  const pending = input === undefined ? 0 : counter.countText(input);
  return {
    system: totals.system + counter.countSystem(system),
    developer: totals.developer,
    tools_schema: counter.countTools(tools),
    messages: totals.tokens - totals.system - totals.developer + pending + counter.perRequest,
  };
}

export function totalOf({ system, developer, tools_schema, messages }: TokenBreakdown): number {
  return system + developer + tools_schema + messages;
}

// ---- calibration by reported usage

/** What the provider counted and what we had estimated, for the same messages. */
export interface Anchor {
  readonly reported: number;
  readonly estimated: number;
}

/** What reported usage taught; plain JSON, stored with the session. */
export interface Calibration {
  /** The counter of these estimates; another counter starts from nothing. */
  readonly counterId: string | null;
  readonly anchor: Anchor | null;
  /** Growth between calls as reported and as estimated, old growth fading; their quotient is the running ratio. */
  readonly grownReported: number;
  readonly grownEstimated: number;
  /** Reported tokens that no message of ours explains: hidden prompts, tools that were not passed; never negative. */
  readonly offset: number;
}

/** No model takes more tokens: a report above it says nothing. */
const MOST_REPORTED = 10_000_000;
/** How much of the growth seen before still counts when new growth is seen. */
const FADE = 0.9;
/** Growth in tokens that weighs as much as the assumption that our ratio is right. */
const PRIOR_TOKENS = 2_000;
/** The running ratio stays between these; beyond them something else has changed. */
const SMALLEST_RATIO = 0.5;
const LARGEST_RATIO = 2;
/** Growth with a ratio outside this range is not growth of text (a hidden compaction, dropped reasoning) and is ignored. */
const SMALLEST_GROWTH = 0.2;
const LARGEST_GROWTH = 5;

/** Leaves estimates unchanged. */
export function emptyCalibration(): Calibration {
  return { counterId: null, anchor: null, grownReported: 0, grownEstimated: 0, offset: 0 };
}

/** Reported tokens per estimated token of new text, 1 before anything was learned, between 0.5 and 2. */
export function runningRatio({ grownReported, grownEstimated }: Calibration): number {
  const ratio = (grownReported + PRIOR_TOKENS) / (grownEstimated + PRIOR_TOKENS);
  return Math.min(LARGEST_RATIO, Math.max(SMALLEST_RATIO, ratio));
}

/**
 * Takes the usage of one finished call as the new anchor and learns from the growth since the last one.
 * Another `counterId` forgets everything first; numbers that are not positive and finite change nothing.
 */
export function observeUsage(
  calibration: Calibration,
  observation: Anchor & { readonly counterId: string },
): Calibration {
  const { reported, estimated, counterId } = observation;
  if (!(reported > 0 && reported <= MOST_REPORTED && estimated > 0 && Number.isFinite(estimated)))
    return calibration;
  const known = calibration.counterId === counterId ? calibration : emptyCalibration();
  const learned = learnGrowth(known, observation);
  return {
    counterId,
    anchor: { reported, estimated },
    ...learned,
    offset: Math.max(0, reported - estimated * runningRatio({ ...known, ...learned })),
  };
}

function learnGrowth(
  { anchor, grownReported, grownEstimated }: Calibration,
  { reported, estimated }: Anchor,
): Pick<Calibration, "grownReported" | "grownEstimated"> {
  const moreReported = reported - (anchor?.reported ?? reported);
  const moreEstimated = estimated - (anchor?.estimated ?? estimated);
  const growth = moreReported / moreEstimated;
  const plausible = moreEstimated > 0 && growth >= SMALLEST_GROWTH && growth <= LARGEST_GROWTH;
  if (!plausible) return { grownReported, grownEstimated };
  return {
    grownReported: grownReported * FADE + moreReported,
    grownEstimated: grownEstimated * FADE + moreEstimated,
  };
}

/**
 * An estimate corrected by what was reported: the anchor plus what was added since, at the running ratio.
 * Without an anchor (after a compaction) the ratio and the unexplained offset apply. Never below 0;
 * unchanged when `counterId` is given and is not the one that was learned from.
 */
export function calibrated(estimate: number, calibration: Calibration, counterId?: string): number {
  if (calibration.counterId === null) return estimate;
  if (counterId !== undefined && counterId !== calibration.counterId) return estimate;
  const ratio = runningRatio(calibration);
  const { anchor, offset } = calibration;
  const corrected =
    anchor === null ? offset + estimate * ratio : anchor.reported + (estimate - anchor.estimated) * ratio;
  return Math.max(0, Math.round(corrected));
}

/**
 * Forgets the anchor and the growth before a compaction, so that neither is compared with what comes after;
 * the ratio carries over with little weight, the offset (hidden prompts) stays until the next call reports.
 */
export function afterCompaction(calibration: Calibration): Calibration {
  const ratio = runningRatio(calibration);
  return {
    ...calibration,
    anchor: null,
    grownReported: (2 * ratio - 1) * PRIOR_TOKENS,
    grownEstimated: PRIOR_TOKENS,
  };
}

/** Media and unreadable reasoning may cost half of their estimate. */
const UNCERTAIN_LOW = 0.5;

/**
 * The least that a request may cost: what was counted exactly, and the low end of the range of what was estimated.
 * Reported usage may raise an estimate without bound; it never lowers one below this.
 */
export function leastTokens(tokens: number, uncertain: number, counter: TokenCounter): number {
  const doubtful = Math.min(uncertain, tokens);
  return counter.range(tokens - doubtful).low + Math.floor(doubtful * UNCERTAIN_LOW);
}

/**
 * The budget in our counter's tokens: less what the provider adds unseen, at the ratio that was learned. `leastShare` is
 * the least that a token of our count may stand for, 0 to 1: no report makes the budget larger than that allows.
 */
export function calibratedBudget(
  budget: number,
  calibration: Calibration,
  { counterId, leastShare }: { readonly counterId: string; readonly leastShare: number },
): number {
  const learned = afterCompaction(calibration);
  if (learned.counterId !== counterId) return budget;
  const ratio = Math.max(runningRatio(learned), leastShare);
  return Math.max(1, Math.floor((budget - learned.offset) / ratio));
}
