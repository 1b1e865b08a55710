import type { SummaryAttempt } from "../core/ports.ts";
import { dollarsOf } from "./dollars.ts";
import { lookUpModel, type ModelLookup, type ModelOverrides } from "./models.ts";

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
