import type { TokenCounter } from "./ports.ts";

// How many tokens a provider counts for one of ours: learned from the usage that it reports, and from its refusals of
// requests that are too long by its count.

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
  /**
   * Growth between calls, reported and estimated, with decaying weight; their quotient is the running ratio.
   */
  readonly grownReported: number;
  readonly grownEstimated: number;
  /**
   * Reported tokens that our messages do not account for: hidden prompts, tools that were not passed; never
   * negative.
   */
  readonly offset: number;
  readonly refusal?: Refusal;
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
/**
 * Growth with a ratio outside this range is not text growth (a hidden compaction, dropped reasoning) and is
 * ignored.
 */
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
  observation: Anchor & { readonly counterId: string },
): Calibration {
  const { reported, estimated, counterId } = observation;
  if (!(reported > 0 && reported <= MOST_REPORTED && estimated > 0 && Number.isFinite(estimated)))
    return calibration;
  const known = calibration.counterId === counterId ? calibration : emptyCalibration();
  const { refusal } = calibration;
  const learned = learnGrowth(known, observation);
  return {
    counterId,
    anchor: { reported, estimated },
    ...learned,
    offset: Math.max(0, reported - estimated * runningRatio({ ...known, ...learned })),
    ...(refusal && {
      refusal: { ...refusal, ratio: Math.min(refusal.ratio, reported / estimated) },
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

/**
 * A provider's report of a request that is too long, in its own tokens; fields are absent if not reported.
 */
export interface TooLong {
  /** Maximum tokens accepted. */
  readonly limit?: number;
  /** Tokens of the request without its answer. */
  readonly input?: number;
  /** Tokens reserved for the answer within the same limit. */
  readonly answer?: number;
}

/** What a provider's refusals taught of how full it finds a request. */
interface Refusal {
  /** The model and format that were refused; it says nothing about others. */
  readonly of: string;
  /** The provider's tokens per token of ours; reported usage lowers it. */
  readonly ratio: number;
  /** Our window per token of the provider's limit. */
  readonly scale: number;
  /** Refusals so far: each makes it fade more slowly. */
  readonly times: number;
}

/** Whatever a provider says, a request counts at most this many times. */
const MOST_FULL = 2.5;
/** A refusal without a count raises the ratio by this factor at most. */
const STEP = 1.25;
/** The share of a first refusal that fades with each compaction. */
const REFUSAL_FADE = 0.4;
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
  { input = Number.POSITIVE_INFINITY, limit = 0 }: TooLong,
  { of, estimated, maxContextTokens }: Counted,
): Calibration {
  const { refusal } = calibration;
  const known = refusal?.of === of ? refusal : { ratio: 1, scale: 1, times: 0 };
  const step = Math.min((limit || maxContextTokens) / estimated, known.ratio * STEP);
  const counted = input / estimated;
  const ratio = Math.max(1, counted > MOST_FULL ? Math.max(known.ratio, step) : counted);
  const scale = maxContextTokens / limit;
  const told = scale > MOST_FULL ? known.scale : scale;
  return {
    ...calibration,
    refusal: { of, ratio, scale: Math.min(told, MOST_FULL / ratio), times: known.times + 1 },
  };
}

/** How much fuller than we the provider finds a request of `tokens`, by what its refusals taught; at least 1. */
export function strictnessOf(
  tokens: number,
  { refusal }: Calibration,
  { of, estimated }: Pick<Counted, "of" | "estimated">,
): number {
  if (refusal?.of !== of || tokens === 0) return 1;
  return Math.max(1, Math.max(1, (estimated * refusal.ratio) / tokens) * refusal.scale);
}

/** After an automatic compaction: what refusals taught counts for less, so that an error is not kept. */
export function fadeRefusal(calibration: Calibration): Calibration {
  const { refusal } = calibration;
  if (refusal === undefined) return calibration;
  const kept = 1 - REFUSAL_FADE / refusal.times;
  const faded = (factor: number): number => Math.min(factor, 1 + (factor - 1) * kept);
  return {
    ...calibration,
    refusal: { ...refusal, ratio: faded(refusal.ratio), scale: faded(refusal.scale) },
  };
}

/** Target for a refused request of `counted` tokens, in our tokens. */
export function refusedTarget({ limit = 0, input, answer }: TooLong, counted: number, asked: number): number {
  const room = limit - (answer ?? asked);
  const theirs = input ?? counted;
  const share = room > 0 && theirs > room ? (room * SHARE_OF_LIMIT) / Math.max(theirs, counted) : HARDER;
  return Math.floor(counted * share);
}
