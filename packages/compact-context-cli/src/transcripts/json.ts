import { objectOf } from "compact-context/internal/codecs/native";
import { jsonText } from "compact-context/internal/core/message";
import { defined, isObject } from "compact-context/internal/errors";

// Contents of files and of provider responses are read in the same way.
export { defined, isObject as isRecord, jsonText as textOf, objectOf as recordOf };

/** A JSON object, keys unknown. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value if it is a list, otherwise an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** ISO 8601 for milliseconds since 1970; undefined for an invalid time. */
export function isoTime(value: unknown): string | undefined {
  const date = new Date(numberOf(value) ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Maximum nesting; deeper values are refused, because recursive code would overflow the stack. */
export const MAX_DEPTH = 500;

/** True when the value nests deeper than `MAX_DEPTH`. */
export function isTooDeep(value: unknown, depth = 1): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((child) => isTooDeep(child, depth + 1));
}

/** The JSON values of one line: usually one, two when a newline between them was lost. */
export function parseLine(line: string): {
  readonly values: readonly unknown[];
  /** The text after the last readable value. */
  readonly rest: string;
} {
  const values: unknown[] = [];
  let start = 0;
  try {
    return { values: [JSON.parse(line)], rest: "" };
  } catch {
    // Several values, or a broken one.
  }
  try {
    for (let end = endOfValue(line, 0); end !== undefined; end = endOfValue(line, start)) {
      values.push(JSON.parse(line.slice(start, end)));
      start = end;
      while (/\s/.test(line[start] ?? "")) start += 1;
    }
  } catch {
    // The rest is no JSON.
  }
  return { values, rest: line.slice(start) };
}

/** Index after the object or list that starts at `start`; undefined if it does not end. */
function endOfValue(line: string, start: number): number | undefined {
  const marks = /["\\{}[\]]/g;
  marks.lastIndex = start;
  let depth = 0;
  let inText = false;
  for (let mark = marks.exec(line); mark !== null; mark = marks.exec(line)) {
    const [sign] = mark;
    if (sign === "\\") marks.lastIndex += 1;
    else if (sign === '"') inText = !inText;
    else if (!inText) depth += sign === "{" || sign === "[" ? 1 : -1;
    if (depth <= 0) return mark.index + 1;
  }
  return undefined;
}

/** Text in chunks of any size; a file need not fit into one string. */
export type Chunks = AsyncIterable<string> | Iterable<string>;

export interface Line {
  /** Without its newline. */
  readonly text: string;
  /** 1-based. */
  readonly number: number;
  /** False for a last line without a newline. */
  readonly ended: boolean;
}

/** Splits only at `\n`: U+2028 and its like are ordinary text in JSON. A leading byte order mark is dropped. */
export async function* linesOf(source: Chunks | string): AsyncGenerator<Line, void, undefined> {
  // The pieces of an unfinished line, joined once, so that a long line over many chunks takes linear time.
  let pieces: string[] = [];
  let number = 1;
  let first = true;
  for await (const chunk of typeof source === "string" ? [source] : source) {
    const [head = "", ...starts] = (first ? chunk.replace(/^\uFEFF/, "") : chunk).split("\n");
    if (chunk !== "") first = false;
    pieces.push(head);
    for (const start of starts) {
      yield { text: pieces.join(""), number, ended: true };
      number += 1;
      pieces = [start];
    }
  }
  const last = pieces.join("");
  if (last !== "") yield { text: last, number, ended: false };
}

/** The whitespace of a JSON document. */
interface Layout {
  readonly indent: string | undefined;
  readonly end: string;
}

/** The layout of a JSON text, so that a rewritten document keeps it. */
export function layoutOf(text: string): Layout {
  const indent = /^\s*[[{]\r?\n([ \t]+)/.exec(text.slice(0, 200))?.[1];
  return { indent, end: text.endsWith("\n") ? "\n" : "" };
}

/** The document as text. */
export function* documentChunks(value: unknown, layout: Layout): Iterable<string> {
  yield JSON.stringify(value, undefined, layout.indent);
  if (layout.end !== "") yield layout.end;
}
