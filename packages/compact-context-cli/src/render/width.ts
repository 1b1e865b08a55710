import { escapeControl, replaceUnseen } from "compact-context/internal/errors";
import stringWidth from "string-width";

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cells that a text takes on a terminal; it must hold no control characters. */
export function displayWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** Cells that a cut goes back at most to end behind a whole word. */
const WORD = 16;

/** The text cut to at most `width` cells, ending in `…` where something is missing; behind a word where one ends near. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return "";
  // No character takes less than no cells: what is far longer need not be looked at.
  if (text.length <= width * 16 && displayWidth(text) <= width) return text;
  let used = 0;
  let cut = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += displayWidth(segment);
    if (used >= width) break;
    cut += segment.length;
  }
  const kept = text.slice(0, cut);
  const word = text[cut] === " " ? kept.length : kept.lastIndexOf(" ");
  const whole =
    word > 0 && kept.length - word <= Math.min(WORD, kept.length / 2) ? kept.slice(0, word) : kept;
  return `${whole.trimEnd()}…`;
}

/** Filled up with spaces to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Filled up with spaces in front to `width` cells. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** The text as lines of at most `width` cells, broken at spaces alone: a longer word, such as a path, has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width || line === "") line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** A sentence as lines that stand `indent` cells to the right and fit a screen of `width` cells. */
export function paragraph(text: string, width: number, indent = 2): string[] {
  return wrap(text, width - indent - 2).map((line) => " ".repeat(indent) + line);
}

/** Text of others on one line: white space joined, everything a terminal would act on made visible. */
export function oneLine(text: string): string {
  return escapeControl(text.replace(/[ \t\r\n]+/g, " ").trim());
}

/** The beginning of a text on one line; only that much of it is looked at. */
export function firstWords(text: string, characters = 400): string {
  return oneLine(text.slice(0, characters).replace(/[\ud800-\udbff]$/, ""));
}

/** The value as JSON that is safe to print to a terminal: who parses it gets the same value. */
export function safeJson(value: unknown, indent = 2): string {
  return replaceUnseen(JSON.stringify(value, undefined, indent), (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** Text of others as lines that are safe to print; tabs become spaces. */
export function safeLines(text: string): string[] {
  return escapeControl(text.replaceAll("\r\n", "\n")).replaceAll("\t", "  ").split("\n");
}

/** Keys whose values are somebody else's: messages as the library has them, and counts by names of a file. */
const AS_IS: ReadonlySet<string> = new Set(["message", "left_out", "kinds", "value"]);

/** The value with all keys in snake_case, the one spelling of machine output. */
export function snakeKeys(value: unknown, asIs: ReadonlySet<string> = AS_IS): unknown {
  if (Array.isArray(value)) return value.map((entry) => snakeKeys(entry, asIs));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [name, asIs.has(name) ? inner : snakeKeys(inner, asIs)];
  });
  return Object.fromEntries(entries);
}
