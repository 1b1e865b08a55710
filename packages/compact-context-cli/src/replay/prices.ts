import {
  type CacheRules,
  lookUpModel,
  type ModelFacts,
  type ModelOverrides,
  type Prices,
} from "compact-context/internal/tokens/models";
import type { SimulatedRules } from "./cache.ts";

/** What a model's provider keeps and charges, as far as it is known. */
export interface PricedModel {
  /** Undefined where nothing is known of the model's cache: then none is simulated. */
  readonly rules: SimulatedRules | undefined;
  /** What the simulation takes for granted because no figure is published, one clause each. */
  readonly assumed: readonly string[];
  readonly prices: Prices;
  readonly tier: ModelFacts["tier"];
  /** Date of the prices, ISO 8601; `configuration` for prices that the caller set. */
  readonly asOf: string | undefined;
}

/** Anthropic looks back 20 blocks from a breakpoint; OpenAI has no such limit (their pages on prompt caching). */
const LOOKBACK: Readonly<Record<string, number>> = { anthropic: 20 };
/** The most common of the published minima. */
const ASSUMED_MINIMUM = 1024;

/** Rules and prices of a model from the table and the caller's overrides; nothing is taken from a sibling's prices. */
export function pricedModel(name: string | undefined, overrides: ModelOverrides = {}): PricedModel {
  const model = lookUpModel(name ?? "", overrides);
  const listed = lookUpModel(name ?? "");
  const own = model.prices !== listed.prices || model.tier !== listed.tier;
  const dated = own && model.asOf === listed.asOf ? "configuration" : model.asOf;
  return {
    rules: model.known ? rulesOf(model) : undefined,
    assumed: model.known ? assumptionsOf(model.cache) : [],
    prices: model.prices,
    tier: model.tier,
    asOf: dated ?? undefined,
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
  if (min === null) assumed.push("prompts of 1,024 tokens and more are taken to be cacheable");
  if (ttl === null) assumed.push("entries are taken never to lapse");
  return assumed;
}
