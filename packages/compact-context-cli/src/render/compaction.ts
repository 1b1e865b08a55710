import type { CompactionReport, PlannedMessage } from "compact-context";
import type { PlannedAction } from "compact-context/internal/core/plan";
import type { LayerSizes } from "compact-context/internal/core/report";
import type { Terminal } from "../ports.ts";
import { LAYER_LABELS, LAYER_NAMES } from "../sessions/inspection.ts";
import type { Outcome } from "../sessions/job.ts";
import { aimWords, type Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { reportLines } from "./headline.ts";
import { bar, columnNames, type Row, type Style, table } from "./table.ts";
import {
  formatCount,
  formatDuration,
  formatPercent,
  padEnd,
  padStart,
  paragraph,
  plural,
  safeLines,
  truncate,
} from "./text.ts";

// The reports of `compact FILE` and `compact plan`.

/** Lines of the summary that are shown. */
const SUMMARY_LINES = 14;

/** The report of a compaction: sizes before and after, actions, notes, the start of the summary. */
export function compactionView(outcome: Outcome, settings: Settings, terminal: Terminal): string[] {
  const { report, summary } = outcome.result;
  const { fixedTokens, tokensBefore } = settings;
  return [
    ...totalBars(tokensBefore, report.tokensAfter, terminal),
    ...layerComparison(
      { layers: outcome.layersBefore, fixedTokens, tokens: tokensBefore },
      { layers: outcome.layersAfter, fixedTokens, tokens: report.tokensAfter },
      terminal,
    ),
    "",
    ...actionTable(report, terminal),
    ...[clearedNote, requestNote, relaxedNote, targetNote, rangeNote]
      .flatMap((note) => note(report, settings))
      .concat(reportLines(settings))
      .flatMap((text) => paragraph(text, terminal.width)),
    "",
    ...(summary === undefined ? missingSummary(report, terminal) : summaryView(summary, report, terminal)),
    `  ${terminal.paint("faint", `done in ${formatDuration(outcome.elapsedMs)}`)}`,
    "",
  ];
}

const ACTIONS: readonly (readonly [PlannedAction, string])[] = [
  ["keep", "kept as it is"],
  ["clear", "tool output cleared"],
  ["elide", "truncated in the middle"],
  ["summarize", "into the summary"],
];

/** One row for each action that messages underwent. */
function actionTable(report: CompactionReport, terminal: Terminal): string[] {
  const entries = report.plan?.entries ?? [];
  const rows = ACTIONS.flatMap(([action, label]): Row[] => {
    const affected = entries.filter((entry) => entry.action === action);
    if (affected.length === 0) return [];
    const before = tokensOf(affected, "tokens");
    const after = action === "summarize" ? report.summaryTokens : tokensOf(affected, "tokensAfter");
    // A summary that also covers cleared outputs is not comparable with the messages.
    const hasNoAfter = action === "keep" || (action === "summarize" && report.clearedCount > 0);
    const change = hasNoAfter ? formatCount(before) : `${formatCount(before)} → ${formatCount(after)}`;
    return [[label, plural(affected.length, "message"), `${change} tokens`]];
  });
  return table(rows, ["left", "right", "left"], terminal);
}

function tokensOf(entries: readonly PlannedMessage[], field: "tokens" | "tokensAfter"): number {
  return entries.reduce((total, entry) => total + entry[field], 0);
}

function requestNote({ newestAsk }: CompactionReport): string[] {
  if (newestAsk === "own_words")
    return ["The newest request keeps what the user typed; pasted and injected text is truncated."];
  return newestAsk === "cut" ? ["The newest request is too long: only its start and end are kept."] : [];
}

function relaxedNote({ plan }: CompactionReport, { config }: Settings): string[] {
  if (plan === undefined || plan.relaxed === 0) return [];
  const { keepRecentTurns, keepToolIoPairs } = plan.keep;
  return [
    `To fit, at most ${plural(keepRecentTurns, "turn")} and ${plural(keepToolIoPairs, "tool pair")} are kept, not ${config.policy.keepRecentTurns} and ${config.policy.keepToolIoPairs}.`,
  ];
}

/** Explains a summary that is longer than the messages it replaces: it also covers cleared outputs. */
function clearedNote({ clearedCount, summaryTokens, prunedCount }: CompactionReport): string[] {
  if (clearedCount === 0 || summaryTokens === 0) return [];
  const covered = prunedCount === 0 ? "the cleared outputs" : "those messages and the cleared outputs";
  return [`The summary has ${formatCount(summaryTokens)} tokens: it covers ${covered}.`];
}

/** Reports a missed target, and a default one. */
function targetNote({ tokensAfter, plan }: CompactionReport, settings: Settings): string[] {
  const { target, targetIsDefault } = settings;
  if (plan !== undefined && tokensAfter > target) {
    const required =
      settings.unseenTokens > target / 2 ? "the request outside the messages" : "what must be kept";
    return [`The target of ${formatCount(target)} tokens was missed: ${required} takes too much of it.`];
  }
  return targetIsDefault
    ? [`The target was ${formatCount(target)} tokens: ${aimWords(settings)}; --target sets another.`]
    : [];
}

function rangeNote({ range }: CompactionReport, { counter }: Settings): string[] {
  if (counter.exact) return [];
  return [
    `Counts are estimates: the model will see ${formatCount(range.low)} to ${formatCount(range.high)} tokens.`,
  ];
}

function summaryView(summary: string, report: CompactionReport, terminal: Terminal): string[] {
  const lines = safeLines(summary.trim());
  const shown = lines.slice(0, lines.length > SUMMARY_LINES + 2 ? SUMMARY_LINES : lines.length);
  const more = lines.length - shown.length;
  const edge = terminal.paint("summary", "│");
  const by = `Summary, version ${report.summaryVersion ?? 1} (${formatCount(report.summaryTokens)} tokens, ${report.summarizer ?? "none"})`;
  return [
    `  ${terminal.paint("strong", by)}`,
    ...shown.map((line) => `  ${edge} ${truncate(line, terminal.width - 5)}`),
    ...(more > 0
      ? [`  ${edge} ${terminal.paint("faint", `… ${plural(more, "more line")}; --summary prints all of it`)}`]
      : []),
    "",
  ];
}

function missingSummary(report: CompactionReport, terminal: Terminal): string[] {
  if (report.prunedCount === 0) return [];
  return [
    `  ${terminal.paint("warn", "No summary could be written; the archive holds the removed messages.")}`,
    "",
  ];
}

/** Why nothing was compacted; `command` is the one to repeat with a target. */
export function untouchedView(settings: Settings, terminal: Terminal, command: string): string[] {
  const { tokensBefore, target, window, budget, config, isFarFromFull } = settings;
  const say = (text: string): string[] => paragraph(text, terminal.width);
  const size = `${formatCount(tokensBefore)} tokens`;
  if (isFarFromFull) {
    const start = formatCount(Math.min(budget, window * config.policy.triggerPct));
    return [
      ...say(
        `Nothing needs compacting: ${size} are ${formatPercent(tokensBefore, window)} of the window, and an agent compacts at ${start}.`,
      ),
      ...reportLines(settings).flatMap(say),
      "",
      "  To compact it anyway:",
      `    ${terminal.paint("faint", `${command} --target 50%`)}`,
      "",
    ];
  }
  const why =
    tokensBefore <= target
      ? `the session has ${size}, the target is ${formatCount(target)}`
      : `all of its ${size} must be kept`;
  return [...say(`Nothing to do: ${why}.`), ""];
}

/** The output of `compact <file> --json`: the first fifteen fields are stable, more may be added. */
export function compactionJson(
  transcript: Transcript,
  outcome: Outcome,
  { settings, output }: { readonly settings: Settings; readonly output: string | undefined },
): Record<string, unknown> {
  const { report, summary } = outcome.result;
  return {
    format: transcript.format,
    model: settings.model ?? null,
    window: settings.window,
    tokens_before: settings.tokensBefore,
    tokens_after: report.tokensAfter,
    messages_before: transcript.messages.length,
    messages_after: report.messagesAfter,
    layers: outcome.layersAfter,
    summary: summary ?? null,
    strategy: settings.strategy,
    summarizer: report.summarizer ?? null,
    archive: report.archive?.location ?? null,
    pruned_count: report.prunedCount,
    cleared_count: report.clearedCount,
    elapsed_ms: Math.round(outcome.elapsedMs),
    elided_count: report.elidedCount,
    newest_ask: report.newestAsk ?? null,
    layers_before: outcome.layersBefore,
    fixed_tokens: settings.fixedTokens,
    budget: settings.budget,
    target: settings.target,
    range: report.range,
    compacted: outcome.changed,
    reason: report.reason,
    session_id: outcome.sessionId,
    archive_step: report.archive?.step ?? null,
    output: output ?? null,
    problems: transcript.problems,
    window_from: settings.windowFrom.replace("--", ""),
    unseen_tokens: settings.unseenTokens,
    reported_tokens: settings.reported?.reported ?? null,
  };
}

/** The size of a session by layer; `fixedTokens` are those outside its messages. */
export interface LayerState {
  readonly layers: LayerSizes;
  readonly fixedTokens: number;
  readonly tokens: number;
}

interface LayerRow extends Omit<BarEntry, "tokens"> {
  readonly before: number;
  readonly after: number;
}

const LABEL = 14;
const NUMBER = 9;
const PERCENT = 6;
/** Cells behind the bars, for the saving. */
const SAVED = 8;
/** Terminal width from which shares fit beside the counts. */
const WITH_SHARES = 72;

/** Two bars on one scale, the total before and after, with the saving. */
export function totalBars(before: number, after: number, terminal: Terminal): string[] {
  const saved = before === 0 ? "" : ` −${formatPercent(Math.max(0, before - after), before)}`;
  const cells = terminal.width - 2 - 8 - SAVED - NUMBER - " tokens".length;
  const line = (label: string, tokens: number, style: Style, note: string): string => {
    const drawn = bar(tokens, Math.max(before, after), cells);
    const filled = padEnd(note, cells + SAVED - drawn.length);
    return `  ${padEnd(label, 8)}${terminal.paint(style, drawn)}${terminal.paint("good", filled)}${padStart(formatCount(tokens), NUMBER)} tokens`;
  };
  return [line("before", before, "remainder", ""), line("after", after, "good", saved), ""];
}

/** A table by layer: tokens, share and bar before and after, messages. */
export function layerComparison(before: LayerState, after: LayerState, terminal: Terminal): string[] {
  const rows = rowsOf(before, after);
  const max = Math.max(1, ...rows.flatMap((row) => [row.before, row.after]));
  const messages = Math.max(...rows.map((row) => row.messages.length), "messages".length);
  const percent = terminal.width < WITH_SHARES ? 0 : PERCENT + 1;
  const room = terminal.width - 2 - LABEL - 2 * (NUMBER + percent + 2) - messages - 2;
  const cells = room >= 12 ? Math.floor(room / 2) - 1 : 0;
  const side = (tokens: number, whole: number, style: Style): string => {
    const drawn = bar(tokens, max, cells);
    const blank = " ".repeat(cells - drawn.length);
    const share = percent === 0 ? "" : padStart(formatPercent(tokens, whole), percent);
    return `${padStart(formatCount(tokens), NUMBER)}${terminal.paint("faint", share)} ${terminal.paint(style, drawn)}${blank} `;
  };
  const sideWidth = NUMBER + percent + 1 + cells + 1;
  const header = `  ${" ".repeat(LABEL)}${padEnd(padStart("before", NUMBER), sideWidth)}${padEnd(padStart("after", NUMBER), sideWidth)}${padStart("messages", messages)}`;
  return [
    terminal.paint("faint", header),
    ...rows.map((row) => {
      const left = side(row.before, before.tokens, row.style);
      const right = side(row.after, after.tokens, row.style);
      return `  ${padEnd(row.label, LABEL)}${left}${right}${padStart(row.messages, messages)}`.trimEnd();
    }),
  ];
}

function rowsOf(before: LayerState, after: LayerState): LayerRow[] {
  const layers = LAYER_NAMES.map(
    (name): LayerRow => ({
      label: LAYER_LABELS[name],
      style: name,
      before: before.layers[name].tokens,
      after: after.layers[name].tokens,
      messages: arrow(before.layers[name].messages, after.layers[name].messages),
    }),
  );
  if (before.fixedTokens + after.fixedTokens === 0) return layers;
  const fixed = { before: before.fixedTokens, after: after.fixedTokens };
  return [{ label: "system, tools", style: "faint", messages: "", ...fixed }, ...layers];
}

function arrow(before: number, after: number): string {
  if (before === 0 && after === 0) return "–";
  return `${formatCount(before)} → ${formatCount(after)}`;
}

/** A table by layer: tokens, share, bar, messages. */
export function layerTable(state: LayerState, terminal: Terminal): string[] {
  const names = LAYER_NAMES.filter((name) => name !== "summary" || state.layers.summary.messages > 0);
  const fixed: BarEntry = { label: "system, tools", style: "faint", tokens: state.fixedTokens, messages: "" };
  const layers = names.map((name): BarEntry => {
    const { tokens, messages } = state.layers[name];
    return { label: LAYER_LABELS[name], style: name, tokens, messages: formatCount(messages) };
  });
  return barTable(state.fixedTokens > 0 ? [fixed, ...layers] : layers, state.tokens, terminal);
}

interface BarEntry {
  readonly label: string;
  readonly style: Style;
  readonly tokens: number;
  readonly messages: string;
}

/** A table of token counts with their share of `whole`, a bar, and the number of messages. */
export function barTable(entries: readonly BarEntry[], whole: number, terminal: Terminal): string[] {
  const max = Math.max(1, ...entries.map((entry) => entry.tokens));
  const cells = Math.max(8, Math.min(40, terminal.width - 54));
  const rows = entries.map(
    (entry): Row => [
      entry.label,
      formatCount(entry.tokens),
      { text: formatPercent(entry.tokens, whole), style: "faint" },
      { text: padEnd(bar(entry.tokens, max, cells), cells), style: entry.style },
      entry.messages,
    ],
  );
  return table(
    [columnNames("", "tokens", "", "", "messages"), ...rows],
    ["flexible", "right", "right", "left", "right"],
    terminal,
  );
}
