import { objectOf } from "compact-context/internal/codecs/native";
import { jsonText } from "compact-context/internal/core/message";
import { defined, isObject } from "compact-context/internal/errors";
import type { Problem, ReadLog } from "./transcript.ts";

// Contents of files and of provider responses are read in the same way.
export { defined, isObject as isRecord, jsonText as textOf, objectOf as recordOf };

/** A JSON object, keys unknown. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Maximum nesting; deeper values are refused, because recursive code would overflow the stack. */
export const MAX_DEPTH = 500;

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

/** True when the value nests deeper than `MAX_DEPTH`. */
export function isTooDeep(value: unknown): boolean {
  let level = childrenOf([[value]]);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = childrenOf(level);
  }
  return false;
}

function childrenOf(values: readonly unknown[]): object[] {
  const children: object[] = [];
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    for (const child of Object.values(value)) {
      if (typeof child === "object" && child !== null) children.push(child);
    }
  }
  return children;
}

interface ParsedLine {
  readonly values: readonly unknown[];
  /** The text after the last readable value. */
  readonly rest: string;
}

/** The JSON values of one line: usually one, two when a newline between them was lost. */
export function parseLine(line: string): ParsedLine {
  try {
    return { values: [JSON.parse(line)], rest: "" };
  } catch {
    return parseGlued(line);
  }
}

function parseGlued(line: string): ParsedLine {
  const values: unknown[] = [];
  let start = 0;
  while (start < line.length) {
    const end = endOfValue(line, start);
    if (end === undefined) break;
    try {
      values.push(JSON.parse(line.slice(start, end)));
    } catch {
      break;
    }
    start = end;
    while (/\s/.test(line[start] ?? "")) start += 1;
  }
  return { values, rest: line.slice(start) };
}

/** Index after the object or list that starts at `start`; undefined if it does not end. */
function endOfValue(line: string, start: number): number | undefined {
  const marks = /["{}[\]]/g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(line); mark !== null; mark = marks.exec(line)) {
    if (mark[0] === '"') marks.lastIndex = endOfString(line, mark.index);
    else depth += mark[0] === "{" || mark[0] === "[" ? 1 : -1;
    if (depth <= 0) return mark.index + 1;
  }
  return undefined;
}

/** Index after the string that starts at `start`, or the end of the line. */
function endOfString(line: string, start: number): number {
  let end = line.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(line, end)) end = line.indexOf('"', end + 1);
  return end < 0 ? line.length : end + 1;
}

function isEscaped(line: string, index: number): boolean {
  let slashes = 0;
  while (line[index - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

/** Text in chunks of any size; a file need not fit into one string. */
export type Chunks = AsyncIterable<string> | Iterable<string>;

export interface LineCursor {
  /** The next line without its newline; undefined at the end. */
  next(): Promise<string | undefined>;
  /** The remaining lines as one string. */
  rest(): Promise<string>;
  /** True if the last line read ended with a newline. */
  endedWithNewline(): boolean;
}

/**
 * Splits only at `\n`, since U+2028 and similar characters are ordinary text in JSON; a leading byte order
 * mark is dropped.
 */
export function lineCursor(source: Chunks | string): LineCursor {
  const chunks = typeof source === "string" ? [source] : source;
  const iterator =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  // The pieces of an unfinished line, joined once, so that a long line over many chunks takes linear time.
  let pieces: string[] = [];
  let buffer = "";
  let position = 0;
  let first = true;
  let newline = true;

  async function fill(): Promise<boolean> {
    const step = await iterator.next();
    if (step.done === true) return false;
    buffer = first && step.value.startsWith("\uFEFF") ? step.value.slice(1) : step.value;
    if (step.value !== "") first = false;
    position = 0;
    return true;
  }

  function takeLine(end: number): string {
    const tail = buffer.slice(position, end);
    const line = pieces.length === 0 ? tail : pieces.join("") + tail;
    pieces = [];
    position = end + 1;
    newline = true;
    return line;
  }

  /** The text after the last newline. */
  function takeLast(): string | undefined {
    if (pieces.length === 0) return undefined;
    newline = false;
    const line = pieces.join("");
    pieces = [];
    return line;
  }

  async function next(): Promise<string | undefined> {
    let end = buffer.indexOf("\n", position);
    while (end < 0) {
      if (position < buffer.length) pieces.push(buffer.slice(position));
      buffer = "";
      position = 0;
      if (!(await fill())) return takeLast();
      end = buffer.indexOf("\n");
    }
    return takeLine(end);
  }

  async function rest(): Promise<string> {
    const all = [...pieces, buffer.slice(position)];
    pieces = [];
    while (await fill()) all.push(buffer);
    buffer = "";
    position = 0;
    const text = all.join("");
    newline = text === "" ? newline : text.endsWith("\n");
    return text;
  }

  return { next, rest, endedWithNewline: () => newline };
}

/** A log of problems in the order they occur. */
export function createReadLog(problems: Problem[]): ReadLog {
  // A map, not an object: record types come from the file and may be called `__proto__`.
  const counts = new Map<string, number>();
  return {
    problem(problem) {
      problems.push(problem);
    },
    leaveOut(kind, count = 1) {
      if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count);
    },
    leftOut: () => Object.fromEntries(counts),
  };
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
