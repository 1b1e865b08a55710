import type { Problem, ReadLog } from "./transcript.ts";

/** Text in pieces of any size; a file of any length need not be one string. */
export type Chunks = AsyncIterable<string> | Iterable<string>;

export interface LineCursor {
  /** The next line without its newline; undefined at the end. */
  next(): Promise<string | undefined>;
  /** All that is left, the lines not yet taken, as one string. */
  rest(): Promise<string>;
  /** True when the last line taken ended with a newline. */
  endedWithNewline(): boolean;
}

/** Splits at `\n` alone, since U+2028 and its kin are ordinary text in JSON; a leading byte order mark is dropped. */
export function lineCursor(source: Chunks | string): LineCursor {
  const chunks = typeof source === "string" ? [source] : source;
  const iterator =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  // The pieces of a line that has not ended yet, joined once: a long line over many chunks stays linear.
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

  /** What is left after the last newline. */
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

/** A log that collects problems in the order they are met. */
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

/** The whitespace that a JSON document is written with. */
export interface Layout {
  readonly indent: string | undefined;
  readonly end: string;
}

/** The layout of a JSON text, so that a rewritten document looks like the one that was read. */
export function layoutOf(text: string): Layout {
  const indent = /^\s*[[{]\r?\n([ \t]+)/.exec(text.slice(0, 200))?.[1];
  return { indent, end: text.endsWith("\n") ? "\n" : "" };
}

/** The document as text. */
export function* documentChunks(value: unknown, layout: Layout): Iterable<string> {
  yield JSON.stringify(value, undefined, layout.indent);
  if (layout.end !== "") yield layout.end;
}
