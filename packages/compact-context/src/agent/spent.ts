import { dollarsOf, lookUpModel, type ModelOverrides } from "../tokens/models.ts";
import { normalizeUsage } from "../tokens/usage.ts";
import type { Spent } from "./event.ts";

export const NOTHING_SPENT: Spent = Object.freeze({
  requests: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  dollars: 0,
});

/** What one request took, from the provider's usage record; dollars only where usage and prices are known. */
export function spentOn(usage: unknown, model: string, overrides: ModelOverrides): Spent {
  const record = normalizeUsage(usage);
  if (record === undefined) return { ...NOTHING_SPENT, requests: 1, dollars: undefined };
  const { input, cacheRead: cached, cacheWrite: written, output, write1h = 0 } = record;
  const use = { cached, written, uncached: Math.max(0, input - cached - written) };
  const dollars = write1h > 0 ? undefined : dollarsOf(use, output, lookUpModel(model, overrides));
  return { requests: 1, inputTokens: input, cachedTokens: cached, outputTokens: output, dollars };
}

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    requests: one.requests + other.requests,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    dollars:
      one.dollars === undefined || other.dollars === undefined ? undefined : one.dollars + other.dollars,
  };
}

/** The model's own name, without the provider before it. */
export function bareModelName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
