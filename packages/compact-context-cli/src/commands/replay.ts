import { type Invocation, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { headline, problemLines } from "../render/headline.ts";
import { bar, columnNames, labelled, type Row, type Style, table } from "../render/table.ts";
import { formatCount, formatDuration, formatPercent, padEnd, paragraph, plural } from "../render/text.ts";
import { finite, type PolicyCost, type PricedModel } from "../replay/cost.ts";
import { type Economy, type Replay, replaySession } from "../replay/replay.ts";
import type { ReplayCompaction } from "../replay/session.ts";
import { openPlayed } from "../sessions/opened.ts";
import type { Settings } from "../settings.ts";

export async function replayCommand(invocation: Invocation): Promise<number> {
  const { terminal } = invocation;
  const { transcript, settings, progress, replayPorts } = await openPlayed(invocation, "compact replay");
  const replay = await replaySession(transcript, settings, replayPorts).finally(() => progress.end());
  const { problems } = transcript;
  printResult(invocation, { ...replayJson(replay, settings), problems }, () => [
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...replayView(replay, settings, terminal),
  ]);
  return replay.callsOverBudget === 0 ? 0 : 1;
}

function replayJson({ economy, ...replay }: Replay, { model, window, budget }: Settings): object {
  return { model: model ?? null, window, budget, ...replay, ...economyJson(economy) };
}

const COMPACTIONS_SHOWN = 12;

/** The report of a replay: largest requests without and with compaction, compactions, time and cache. */
function replayView(replay: Replay, settings: Settings, terminal: Terminal): string[] {
  const calls = `${plural(replay.calls, "model call")} over ${plural(replay.messages, "message")}`;
  return [
    ...paragraph(`${calls}, budget ${formatCount(settings.budget)} tokens a call`, terminal.width),
    ...(settings.reported === undefined
      ? []
      : paragraph(
          "The counts are of the messages in the file; a system prompt and tools that it does not hold are left out.",
          terminal.width,
        )),
    "",
    ...comparison(replay, settings, terminal),
    "",
    ...compactionLines(replay.rounds, settings, terminal),
    ...costs(replay, terminal),
    "",
    ...economyView(replay.economy, terminal),
    "",
  ];
}

function comparison(replay: Replay, settings: Settings, terminal: Terminal): string[] {
  const most = Math.max(replay.mostTokensWithout, settings.budget);
  const cells = Math.max(4, Math.min(40, terminal.width - 58));
  const row = (label: string, tokens: number, over: number, style: Style): Row => [
    label,
    formatCount(tokens),
    { text: padEnd(bar(tokens, most, cells), cells), style },
    {
      text: over === 0 ? "every call fits" : `${plural(over, "call")} too large`,
      style: over === 0 ? "good" : "bad",
    },
  ];
  return table(
    [
      columnNames("", "largest request", "", ""),
      row("without", replay.mostTokensWithout, replay.callsOverBudgetWithout, "remainder"),
      row("with compact", replay.mostTokensSent, replay.callsOverBudget, "good"),
    ],
    ["left", "right", "left", "left"],
    terminal,
  );
}

function compactionLines(all: readonly ReplayCompaction[], settings: Settings, terminal: Terminal): string[] {
  if (all.length === 0) return ["  No compaction was needed.", ""];
  const cells = Math.max(4, Math.min(30, terminal.width - 66));
  const rows = all
    .slice(0, COMPACTIONS_SHOWN)
    .map(
      (one, index): Row => [
        { text: `${index + 1}`, style: "faint" },
        `call ${formatCount(one.call)}`,
        `${formatCount(one.tokensBefore)} → ${formatCount(one.tokensAfter)}`,
        { text: padEnd(bar(one.tokensAfter, settings.window, cells), cells), style: "good" },
        `${formatCount(one.messagesBefore)} → ${formatCount(one.messagesAfter)}`,
        formatDuration(one.elapsedMs),
      ],
    );
  const header = columnNames("", "before", "tokens", "window", "messages", "took");
  const more = all.length - rows.length;
  return [
    ...table([header, ...rows], ["right", "left", "right", "left", "right", "right"], terminal),
    ...(more > 0
      ? [terminal.paint("faint", `     and ${plural(more, "more compaction")} (--json has all of them)`)]
      : []),
    "",
  ];
}

function costs(replay: Replay, terminal: Terminal): string[] {
  const quiet = replay.calls - replay.rounds.length;
  const quietMs = quiet === 0 ? 0 : (replay.preflightMs - replay.compactionMs) / quiet;
  const lasted =
    replay.sessionMs === null ? "" : `; the session itself lasted ${formatDuration(replay.sessionMs)}`;
  const saved = replay.promptTokensWithout - replay.promptTokens;
  const less = saved > 0 ? `, ${formatPercent(saved, replay.promptTokensWithout)} less than without` : "";
  const repeated = formatPercent(replay.cachedTokens, replay.promptTokens);
  const compacting = `${formatDuration(replay.compactionMs)} in ${plural(replay.rounds.length, "compaction")}`;
  const line = (label: string, text: string): string[] => labelled(label, text, 12, terminal);
  return [
    ...line("prompt", `${formatCount(replay.promptTokens)} tokens in all calls${less}`),
    ...line("cache", `${repeated} of them repeat the previous call, so a prefix cache serves them`),
    ...line("compacting", `${compacting}${lasted}`),
    ...line("checking", `${formatDuration(quietMs)} for each call that needed no compaction`),
  ];
}

/** Cost of the session under each policy, and what the figures are based on. */
export function economyView({ model, clock, policies, cold }: Economy, terminal: Terminal): string[] {
  const header = columnNames("policy", "rewrites", "mean", "cached", "cost", "factor");
  const [own, ...others] = policies;
  if (own === undefined) return [];
  const digits = digitsFor(Math.max(...policies.map(({ dollars }) => dollars ?? 0)));
  const isSame = policies.every(({ dollars, promptTokens, rewrites }) => {
    return dollars === own.dollars && promptTokens === own.promptTokens && rewrites === own.rewrites;
  });
  if (isSame && cold === undefined) {
    const rows = [header, row(own, "any of them", digits)];
    return [...layOut(rows, terminal), "", ...paragraph(basis(model, clock), terminal.width)];
  }
  const rows = [
    row(own, own.policy, digits),
    ...(cold === undefined ? [] : [row(cold.cost, "  + cold", digits)]),
    ...others.map((cost) => row(cost, cost.policy, digits)),
  ];
  const notes = [...coldNote(own, cold, model), legend(cold), basis(model, clock)];
  return [
    ...layOut([header, ...rows], terminal),
    "",
    ...notes.flatMap((note) => paragraph(note, terminal.width)),
  ];
}

function layOut(rows: readonly Row[], terminal: Terminal): string[] {
  return table(rows, ["flexible", "right", "right", "right", "right", "right"], terminal);
}

function row(cost: PolicyCost, label: string, digits: number): Row {
  const refused = cost.callsOverWindow > 0;
  return [
    label,
    formatCount(cost.rewrites),
    formatCount(cost.meanTokens),
    cost.cachedTokens === null ? "?" : formatPercent(cost.cachedTokens, cost.promptTokens),
    refused ? { text: "does not fit", style: "bad" } : formatDollars(cost.dollars, digits),
    cost.priceFactor?.toFixed(3) ?? "",
  ];
}

function formatDollars(dollars: number | null, digits: number): string {
  return dollars === null ? "no price" : `$${dollars.toFixed(digits)}`;
}

/** Cents from a dollar on, else hundredths of a cent. */
function digitsFor(dollars: number): number {
  return dollars >= 1 ? 2 : 4;
}

/** Shown only if the simulated variant is cheaper. */
function coldNote(own: PolicyCost, cold: Economy["cold"], model: PricedModel): string[] {
  const dollars = cold?.cost.dollars ?? null;
  if (cold === undefined || dollars === null || own.dollars === null) return [];
  const saved = own.dollars - dollars;
  if (saved <= 0) return [];
  const lifetime = formatDuration((model.rules?.lifetime ?? 0) * 1000);
  return [
    `Compacting also where the provider's cache had expired anyway would have saved ${formatDollars(saved, digitsFor(saved))} (${formatPercent(saved, own.dollars)}): ${plural(cold.rewrites, "turn")} started after a pause of over ${lifetime} with more than half of the window full. To do so, call the library's manualCompact before such a turn.`,
  ];
}

function legend(cold: Economy["cold"]): string {
  const own = cold === undefined ? "" : "+ cold also compacts before a turn whose cache has expired anyway; ";
  return `${own}trim drops the oldest exchanges whenever the list would overflow; mask clears all tool results but the newest ten at every call; summarize lets the model sum up once half of the window is full; none sends everything.`;
}

const CLOCKS: Readonly<Record<Economy["clock"], string>> = {
  recorded: "the session's own times",
  assumed: "assumed times: 15 s a call, 2 min before a user message",
  mixed: "the session's own times where it has them, else 15 s a call, 2 min before a user message",
};

function basis(model: PricedModel, clock: Economy["clock"]): string {
  const { rules, assumed, asOf } = model;
  if (rules === undefined)
    return "The prompt cache and the prices of this model are unknown (--model names one).";
  const cache =
    rules.kind === "none"
      ? "This model has no automatic prompt cache."
      : `The provider's prompt cache is simulated with ${CLOCKS[clock]}${assumed.map((one) => `; ${one}`).join("")}.`;
  return `${cache} ${pricesNote(asOf)}`;
}

function pricesNote(asOf: string | undefined): string {
  if (asOf === undefined) return "This model's prices are unknown.";
  const which = asOf === "configuration" ? "your configuration" : asOf;
  return `Prices of ${which}; factor: what a prompt token costs as a share of the list price.`;
}

/** The economy of a replay as JSON. */
export function economyJson({ model, clock, policies, cold }: Economy): Record<string, unknown> {
  const { rules, assumed, asOf } = model;
  return {
    cache:
      rules === undefined
        ? null
        : {
            kind: rules.kind,
            minimumTokens: rules.minimum,
            lifetimeSeconds: finite(rules.lifetime),
            lookbackBlocks: finite(rules.lookback),
            assumed,
          },
    pricesAsOf: asOf ?? null,
    clock,
    policies: policies.map(policyJson),
    economy: cold === undefined ? null : { coldRewrites: cold.rewrites, ...policyJson(cold.cost) },
  };
}

/** Dollars to a millionth, factors to a ten-thousandth. */
function policyJson(cost: PolicyCost): PolicyCost {
  const rounded = (value: number | null, digits: number): number | null =>
    value === null ? null : Number(value.toFixed(digits));
  return { ...cost, dollars: rounded(cost.dollars, 6), priceFactor: rounded(cost.priceFactor, 4) };
}
