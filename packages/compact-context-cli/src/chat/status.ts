import type { Spent } from "compact-context/internal/agent/event";
import { formatCount, formatPercent, formatShort } from "../render/numbers.ts";
import { oneLine } from "../render/safe.ts";

export interface Status {
  readonly model: string;
  readonly contextTokens: number;
  readonly window: number;
  readonly spent: Spent;
}

/** The line above the prompt: how full the context is, what was used, what it cost. */
export function statusText({ model, contextTokens, window, spent }: Status): string {
  const context = `context ${formatCount(contextTokens)} of ${formatShort(window)} (${formatPercent(contextTokens, window)})`;
  const cached = spent.cachedTokens === 0 ? "" : `, ${formatShort(spent.cachedTokens)} cached`;
  const used = `${formatShort(spent.inputTokens)} in${cached}, ${formatShort(spent.outputTokens)} out`;
  return [context, used, model.startsWith("demo:") ? "no cost" : costText(spent), oneLine(model)].join(" · ");
}

export function costText({ dollars, requests }: Spent): string {
  if (requests === 0) return "$0";
  if (dollars === undefined) return "cost unknown";
  return dollars === 0 ? "$0" : `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
}
