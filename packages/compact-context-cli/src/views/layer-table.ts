import type { LayerSizes } from "compact-context/internal/core/report";

import { LAYER_LABELS, LAYER_NAMES } from "../inspection.ts";
import type { Terminal } from "../ports.ts";
import { formatCount, formatPercent } from "../render/numbers.ts";
import type { Style } from "../render/table.ts";
import { bar, columnNames, type Row, table } from "../render/table.ts";
import { padEnd, padStart } from "../render/width.ts";

/** One state of a session, by layer, with what stands beside the messages. */
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
/** Room behind the bars for what was saved. */
const SAVED = 8;
/** Cells from which on there is room for shares beside the counts. */
const WITH_SHARES = 72;

/** Two bars to one scale, the whole before and the whole after, with what was saved. */
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

/** Before and after by layer: tokens, share of the whole, a bar each, messages. */
export function layerComparison(before: LayerState, after: LayerState, terminal: Terminal): string[] {
  const rows = rowsOf(before, after);
  const most = Math.max(1, ...rows.flatMap((row) => [row.before, row.after]));
  const messages = Math.max(...rows.map((row) => row.messages.length), "messages".length);
  const percent = terminal.width < WITH_SHARES ? 0 : PERCENT + 1;
  const room = terminal.width - 2 - LABEL - 2 * (NUMBER + percent + 2) - messages - 2;
  const cells = room >= 12 ? Math.floor(room / 2) - 1 : 0;
  const side = (tokens: number, whole: number, style: Style): string => {
    const drawn = bar(tokens, most, cells);
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

/** One state by layer: tokens, share, bar, messages. */
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

/** Labelled token counts with their share of a whole, a bar, and how many messages they are of. */
export function barTable(entries: readonly BarEntry[], whole: number, terminal: Terminal): string[] {
  const most = Math.max(1, ...entries.map((entry) => entry.tokens));
  const cells = Math.max(8, Math.min(40, terminal.width - 54));
  const rows = entries.map(
    (entry): Row => [
      entry.label,
      formatCount(entry.tokens),
      { text: formatPercent(entry.tokens, whole), style: "faint" },
      { text: padEnd(bar(entry.tokens, most, cells), cells), style: entry.style },
      entry.messages,
    ],
  );
  return table(
    [columnNames("", "tokens", "", "", "messages"), ...rows],
    ["flexible", "right", "right", "left", "right"],
    terminal,
  );
}
