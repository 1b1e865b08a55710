import colours from "picocolors";
import { displayWidth, padEnd, padStart, truncate, wrap } from "./text.ts";

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

export type Row = readonly (Cell | string)[];

/** The alignment of a column. In a table that is too wide, a wrapped column takes more lines and a flexible one is truncated. */
type Column = "left" | "right" | "flexible" | "wrapped";

const GAP = "  ";

/** The order in which columns shrink, and their minimum width at each stage. */
const SHRINK_STAGES: readonly (readonly [kind: Column, minimum: number])[] = [
  ["wrapped", 24],
  ["flexible", 8],
  ["wrapped", 12],
  ["flexible", 0],
];

/** Lays out rows; columns are as wide as their longest cell where the screen permits, and omitted where they do not fit. */
export function table(
  rows: readonly Row[],
  columns: readonly Column[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
  indent = 2,
): string[] {
  const cells = rows.map((row) => columns.map((_, index) => asCell(row[index] ?? "")));
  const widths = fitted(
    columns,
    columns.map((_, index) => Math.max(0, ...cells.map((row) => displayWidth(row[index]?.text ?? "")))),
    width - indent,
  );
  return cells.flatMap((row) => {
    const shown = row.flatMap((cell, index) => {
      const width = widths[index];
      return width === undefined ? [] : [layOut(cell, columns[index], width, paint)];
    });
    const lines = Math.max(1, ...shown.map(({ texts }) => texts.length));
    return Array.from({ length: lines }, (_, line) => {
      const texts = shown.map(({ texts, blank }) => texts[line] ?? blank);
      return `${" ".repeat(indent)}${texts.join(GAP)}`.trimEnd();
    });
  });
}

/** The header row. */
export function columnNames(...names: string[]): Cell[] {
  return names.map((text) => ({ text, style: "faint" }));
}

function asCell(cell: Cell | string): Cell {
  return typeof cell === "string" ? { text: cell } : cell;
}

/** Folds runs of at least `from` similar items, keeping `kept` at each end, unless `all` is set. */
interface Folding<T> {
  alike(one: T, other: T): boolean;
  readonly from: number;
  readonly kept: number;
  readonly all: boolean;
  row(item: T): Row;
  /** The row that replaces the middle of a run. */
  fold(items: readonly T[]): Row;
}

/** The rows of a list with long runs folded. */
export function foldedRows<T>(items: readonly T[], folding: Folding<T>): Row[] {
  const { alike, from, kept, all, row, fold } = folding;
  const runs: T[][] = [];
  for (const item of items) {
    const run = runs.at(-1);
    if (run?.[0] !== undefined && alike(run[0], item)) run.push(item);
    else runs.push([item]);
  }
  return runs.flatMap((run) =>
    all || run.length < from
      ? run.map(row)
      : [...run.slice(0, kept).map(row), fold(run.slice(kept, -kept)), ...run.slice(-kept).map(row)],
  );
}

/** The width of each column; undefined for one that does not fit. */
function fitted(
  columns: readonly Column[],
  widths: readonly number[],
  room: number,
): readonly (number | undefined)[] {
  const fittedWidths: (number | undefined)[] = [...widths];
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - room;
  for (const [kind, minimum] of SHRINK_STAGES) {
    columns.forEach((column, index) => {
      const width = fittedWidths[index] ?? 0;
      if (excess <= 0 || column !== kind || width <= minimum) return;
      fittedWidths[index] = minimum === 0 ? undefined : Math.max(minimum, width - excess);
      excess -= minimum === 0 ? width + GAP.length : Math.min(excess, width - minimum);
    });
  }
  return fittedWidths;
}

/** The lines of a cell, and the filler beside longer cells. */
function layOut(
  { text, style }: Cell,
  column: Column | undefined,
  width: number,
  paint: Paint,
): { readonly texts: readonly string[]; readonly blank: string } {
  const lines = column === "wrapped" ? wrap(text, width) : [truncate(text, width)];
  const texts = lines.map((line) => {
    const filled = column === "right" ? padStart(line, width) : padEnd(line, width);
    return style === undefined ? filled : filled.replace(line, () => paint(style, line));
  });
  return { texts, blank: " ".repeat(width) };
}

/** A text beside a label of `cells` cells; further lines are indented below it. */
export function labelled(
  label: string,
  text: string,
  cells: number,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  return wrap(text, width - cells - 2).map(
    (line, index) => `  ${paint("strong", padEnd(index === 0 ? label : "", cells))}${line}`,
  );
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of at most `width` cells for `value` of `max`; any value above zero is visible. */
export function bar(value: number, max: number, width: number): string {
  if (value <= 0 || max <= 0 || width <= 0) return "";
  const eighths = Math.min(width * 8, Math.max(1, Math.round((value / max) * width * 8)));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

export type Style =
  | "strong"
  | "faint"
  | "good"
  | "warn"
  | "bad"
  | "pinned"
  | "summary"
  | "recent"
  | "toolPairs"
  | "remainder";

export type Paint = (style: Style, text: string) => string;

const FORMATS = {
  strong: "bold",
  faint: "dim",
  good: "green",
  warn: "yellow",
  bad: "red",
  pinned: "magenta",
  summary: "yellow",
  recent: "green",
  toolPairs: "cyan",
  remainder: "blue",
} as const satisfies Readonly<Record<Style, keyof typeof colours>>;

/** Returns plain text in a pipe, with `NO_COLOR`, and on a dumb terminal. */
export function createPaint(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const shown = colours.createColors(isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb");
  return (style, text) => (text === "" ? "" : shown[FORMATS[style]](text));
}
