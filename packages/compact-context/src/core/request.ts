import { CompactError, didYouMean, isList, isObject, kindOf, requireOptions } from "../errors.ts";
import type { Format, LiveSummary, Message } from "./message.ts";
import type { Policy, TriggerReason } from "./policy.ts";
import type { Codecs, CompactByProvider, ListCodec, LiveConversation, TokenCounter } from "./ports.ts";

// What a call asks for, the settings that it runs under, what its request costs by our count and by the provider's, the
// request for a compaction, and how the fields of what a caller passes are checked.

/** What a call sends in addition to its messages. */
export interface PreflightRequest {
  /** The model that receives the list: its window, thresholds and counting hold for this call. Default: the manager's. */
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** Pending user input that is not in the list yet. */
  readonly input?: string;
  /** The provider's usage record of the previous call, or that whole answer; calibrates later estimates. */
  readonly usage?: unknown;
  /**
   * Whether the provider's prompt cache has evicted this session. Default: cold after
   * `policy.cacheTtlSeconds` without a call; warm if the process does not know the last call.
   */
  readonly cacheCold?: boolean;
  /**
   * Maximum tokens of the answer (the request's own limit), subtracted from the window if input and output
   * share it.
   */
  readonly maxOutputTokens?: number;
  /** Default: detected from the list. */
  readonly format?: Format;
  /** Whether the list is repaired before it is read. Default: the manager's setting. */
  readonly repair?: boolean;
  readonly signal?: AbortSignal;
  /** Asks the provider to compact entries, for `summarizer.kind: "provider"`. */
  readonly compact?: CompactByProvider;
}

/** A provider's report of a request that is too long, in its own tokens; fields are absent if not reported. */
export interface TooLong {
  /** Maximum tokens accepted. */
  readonly limit?: number;
  /** Tokens of the request without its answer. */
  readonly input?: number;
  /** Tokens reserved for the answer within the same limit. */
  readonly answer?: number;
}

export interface ManualRequest extends PreflightRequest {
  /** The user's reason; included in the event and passed to the summarizer as an instruction. */
  readonly note?: string;
  /** Target in tokens; if omitted, everything eligible is summarized. */
  readonly targetTokens?: number;
  /** The provider refused this list as too long: the target is below its limit, and it is learned from. */
  readonly refused?: TooLong;
  /** The model whose refusals are learned from, where calls of one manager go to several. Default: `model`. */
  readonly answeredBy?: string;
}

const REQUEST_FIELDS: Fields<ManualRequest> = {
  model: "text",
  system: "text",
  tools: "list",
  input: "text",
  usage: "unchecked",
  cacheCold: "flag",
  maxOutputTokens: "number",
  format: "unchecked",
  repair: "flag",
  signal: "signal",
  compact: "function",
  note: "text",
  targetTokens: "number",
  refused: "object",
  answeredBy: "text",
};

/** Throws `InvalidArgument` for a value that is not a request. Hosts pass on nulls of their SDK: each is nothing. */
export function requireRequest(request: ManualRequest): void {
  requireFields(request, REQUEST_FIELDS, "request");
}

/** Settings that all sessions share. */
export interface SessionSettings {
  readonly policy: Policy;
  readonly summaryRole: "assistant" | "user" | "system";
  readonly maxContextTokens: number;
  /** Maximum tokens of a summary. Default: a tenth of the window, at most 8,192. */
  readonly maxSummaryTokens: number | undefined;
  /** The model's name, for events. */
  readonly model: string | undefined;
  /** The model accepts signed reasoning only after an unchanged prefix. */
  readonly reasoningBound: boolean;
  readonly codecs: Codecs;
  /** The counter of the model; if no model is named, the default for lists of this format. */
  counterFor(format: ListCodec["format"]): TokenCounter;
  /** Input tokens of a provider's usage record; undefined if it has none. */
  readUsage(usage: unknown): number | undefined;
  /** True if the window limits the input alone, so that the answer takes nothing from it. */
  limitsInputOnly(format: ListCodec["format"]): boolean;
}

/** A list to compact with its counter and limits: the input of planning, applying and reporting. */
export interface CompactionRequest {
  readonly messages: readonly Message[];
  /** Format of the caller's list; undefined for neutral messages of unknown format. */
  readonly format: Format | undefined;
  readonly counter: TokenCounter;
  readonly policy: Policy;
  readonly reason: TriggerReason;
  /** Tokens sent in addition to the messages. */
  readonly fixedTokens: number;
  readonly budget: number;
  /** Window of a session's model; a single compaction has none: its budget is given. */
  readonly maxContextTokens?: number;
  /** Maximum images. Default: no limit. */
  readonly mostImages?: number;
  /** Tokens of the window that the answer takes from the budget. Default: 0. */
  readonly answerTokens?: number;
  /** Target in tokens; missed if what must stay is larger. If omitted, everything eligible is summarized. */
  readonly target?: number;
  /**
   * Size in tokens below which the next compaction is far enough away; limits what is restored or removed as
   * a last resort.
   */
  readonly preferred?: number;
  readonly maxSummaryTokens: number;
  /** Tokens reserved for the whole summary message; if omitted, its size depends on what it replaces. */
  readonly summaryReserve?: number;
  readonly summaryRole: "assistant" | "user" | "system";
  /** Creates the summary message, marked with its version. Default: a message with our tag. */
  readonly summaryAs?: (summary: LiveSummary) => Message;
  /** Version of the newest summary that is not in the list; 0 if there is none. */
  readonly lastSummaryVersion?: number;
  /** The model accepts signed reasoning only after an unchanged prefix. */
  readonly reasoningBound: boolean;
  /** The archive id of a message; omitted if nothing is archived. */
  readonly archiveId?: (message: Message) => string;
  /** Recalled results that stay whole while there is room: the model has just requested them. */
  readonly recalled?: ReadonlySet<Message>;
  /** Project instructions: pinned as long as they leave enough room for the conversation. */
  readonly instructions?: ReadonlySet<Message>;
  /** Messages that always stay, with everything that belongs to them. */
  readonly held?: ReadonlySet<Message>;
  /** What the user asked the compaction to preserve. */
  readonly note?: string;
  readonly signal?: AbortSignal;
  /** The conversation as sent in the agent's last call; called if a summarizer can use it. */
  readonly live?: () => LiveConversation | undefined;
}

// ---- what reported usage teaches

/** The provider's count and our estimate for the same messages. */
interface Anchor {
  readonly reported: number;
  readonly estimated: number;
}

/** What was learned from reported usage; plain JSON, stored with the session. */
export interface Calibration {
  /** The counter of these estimates; a different counter resets the calibration. */
  readonly counterId: string | null;
  readonly anchor: Anchor | null;
  /** Growth between calls, reported and estimated, with decaying weight; their quotient is the running ratio. */
  readonly grownReported: number;
  readonly grownEstimated: number;
  /** Reported tokens that our messages do not account for: hidden prompts, tools that were not passed. */
  readonly offset: number;
  /** One for each model and format that refused, the latest last. */
  readonly refusals?: readonly Refusal[];
}

/** No model accepts more tokens: larger reports are ignored. */
const MOST_REPORTED = 10_000_000;
/** Weight of earlier growth each time new growth is observed. */
const FADE = 0.9;
/** Growth in tokens with the same weight as the prior that our ratio is correct. */
const PRIOR_TOKENS = 2_000;
/** Limits of the running ratio; beyond them something else has changed. */
const SMALLEST_RATIO = 0.5;
const LARGEST_RATIO = 2;
/** Growth with another ratio is not of text (a hidden compaction, dropped reasoning) and is ignored. */
const SMALLEST_GROWTH = 0.2;
const LARGEST_GROWTH = 5;

/** A calibration that leaves estimates unchanged. */
export function emptyCalibration(): Calibration {
  return { counterId: null, anchor: null, grownReported: 0, grownEstimated: 0, offset: 0 };
}

/** Reported tokens per estimated token of new text: between 0.5 and 2; 1 before anything was learned. */
export function runningRatio({ grownReported, grownEstimated }: Calibration): number {
  const ratio = (grownReported + PRIOR_TOKENS) / (grownEstimated + PRIOR_TOKENS);
  return Math.min(LARGEST_RATIO, Math.max(SMALLEST_RATIO, ratio));
}

/**
 * Uses the usage of a finished call as the new anchor and learns from the growth since the last one. A
 * different `counterId` resets the calibration first; numbers that are not positive and finite are ignored.
 */
export function observeUsage(
  calibration: Calibration,
  observation: Anchor & Counted & { readonly counterId: string },
): Calibration {
  const { reported, estimated, counterId, of, maxContextTokens } = observation;
  if (!(reported > 0 && reported <= MOST_REPORTED && estimated > 0 && Number.isFinite(estimated)))
    return calibration;
  const known = calibration.counterId === counterId ? calibration : emptyCalibration();
  const { refusals } = calibration;
  const learned = learnGrowth(known, observation);
  return {
    counterId,
    anchor: { reported, estimated },
    ...learned,
    offset: Math.max(0, reported - estimated * runningRatio({ ...known, ...learned })),
    refusals: refusals?.map((refusal) => {
      if (refusal.of !== of) return refusal;
      const ratio = Math.min(refusal.ratio, reported / estimated);
      return { ...refusal, ratio, scale: Math.min(refusal.scale, maxContextTokens / reported) };
    }),
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
 * An estimate corrected by reported usage: the anchor plus later additions, at the running ratio. Without an
 * anchor (after a compaction) the ratio and the unexplained offset apply. Never below 0; unchanged if
 * `counterId` is given and differs from that of the calibration.
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
 * Discards the anchor and the growth from before a compaction, so that neither is compared with later values;
 * the ratio carries over with little weight, the offset (hidden prompts) stays until the next report.
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

/**
 * The budget in our counter's tokens: minus what the provider adds unseen, at the learned ratio. `leastShare`
 * is the minimum that one of our tokens stands for, 0 to 1; no report enlarges the budget beyond that.
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

// ---- what refusals teach

/** What a provider's refusals taught of how full it finds a request. */
interface Refusal {
  /** The model and format that were refused; it says nothing about others. */
  readonly of: string;
  /** The limit that was reported last; 0 if none was. */
  readonly limit: number;
  /** The provider's tokens per token of ours; reported usage lowers it. */
  readonly ratio: number;
  /** Our window per token of the provider's limit; a larger request that it answered lowers it. */
  readonly scale: number;
  /** Whether it counted the room for the answer too; then that room scales with the limit. */
  readonly withAnswer?: boolean;
  /** Refusals so far: each makes it fade more slowly. */
  readonly times: number;
}

/** A request counts at most this many times, unless it is over a plausible limit by its provider's count and by ours. */
const MOST_FULL = 2.5;
/** Hardly a model has a smaller window: a smaller limit is believed when it is repeated, down to the second. */
const LEAST_LIMIT = 4_000;
const LEAST_REPEATED = 512;
/** Models whose refusals a session remembers. */
const MOST_REFUSING = 8;
/** A refusal without a count raises the ratio by this factor at most. */
const STEP = 1.25;
/** The share of a first refusal that fades with each compaction; of a further one less, up to some. */
const REFUSAL_FADE = 0.4;
const MOST_TIMES = 4;
/** A refused request is compacted to this share of its tokens, */
const HARDER = 0.5;
/** or to this share of the limit that the provider reported. */
const SHARE_OF_LIMIT = 0.9;

/** A request as it was counted here, and the window of its model. */
interface Counted {
  readonly of: string;
  readonly estimated: number;
  readonly maxContextTokens: number;
}

/**
 * Learns from a refusal: the reported count over ours, and the reported limit. If one of them is not reported,
 * or so far from ours that it is no matter of counting, the request was just too long: a small step.
 */
export function observeRefusal(
  calibration: Calibration,
  { input = Number.POSITIVE_INFINITY, limit = 0, answer }: TooLong,
  { of, estimated, maxContextTokens }: Counted,
): Calibration {
  const { refusals = [] } = calibration;
  const known = refusals.find((refusal) => refusal.of === of) ?? { ratio: 1, scale: 1, times: 0, limit: 0 };
  const step = Math.min((limit || maxContextTokens) / estimated, known.ratio * STEP);
  const counted = input / estimated;
  const ratio = Math.max(1, counted > MOST_FULL ? Math.max(known.ratio, step) : counted);
  const told = maxContextTokens / limit;
  const isPlausible = limit >= LEAST_LIMIT || (limit >= LEAST_REPEATED && limit === known.limit);
  const isOver = isPlausible && Math.min(input, estimated * ratio) > limit;
  const scale = isOver ? told : Math.min(told > MOST_FULL ? known.scale : told, MOST_FULL / ratio);
  const times = Math.min(known.times + 1, MOST_TIMES);
  const refusal = { of, limit, ratio, scale, withAnswer: answer !== undefined, times };
  const others = refusals.filter((other) => other.of !== of);
  return { ...calibration, refusals: [...others, refusal].slice(-MOST_REFUSING) };
}

/** How much fuller than we the provider finds a request of `tokens`, by what its refusals taught; at least 1. */
export function strictnessOf(tokens: number, { refusals }: Calibration, { of, estimated }: Counted): number {
  const refusal = refusals?.find((one) => one.of === of);
  if (refusal === undefined || tokens === 0) return 1;
  return Math.max(1, Math.max(1, (estimated * refusal.ratio) / tokens) * refusal.scale);
}

/** The room for the answer in tokens of our window, which are more than the model's where its own is smaller. */
export function answerRoom(
  answer: number,
  { refusals }: Calibration,
  { of, maxContextTokens }: Counted,
): number {
  const refusal = refusals?.find((one) => one.of === of);
  const room = refusal?.withAnswer === true ? answer * Math.max(1, refusal.scale) : answer;
  return room < maxContextTokens ? room : answer;
}

/** After an automatic compaction: what refusals of this model taught counts for less, so that an error is not kept. */
export function fadeRefusal(calibration: Calibration, of: string): Calibration {
  const refusals = calibration.refusals?.map((refusal) => {
    if (refusal.of !== of) return refusal;
    const kept = 1 - REFUSAL_FADE / refusal.times;
    const faded = (factor: number): number => Math.min(factor, 1 + (factor - 1) * kept);
    return { ...refusal, ratio: faded(refusal.ratio), scale: faded(refusal.scale) };
  });
  return refusals === undefined ? calibration : { ...calibration, refusals };
}

/** Target for a refused request of `counted` tokens, in our tokens. */
export function refusedTarget({ limit = 0, input, answer }: TooLong, counted: number, asked: number): number {
  const room = limit - (answer ?? asked);
  const theirs = input ?? counted;
  const share = room > 0 && theirs > room ? (room * SHARE_OF_LIMIT) / Math.max(theirs, counted) : HARDER;
  return Math.floor(counted * share);
}

// ---- the fields of what a caller passes: without types, a misspelled name or a wrong kind would fail late or not at all

interface Kind {
  readonly wanted: string;
  accepts(value: unknown): boolean;
}

type KindName = "text" | "flag" | "number" | "positive" | "list" | "object" | "function" | "signal";

const KINDS: Readonly<Record<KindName, Kind>> = {
  text: { wanted: "a string", accepts: (value) => typeof value === "string" },
  flag: { wanted: "true or false", accepts: (value) => typeof value === "boolean" },
  number: { wanted: "a number, 0 or more", accepts: (value) => typeof value === "number" && value >= 0 },
  positive: { wanted: "a number above 0", accepts: (value) => typeof value === "number" && value > 0 },
  list: { wanted: "an array", accepts: isList },
  object: { wanted: "an object", accepts: (value) => isObject(value) || typeof value === "function" },
  function: { wanted: "a function", accepts: (value) => typeof value === "function" },
  // Any object with the interface: a runtime or a test may have a class of its own.
  signal: { wanted: "an AbortSignal", accepts: (value) => isObject(value) && "addEventListener" in value },
};

/** The kind of a field's value, or its possible values. `unchecked`: whoever reads it checks it, or takes anything. */
type FieldKind = KindName | "unchecked" | readonly string[];

/** The kinds of all fields of an object. */
export type Fields<T> = Readonly<Record<keyof T, FieldKind>>;

/** What a caller's object is, with a word for one of its fields and for all of them. */
const OWNERS = {
  options: { one: "an option", all: "options" },
  ports: { one: "a port of a manager", all: "ports" },
  request: { one: "a field of a request", all: "fields" },
  owner: { one: "a part of an owner", all: "parts" },
  retention: { one: "a limit of a retention", all: "limits" },
};

/**
 * Throws `InvalidArgument` unless the value is an object, for a field that does not exist, and for a value of another
 * kind; `hint` says what to pass in place of what is no object.
 */
export function requireFields<T extends object>(
  given: T,
  fields: Fields<NoInfer<T>>,
  place: keyof typeof OWNERS = "options",
  hint?: string,
): void {
  requireOptions(given, place, hint);
  const kinds: Readonly<Record<string, FieldKind>> = fields;
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      const names = Object.keys(kinds);
      const { one, all } = OWNERS[place];
      throw new CompactError("InvalidArgument", `${name} is not ${one}${didYouMean(name, names)}`, {
        place: `${place}.${name}`,
        hint: `The ${all} are ${names.join(", ")}.`,
      });
    }
    if (value === undefined || (value === null && place === "request") || kind === "unchecked") continue;
    const { wanted, accepts }: Kind = typeof kind === "string" ? KINDS[kind] : oneOf(kind);
    if (accepts(value)) continue;
    throw new CompactError("InvalidArgument", `${place}.${name} must be ${wanted}, not ${shown(value)}`, {
      place: `${place}.${name}`,
      hint: `Pass ${wanted}, or leave it out where it is optional.`,
    });
  }
}

function oneOf(values: readonly string[]): Kind {
  return {
    wanted: `one of ${values.join(", ")}`,
    accepts: (value: unknown) => values.includes(value as string),
  };
}

function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.length <= 40 ? JSON.stringify(value) : kindOf(value);
}
