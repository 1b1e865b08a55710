import type { PolicyCost } from "../replay/cost.ts";
import type { Economy } from "../replay.ts";

/** The economy of a replay for machines; dollars are null where a price is not known or a call is refused. */
export function economyJson({ model, clock, policies, cold }: Economy): Record<string, unknown> {
  const { rules, assumed, asOf } = model;
  return {
    cache:
      rules === undefined
        ? null
        : {
            kind: rules.kind,
            minimum_tokens: rules.minimum,
            lifetime_seconds: finite(rules.lifetime),
            lookback_blocks: finite(rules.lookback),
            assumed,
          },
    prices_as_of: asOf ?? null,
    clock,
    policies: policies.map(policyJson),
    economy: cold === undefined ? null : { cold_rewrites: cold.rewrites, ...policyJson(cold.cost) },
  };
}

function policyJson({ use, ...cost }: PolicyCost): Record<string, unknown> {
  return {
    policy: cost.name,
    calls: cost.calls,
    rewrites: cost.rewrites,
    calls_over_window: cost.overWindow,
    prompt_tokens: cost.promptTokens,
    mean_tokens: Math.round(cost.meanTokens),
    summarizing_calls: cost.summarizingCalls,
    summarizing_tokens: cost.summarizingTokens,
    cached_tokens: use?.cached ?? null,
    written_tokens: use?.written ?? null,
    uncached_tokens: use?.uncached ?? null,
    cached_share: use === undefined ? null : use.cached / Math.max(1, cost.promptTokens),
    dollars: rounded(cost.dollars, 6),
    price_factor: rounded(cost.priceFactor, 4),
  };
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

function rounded(value: number | undefined, digits: number): number | null {
  return value === undefined ? null : Number(value.toFixed(digits));
}
