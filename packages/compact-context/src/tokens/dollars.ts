import type { ModelFacts } from "./model-facts.ts";

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
