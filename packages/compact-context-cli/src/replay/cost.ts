import {
  type CacheRules,
  dollarsOf,
  lookUpModel,
  type ModelFacts,
  type ModelOverrides,
  type Prices,
  type PromptUse,
} from "compact-context/internal/tokens/models";
import { type CacheSegment, createCache, type SimulatedRules, tokensOf } from "./cache.ts";
import type { PlayedCall } from "./policies.ts";
import type { RecordedSession } from "./session.ts";

/** What a session costs under one policy, as `--json` has it; null for what the model's facts do not tell. */
export interface PolicyCost {
  readonly policy: string;
  readonly calls: number;
  /** Calls whose request does not extend the previous one. */
  readonly rewrites: number;
  /** Calls that the model would refuse, because the request exceeds its window. */
  readonly callsOverWindow: number;
  /** Prompt tokens of all calls without the summarizing ones. */
  readonly promptTokens: number;
  readonly meanTokens: number;
  readonly summarizingCalls: number;
  readonly summarizingTokens: number;
  /** Prompt tokens by origin; null if the model's cache is unknown. */
  readonly cachedTokens: number | null;
  readonly writtenTokens: number | null;
  readonly uncachedTokens: number | null;
  readonly cachedShare: number | null;
  /** Of the whole session, summarizing calls included; null if a price is unknown or a call is refused. */
  readonly dollars: number | null;
  /** Average cost of a prompt token as a share of the list price of input; answers are excluded. */
  readonly priceFactor: number | null;
}

/** Adds up what a policy costs; `add` takes the calls of the session in order. */
export function createCostTally(policy: string, session: RecordedSession, model: PricedModel) {
  const cache = model.rules === undefined ? undefined : createCache(model.rules);
  const sums = {
    calls: 0,
    rewrites: 0,
    callsOverWindow: 0,
    promptTokens: 0,
    summarizingCalls: 0,
    summarizingTokens: 0,
  };
  const use = { cachedTokens: 0, writtenTokens: 0, uncachedTokens: 0 };
  let previous: readonly CacheSegment[] = [];
  /** NaN if a price is unknown. */
  let dollars = 0;
  let promptDollars = 0;

  const priceOf = (found: PromptUse | undefined, outputTokens: number): number =>
    found === undefined ? Number.NaN : (dollarsOf(found, outputTokens, model) ?? Number.NaN);

  return {
    add({ segments, summarizing }: PlayedCall): void {
      const { time = 0, outputTokens = 0 } = session.calls[sums.calls] ?? {};
      if (summarizing !== undefined) {
        sums.summarizingCalls += 1;
        sums.summarizingTokens += tokensOf(summarizing.segments);
        const found = cache?.({ segments: summarizing.segments, breakpoints: [], time });
        const price = priceOf(found, summarizing.outputTokens);
        dollars += price;
        promptDollars += price;
      }
      const tokens = tokensOf(segments);
      const found = cache?.({ segments, breakpoints: breakpointsOf(segments, session), time });
      dollars += priceOf(found, outputTokens);
      promptDollars += priceOf(found, 0);
      use.cachedTokens += found?.cached ?? 0;
      use.writtenTokens += found?.written ?? 0;
      use.uncachedTokens += found?.uncached ?? 0;
      sums.calls += 1;
      sums.promptTokens += tokens;
      sums.rewrites += beginsWith(segments, previous) ? 0 : 1;
      sums.callsOverWindow += tokens > session.window ? 1 : 0;
      previous = segments;
    },
    cost(): PolicyCost {
      const isRefused = sums.callsOverWindow > 0;
      const listed = (sums.promptTokens * (model.prices.in ?? 0)) / 1_000_000;
      const known = { ...use, cachedShare: use.cachedTokens / Math.max(1, sums.promptTokens) };
      return {
        policy,
        ...sums,
        meanTokens: Math.round(sums.promptTokens / Math.max(1, sums.calls)),
        ...(cache === undefined ? UNKNOWN_USE : known),
        dollars: isRefused ? null : finite(dollars),
        priceFactor: isRefused ? null : finite(promptDollars / listed),
      };
    },
  };
}

const UNKNOWN_USE = { cachedTokens: null, writtenTokens: null, uncachedTokens: null, cachedShare: null };

/** The number; null for NaN and infinity. */
export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** One after the constant front, one after everything, as agents commonly set them. */
function breakpointsOf(segments: readonly CacheSegment[], { headLength }: RecordedSession): number[] {
  const last = segments.length - 1;
  return headLength > 0 && headLength <= last ? [headLength - 1, last] : [last];
}

function beginsWith(segments: readonly CacheSegment[], start: readonly CacheSegment[]): boolean {
  return start.every((segment, index) => segments[index]?.hash === segment.hash);
}

/** Cache rules and prices of a model, as far as they are known. */
export interface PricedModel {
  /** Undefined if the model's cache is unknown; then none is simulated. */
  readonly rules: SimulatedRules | undefined;
  /** Assumptions of the simulation where no figure is published, one clause each. */
  readonly assumed: readonly string[];
  readonly prices: Prices;
  readonly tier: ModelFacts["tier"];
  /** ISO 8601 date of the prices; `configuration` for prices that the caller set. */
  readonly asOf: string | undefined;
}

/** Anthropic looks back 20 blocks from a breakpoint; OpenAI has no such limit (their pages on prompt caching). */
const LOOKBACK: Readonly<Record<string, number>> = { anthropic: 20 };
/** The most common of the published minima. */
const ASSUMED_MINIMUM = 1024;

/** Rules and prices of a model from the table and the caller's overrides; never the prices of a related model. */
export function pricedModel(name: string | undefined, overrides: ModelOverrides = {}): PricedModel {
  const model = lookUpModel(name ?? "", overrides);
  const listed = lookUpModel(name ?? "");
  const isOverridden = model.prices !== listed.prices || model.tier !== listed.tier;
  const asOf = isOverridden && model.asOf === listed.asOf ? "configuration" : model.asOf;
  return {
    rules: model.known ? rulesOf(model) : undefined,
    assumed: model.known ? assumptionsOf(model.cache) : [],
    prices: model.prices,
    tier: model.tier,
    asOf: asOf ?? undefined,
  };
}

function rulesOf({ cache, provider }: ModelFacts): SimulatedRules {
  return {
    kind: cache.kind,
    minimum: cache.min ?? ASSUMED_MINIMUM,
    lifetime: cache.ttl ?? Number.POSITIVE_INFINITY,
    lookback: LOOKBACK[provider] ?? Number.POSITIVE_INFINITY,
  };
}

function assumptionsOf({ kind, min, ttl }: CacheRules): string[] {
  const assumed: string[] = [];
  if (kind === "none") return assumed;
  if (min === null) assumed.push("prompts of 1,024 tokens and more are assumed to be cacheable");
  if (ttl === null) assumed.push("entries are assumed never to expire");
  return assumed;
}
