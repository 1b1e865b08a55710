import { formatCount, formatDuration, formatPercent, plural } from "../render/numbers.ts";
import { type Cell, type Column, table } from "../render/table.ts";
import { paragraph } from "../render/width.ts";
import type { PolicyCost } from "../replay/cost.ts";
import type { PricedModel } from "../replay/prices.ts";
import type { Economy } from "../replay.ts";
import type { Terminal } from "../terminal.ts";

const LABELS = ["policy", "rewrites", "mean", "cached", "cost", "factor"];

/** What the session costs under each policy, and what the figures rest on. */
export function economyView({ model, clock, policies, cold }: Economy, terminal: Terminal): string[] {
  const header = LABELS.map((text): Cell => ({ text, style: "faint" }));
  const [own, ...others] = policies;
  if (own === undefined) return [];
  const digits = digitsFor(Math.max(...policies.map(({ dollars = 0 }) => dollars)));
  const same = policies.every(({ dollars, promptTokens, rewrites }) => {
    return dollars === own.dollars && promptTokens === own.promptTokens && rewrites === own.rewrites;
  });
  if (same && cold === undefined) {
    const rows = [header, row(own, "any of them", digits)];
    return [...layOut(rows, terminal), "", ...paragraph(basis(model, clock), terminal.width)];
  }
  const rows = [
    row(own, own.name, digits),
    ...(cold === undefined ? [] : [row(cold.cost, "  + cold", digits)]),
    ...others.map((cost) => row(cost, cost.name, digits)),
  ];
  const notes = [...coldNote(own, cold, model), legend(cold), basis(model, clock)];
  return [
    ...layOut([header, ...rows], terminal),
    "",
    ...notes.flatMap((note) => paragraph(note, terminal.width)),
  ];
}

function layOut(rows: readonly (readonly (Cell | string)[])[], { width, paint }: Terminal): string[] {
  const columns = LABELS.map((_, index): Column => (index === 0 ? { flexible: true } : { align: "right" }));
  return table(rows, { columns, width, paint });
}

function row(cost: PolicyCost, label: string, digits: number): (Cell | string)[] {
  const refused = cost.overWindow > 0;
  return [
    label,
    formatCount(cost.rewrites),
    formatCount(cost.meanTokens),
    cost.use === undefined ? "?" : formatPercent(cost.use.cached, cost.promptTokens),
    refused ? { text: "does not fit", style: "bad" } : formatDollars(cost.dollars, digits),
    cost.priceFactor === undefined ? "" : cost.priceFactor.toFixed(3),
  ];
}

function formatDollars(dollars: number | undefined, digits: number): string {
  return dollars === undefined ? "no price" : `$${dollars.toFixed(digits)}`;
}

/** Cents where there are dollars, else hundredths of them. */
function digitsFor(dollars: number): number {
  return dollars >= 1 ? 2 : 4;
}

/** Told only where the simulated variant really is cheaper. */
function coldNote(own: PolicyCost, cold: Economy["cold"], model: PricedModel): string[] {
  if (cold?.cost.dollars === undefined || own.dollars === undefined) return [];
  const saved = own.dollars - cold.cost.dollars;
  if (saved <= 0) return [];
  const lifetime = formatDuration((model.rules?.lifetime ?? 0) * 1000);
  return [
    `A rewrite while the cache is cold would have saved ${formatDollars(saved, digitsFor(saved))} (${formatPercent(saved, own.dollars)}): ${plural(cold.rewrites, "turn")} opened after a pause of over ${lifetime} with more than half of the window full. manualCompact before such a turn does it.`,
  ];
}

function legend(cold: Economy["cold"]): string {
  const own = cold === undefined ? "" : "+ cold also compacts before a turn whose cache has lapsed anyway; ";
  return `${own}trim drops the oldest exchanges whenever the list would overflow; mask clears all tool results but the newest ten at every call; summarize lets the model sum up once half of the window is full; none sends everything.`;
}

const CLOCKS: Readonly<Record<Economy["clock"], string>> = {
  recorded: "the session's own times",
  assumed: "assumed times: 15 s a call, 2 min before a user speaks",
  mixed: "the session's own times where it has them, else 15 s a call, 2 min before a user speaks",
};

function basis(model: PricedModel, clock: Economy["clock"]): string {
  const { rules, assumed, asOf } = model;
  if (rules === undefined)
    return "Nothing is known of this model's prompt cache or prices (--model names one).";
  const cache =
    rules.kind === "none"
      ? "This model has no automatic prompt cache."
      : `The provider's prompt cache is simulated with ${CLOCKS[clock]}${assumed.map((one) => `; ${one}`).join("")}.`;
  return `${cache} ${pricesNote(asOf)}`;
}

function pricesNote(asOf: string | undefined): string {
  if (asOf === undefined) return "No price of this model is known.";
  const which = asOf === "configuration" ? "your configuration" : asOf;
  return `Prices of ${which}; factor: what a prompt token costs as a share of the list price.`;
}
