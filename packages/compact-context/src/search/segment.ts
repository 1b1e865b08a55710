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

/** A stored block of texts, and the first document that it holds. */
export interface BlockPlace {
  readonly name: string;
  readonly first: number;
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

/** The text of a segment: a header line, the archive ids, the numbers of each message, then the terms in order. */
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

/** An immutable part of a session's index: one string, searched in place, and where its messages' texts are. */
export class Segment {
  /** The session's. */
  readonly folder: string;
  readonly text: string;
  readonly places: readonly BlockPlace[];
  readonly name: string;
  /** Number of messages, including aliases. */
  readonly size: number;
  /** Number of messages that have words; `words` is their total. */
  readonly worded: number;
  readonly words: number;
  /** Offsets of all lines, followed by the end of the text. */
  readonly #starts: Uint32Array;
  readonly #ids: string;
  /** Of each message: step, n, words. */
  readonly #numbers: Uint32Array;
  /** Of each message: its role, with flags. */
  readonly #flags: Uint8Array;

  constructor(folder: string, text: string, places: readonly BlockPlace[], name: string = segmentName(text)) {
    this.folder = folder;
    this.text = text;
    this.places = places;
    this.name = name;
    this.#starts = lineStarts(text);
    const [, ids = 0, table = 0, terms = 0] = this.#starts;
    this.#ids = text.slice(ids, table - 1);
    this.size = this.#ids.length / ID_LENGTH;
    const written = readNumbers(text, table, terms - 1);
    this.#numbers = new Uint32Array(this.size * 3);
    this.#flags = new Uint8Array(this.size);
    let [worded, words] = [0, 0];
    for (let document = 0; document < this.size; document++) {
      const [step, n] = [written.next(), written.next()];
      this.#flags[document] = written.next();
      const length = written.next();
      this.#numbers.set([step, n, length], document * 3);
      words += length;
      if (length > 0) worded += 1;
    }
    this.worded = worded;
    this.words = words;
  }

  lengthOf(document: number): number {
    return this.#numbers[document * 3 + 2] ?? 0;
  }

  message(document: number): IndexedMessage {
    const at = document * 3;
    const flags = this.#flags[document] ?? 0;
    return {
      archiveId: this.#ids.slice(document * ID_LENGTH, (document + 1) * ID_LENGTH),
      step: this.#numbers[at] ?? 0,
      n: this.#numbers[at + 1] ?? 0,
      role: ROLES[flags & 7] ?? "user",
      redacted: (flags & REDACTED) > 0,
      summary: (flags & SUMMARY) > 0,
      alias: (flags & ALIAS) > 0,
      length: this.lengthOf(document),
    };
  }

  /** Number of documents that contain the term. */
  frequency(term: string): number {
    return this.#find(term)?.count ?? 0;
  }

  each(term: string, visit: (document: number, times: number) => void): void {
    const found = this.#find(term);
    if (found !== undefined) eachPosting(this.text, found, visit);
  }

  /** Terms with this prefix, in order, at most `most`. */
  startingWith(prefix: string, most: number): string[] {
    const found: string[] = [];
    for (let index = this.#firstFrom(prefix); index < this.#count && found.length < most; index++) {
      const term = this.#termAt(index);
      if (!term.startsWith(prefix)) break;
      found.push(term);
    }
    return found;
  }

  /** Every term with its frequency and encoded postings, in order. */
  *terms(): Generator<WrittenTerm> {
    for (let index = 0; index < this.#count; index++) {
      const { count, start, end } = this.#entry(index);
      yield { term: this.#termAt(index), count, postings: this.text.slice(start, end) };
    }
  }

  get #count(): number {
    return this.#starts.length - 1 - HEAD_LINES;
  }

  #startOf(index: number): number {
    return this.#starts[index + HEAD_LINES] ?? this.text.length;
  }

  #termAt(index: number): string {
    const start = this.#startOf(index);
    return this.text.slice(start, this.text.indexOf("\t", start));
  }

  /** By binary search; nothing is unpacked when the index is opened. */
  #firstFrom(term: string): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#termAt(middle) < term) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #find(term: string): Postings | undefined {
    const index = this.#firstFrom(term);
    return index < this.#count && this.#termAt(index) === term ? this.#entry(index) : undefined;
  }

  #entry(index: number): Postings {
    const from = this.text.indexOf("\t", this.#startOf(index)) + 1;
    const tab = this.text.indexOf("\t", from);
    return { count: Number(this.text.slice(from, tab)), start: tab + 1, end: this.#startOf(index + 1) - 1 };
  }
}

/** A term's frequency, and where its postings stand. */
interface Postings {
  readonly count: number;
  readonly start: number;
  readonly end: number;
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

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, DIGITS.indexOf(String.fromCharCode(code))),
);
const MORE = 32;

/** Encodes a whole number from 0 to 2^31 - 1 as one character per five bits, lowest first (as in source maps). */
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
