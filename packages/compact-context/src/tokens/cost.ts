import type { SummaryAttempt } from "../core/ports.ts";
import { lookUpModel, type ModelFacts, type ModelLookup, type ModelOverrides } from "./models.ts";

/** The tokens of one request, by where its provider took them from. */
export interface PromptUse {
  readonly cached: number;
  /** Tokens behind the cached ones that were stored. */
  readonly written: number;
  readonly uncached: number;
}

/** Dollars of one request and its answer; undefined when a price that it needs is not known. */
export function dollarsOf(
  { cached, written, uncached }: PromptUse,
  outputTokens: number,
  { prices, tier }: Pick<ModelFacts, "prices" | "tier">,
): number | undefined {
  const total = cached + written + uncached;
  const valid = tier !== null && total > tier.above ? tier.prices : prices;
  return sumOf([
    [cached, valid.read],
    [written, valid.write],
    [uncached, valid.in],
    [outputTokens, valid.out],
  ]);
}

function sumOf(items: readonly (readonly [tokens: number, price: number | null])[]): number | undefined {
  let dollars = 0;
  for (const [tokens, price] of items) {
    if (tokens === 0) continue;
    if (price === null) return undefined;
    dollars += (tokens * price) / 1_000_000;
  }
  return dollars;
}

/** Text models are called `openai:gpt-5.4-mini`: what stands before the colon is where they are asked. */
function modelNamed(name: string, models: ModelOverrides): ModelLookup {
  const whole = lookUpModel(name, models);
  return whole.known ? whole : lookUpModel(name.slice(name.indexOf(":") + 1), models);
}

/** The attempt with its model's provider, and with what it cost where usage and prices are known. */
export function withCost(attempt: SummaryAttempt, models: ModelOverrides): SummaryAttempt {
  const model = modelNamed(attempt.model, models);
  const { usage } = attempt;
  const provider = model.known ? model.provider : undefined;
  // What is stored for an hour has a price of its own.
  if (usage === undefined || (usage.write1h ?? 0) > 0) return { ...attempt, provider };
  const { input, cacheRead: cached, cacheWrite: written, output } = usage;
  const use = { cached, written, uncached: Math.max(0, input - cached - written) };
  const costUsd = dollarsOf(use, output, model);
  return { ...attempt, provider, costUsd };
}
