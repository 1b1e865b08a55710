import { contentHash, type Role } from "../core/message.ts";

/** Position of a message in the archive, and what ranking needs to know about it. */
export interface IndexedMessage {
  readonly archiveId: string;
  readonly step: number;
  /** Position in the transcript of that step, from 1. */
  readonly n: number;
  readonly role: Role;
  readonly redacted: boolean;
  /** One of our summaries: it repeats other messages. */
  readonly summary: boolean;
  /** A copy of a message stored elsewhere: found by its ids, not by its words. */
  readonly alias: boolean;
  /** Words including repetitions; 0 for an alias. */
  readonly length: number;
}

/** An immutable part of a session's index: one string, searched in place. */
export interface Segment {
  readonly name: string;
  readonly text: string;
  /** Number of messages, including aliases. */
  readonly size: number;
  /** Number of messages that have words; `words` is their total. */
  readonly worded: number;
  readonly words: number;
  lengthOf(document: number): number;
  message(document: number): IndexedMessage;
  /** Number of documents that contain the term. */
  frequency(term: string): number;
  each(term: string, visit: (document: number, times: number) => void): void;
  /** Terms with this prefix, in order, at most `most`. */
  startingWith(prefix: string, most: number): string[];
  /** Every term with its frequency and encoded postings, in order. */
  terms(): Iterable<WrittenTerm>;
}

export interface WrittenTerm {
  readonly term: string;
  readonly count: number;
  readonly postings: string;
}

const ROLES: readonly Role[] = ["system", "developer", "user", "assistant", "tool"];
const REDACTED = 8;
const SUMMARY = 16;
const ALIAS = 32;
const ID_LENGTH = 10;
const FORMAT = 1;
const HEAD_LINES = 3;

/**
 * The text of a segment: a header line, the archive ids, the numbers of each message, then the terms in
 * order.
 */
export function writeSegment(messages: readonly IndexedMessage[], terms: Iterable<WrittenTerm>): string {
  const lines = [
    JSON.stringify({ format: FORMAT, messages: messages.length }),
    messages.map((message) => message.archiveId).join(""),
    messages.map(numbersOf).join(""),
  ];
  for (const { term, count, postings } of terms) lines.push(`${term}\t${count}\t${postings}`);
  return `${lines.join("\n")}\n`;
}

function numbersOf({ step, n, role, redacted, summary, alias, length }: IndexedMessage): string {
  const flags = (redacted ? REDACTED : 0) | (summary ? SUMMARY : 0) | (alias ? ALIAS : 0);
  return [step, n, Math.max(0, ROLES.indexOf(role)) | flags, length].map(writeNumber).join("");
}

/** A segment is named by the hash of its text: damage is detected, and two workers write the same file. */
export function segmentName(text: string): string {
  return contentHash({ role: "system", parts: [{ type: "text", text }] });
}

/** Reads a segment; undefined if the text does not match its name. */
export function openSegment(text: string, name: string): Segment | undefined {
  if (segmentName(text) !== name) return undefined;
  const starts = lineStarts(text);
  const ids = text.slice(starts[1], (starts[2] ?? 0) - 1);
  const size = ids.length / ID_LENGTH;
  const table = readTable(text, { start: starts[2] ?? 0, end: (starts[3] ?? 0) - 1 }, size);
  const dictionary = createDictionary(text, starts);
  return {
    name,
    text,
    size,
    worded: table.worded,
    words: table.words,
    lengthOf: (document) => table.length[document] ?? 0,
    message(document) {
      const flags = table.flags[document] ?? 0;
      return {
        archiveId: ids.slice(document * ID_LENGTH, (document + 1) * ID_LENGTH),
        step: table.step[document] ?? 0,
        n: table.n[document] ?? 0,
        role: ROLES[flags & 7] ?? "user",
        redacted: (flags & REDACTED) > 0,
        summary: (flags & SUMMARY) > 0,
        alias: (flags & ALIAS) > 0,
        length: table.length[document] ?? 0,
      };
    },
    ...dictionary,
  };
}

/** The offsets of all lines, followed by the end of the text. */
function lineStarts(text: string): Uint32Array {
  let starts = new Uint32Array(1024);
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    if (count === starts.length) {
      const grown = new Uint32Array(starts.length * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = at + 1;
  }
  return starts.slice(0, count);
}

function readTable(text: string, span: { readonly start: number; readonly end: number }, size: number) {
  const table = {
    step: new Uint32Array(size),
    n: new Uint32Array(size),
    flags: new Uint8Array(size),
    length: new Uint32Array(size),
    worded: 0,
    words: 0,
  };
  const numbers = readNumbers(text, span.start, span.end);
  for (let document = 0; document < size; document++) {
    table.step[document] = numbers.next();
    table.n[document] = numbers.next();
    table.flags[document] = numbers.next();
    const length = numbers.next();
    table.length[document] = length;
    table.words += length;
    if (length > 0) table.worded += 1;
  }
  return table;
}

/** Terms are found by binary search; nothing is unpacked when the index is opened. */
function createDictionary(
  text: string,
  starts: Uint32Array,
): Pick<Segment, "frequency" | "each" | "startingWith" | "terms"> {
  const count = starts.length - 1 - HEAD_LINES;
  const startOf = (index: number): number => starts[index + HEAD_LINES] ?? text.length;
  const termAt = (index: number): string => text.slice(startOf(index), text.indexOf("\t", startOf(index)));
  const firstFrom = (term: string): number => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (termAt(middle) < term) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const entry = (index: number): { readonly count: number; readonly start: number; readonly end: number } => {
    const from = text.indexOf("\t", startOf(index)) + 1;
    const tab = text.indexOf("\t", from);
    return { count: Number(text.slice(from, tab)), start: tab + 1, end: startOf(index + 1) - 1 };
  };
  const find = (term: string): ReturnType<typeof entry> | undefined => {
    const index = firstFrom(term);
    return index < count && termAt(index) === term ? entry(index) : undefined;
  };
  return {
    frequency: (term) => find(term)?.count ?? 0,
    each(term, visit) {
      const found = find(term);
      if (found !== undefined) eachPosting(text, found, visit);
    },
    startingWith(prefix, most) {
      const found: string[] = [];
      for (let index = firstFrom(prefix); index < count && found.length < most; index++) {
        const term = termAt(index);
        if (!term.startsWith(prefix)) break;
        found.push(term);
      }
      return found;
    },
    *terms() {
      for (let index = 0; index < count; index++) {
        const { count: documents, start, end } = entry(index);
        yield { term: termAt(index), count: documents, postings: text.slice(start, end) };
      }
    },
  };
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, DIGITS.indexOf(String.fromCharCode(code))),
);
const MORE = 32;

/**
 * Encodes a whole number from 0 to 2^31 - 1 as one character per five bits, lowest first (as in source maps).
 */
function writeNumber(value: number): string {
  let text = "";
  let rest = value;
  while (rest >= MORE) {
    text += DIGITS[(rest & 31) | MORE];
    rest >>>= 5;
  }
  return text + DIGITS[rest];
}

/** Reads consecutive numbers from `start` to `end`; the text must come from `writeNumber`. */
function readNumbers(text: string, start: number, end: number): { next(): number; more(): boolean } {
  let at = start;
  return {
    more: () => at < end,
    next() {
      let value = 0;
      for (let shift = 0; at < end; shift += 5) {
        const digit = VALUES[text.charCodeAt(at++) & 127] ?? 0;
        value |= (digit & 31) << shift;
        if (digit < MORE) break;
      }
      return value;
    },
  };
}

/**
 * Encodes the ascending documents of a term and its counts: `pairs` alternates document and count. Documents
 * are delta-encoded; one bit marks a count of one, the usual case.
 */
export function writePostings(pairs: readonly number[]): string {
  let text = "";
  let last = -1;
  for (let index = 0; index < pairs.length; index += 2) {
    const document = pairs[index] ?? 0;
    const times = pairs[index + 1] ?? 1;
    const distance = document - last - 1;
    text += times === 1 ? writeNumber(distance * 2) : writeNumber(distance * 2 + 1) + writeNumber(times);
    last = document;
  }
  return text;
}

/** Visits every posting of `text` between two offsets. */
export function eachPosting(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  visit: (document: number, times: number) => void,
): void {
  const numbers = readNumbers(text, start, end);
  let document = -1;
  while (numbers.more()) {
    const head = numbers.next();
    document += (head >>> 1) + 1;
    visit(document, head & 1 ? numbers.next() : 1);
  }
}
