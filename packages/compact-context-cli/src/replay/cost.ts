import {
  type CacheRules,
  dollarsOf,
  lookUpModel,
  type ModelFacts,
  type ModelOverrides,
  type Prices,
  type PromptUse,
} from "compact-context/internal/tokens/models";
import { type CacheRequest, type CacheSegment, createCache, type SimulatedRules, tokensOf } from "./cache.ts";
import type { PlayedCall } from "./policies.ts";
import type { RecordedSession } from "./session.ts";

/** What a session costs under one policy. */
export interface PolicyCost {
  readonly name: string;
  readonly calls: number;
  /** Calls whose request does not extend the previous one. */
  readonly rewrites: number;
  /** Calls that the model would refuse, because the request exceeds its window. */
  readonly overWindow: number;
  /** Prompt tokens of all calls without the summarizing ones. */
  readonly promptTokens: number;
  readonly meanTokens: number;
  readonly summarizingCalls: number;
  readonly summarizingTokens: number;
  /** Prompt tokens by origin; undefined if the model's cache is unknown. */
  readonly use: PromptUse | undefined;
  /** Of the whole session, summarizing calls included; undefined if a price is unknown or a call is refused. */
  readonly dollars: number | undefined;
  /** Average cost of a prompt token as a share of the list price of input; answers are excluded. */
  readonly priceFactor: number | undefined;
}

interface CostTally {
  /** Takes the calls of the session in order. */
  add(call: PlayedCall): void;
  cost(): PolicyCost;
}

/** Adds up what a policy costs, call by call. */
export function createCostTally(name: string, session: RecordedSession, model: PricedModel): CostTally {
  const cache = model.rules === undefined ? undefined : createCache(model.rules);
  const sums = { calls: 0, rewrites: 0, overWindow: 0, promptTokens: 0 };
  const summarizing = { calls: 0, tokens: 0 };
  const use = { cached: 0, written: 0, uncached: 0 };
  let dollars: number | undefined = 0;
  let answerCost: number | undefined = 0;
  let previous: readonly CacheSegment[] = [];

  const pay = (request: CacheRequest, outputTokens: number): PromptUse | undefined => {
    const found = cache?.(request);
    dollars = plus(dollars, found === undefined ? undefined : dollarsOf(found, outputTokens, model));
    return found;
  };

  return {
    add({ segments, summarizing: summaryCall }) {
      const { time = 0, outputTokens = 0 } = session.calls[sums.calls] ?? {};
      if (summaryCall !== undefined) {
        summarizing.calls += 1;
        summarizing.tokens += tokensOf(summaryCall.segments);
        pay({ segments: summaryCall.segments, breakpoints: [], time }, summaryCall.outputTokens);
      }
      const tokens = tokensOf(segments);
      const found = pay({ segments, breakpoints: breakpointsOf(segments, session), time }, outputTokens);
      answerCost = plus(
        answerCost,
        found === undefined ? undefined : answerDollars(found, outputTokens, model),
      );
      use.cached += found?.cached ?? 0;
      use.written += found?.written ?? 0;
      use.uncached += found?.uncached ?? 0;
      sums.calls += 1;
      sums.promptTokens += tokens;
      sums.rewrites += beginsWith(segments, previous) ? 0 : 1;
      sums.overWindow += tokens > session.window ? 1 : 0;
      previous = segments;
    },
    cost: () => {
      const paid = sums.overWindow > 0 ? undefined : dollars;
      const prompts = paid === undefined || answerCost === undefined ? undefined : paid - answerCost;
      return {
        name,
        ...sums,
        meanTokens: sums.promptTokens / Math.max(1, sums.calls),
        summarizingCalls: summarizing.calls,
        summarizingTokens: summarizing.tokens,
        use: cache === undefined ? undefined : { ...use },
        dollars: paid,
        priceFactor: prompts === undefined ? undefined : factorOf(prompts, sums.promptTokens, model),
      };
    },
  };
}

function factorOf(dollars: number, tokens: number, { prices }: PricedModel): number | undefined {
  const listed = (tokens * (prices.in ?? 0)) / 1_000_000;
  return listed === 0 ? undefined : dollars / listed;
}

/** The answer's part of a call's price; the prompt's size decides the price tier. */
function answerDollars(use: PromptUse, outputTokens: number, model: PricedModel): number | undefined {
  const whole = dollarsOf(use, outputTokens, model);
  const prompt = dollarsOf(use, 0, model);
  return whole === undefined || prompt === undefined ? undefined : whole - prompt;
}

/** One after the constant front, one after everything, as agents commonly set them. */
function breakpointsOf(segments: readonly CacheSegment[], { headLength }: RecordedSession): number[] {
  const last = segments.length - 1;
  return headLength > 0 && headLength <= last ? [headLength - 1, last] : [last];
}

function beginsWith(segments: readonly CacheSegment[], start: readonly CacheSegment[]): boolean {
  return start.every((segment, index) => segments[index]?.hash === segment.hash);
}

function plus(sum: number | undefined, more: number | undefined): number | undefined {
  return sum === undefined || more === undefined ? undefined : sum + more;
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
