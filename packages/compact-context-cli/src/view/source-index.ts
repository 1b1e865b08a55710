import { setImmediate } from "node:timers/promises";

/** A message that a summary may speak of. */
export interface Source {
  readonly message?: number;
  readonly archiveId?: string;
  readonly role: string;
}

export interface SourceText extends Source {
  /** Its readable text. */
  readonly text: string;
}

/** Which messages hold which words, made once for a session. */
export interface SourceIndex {
  readonly sources: readonly Source[];
  /** The places in `sources` of those that hold a row of words, ascending. */
  holders(row: number): number[];
}

/** Words in a row that are looked up together: three tell most sentences apart. */
const ROW = 3;
/** Characters that are read before others have their turn, some 50 ms. */
const SLICE = 250_000;
/** Row and place share a number: 32 bits and 21, as many as a double holds exactly. */
const PLACES = 2 ** 21;

export const NO_SOURCES: SourceIndex = { sources: [], holders: () => [] };

/** Reads the texts one after the other, letting other work through in between; most are two million. */
export async function indexSources(texts: Iterable<SourceText>): Promise<SourceIndex> {
  const sources: Source[] = [];
  const segments: Float64Array[] = [];
  let rows: number[] = [];
  let characters = 0;
  const close = (): void => {
    segments.push(Float64Array.from(rows).sort());
    rows = [];
    characters = 0;
  };
  for (const { text, ...source } of texts) {
    if (sources.length === PLACES) break;
    for (const row of allRows(text)) rows.push(row * PLACES + sources.length);
    sources.push(source);
    characters += text.length;
    if (characters < SLICE) continue;
    close();
    await setImmediate();
  }
  close();
  return { sources, holders: (row) => segments.flatMap((segment) => placesIn(segment, row)) };
}

/** Hashes of the words in a row that a line is looked up by; an ellipsis ends a row, for something was left out there. */
export function rowsOf(line: string): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const stretch of line.split("…")) {
    const words = hashedWords(stretch);
    const length = Math.min(ROW, words.length);
    for (let at = 0; length > 0 && at + length <= words.length; at += 1) {
      rows.add(combined(words, at, length));
    }
  }
  return rows;
}

/** Each row of one to three words, once. */
function allRows(text: string): Set<number> {
  const rows = new Set<number>();
  const words = hashedWords(text);
  for (let at = 0; at < words.length; at += 1) {
    for (let length = 1; length <= ROW && at + length <= words.length; length += 1) {
      rows.add(combined(words, at, length));
    }
  }
  return rows;
}

function placesIn(segment: Float64Array, row: number): number[] {
  const places: number[] = [];
  const end = (row + 1) * PLACES;
  for (let at = firstFrom(segment, row * PLACES); (segment[at] ?? end) < end; at += 1) {
    places.push((segment[at] ?? 0) % PLACES);
  }
  return places;
}

/** Where the numbers from this one on begin in a sorted list. */
function firstFrom(sorted: Float64Array, least: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

function hashedWords(text: string): number[] {
  const hashes: number[] = [];
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) hashes.push(hashOf(word));
  return hashes;
}

/** FNV-1a, 32 bits: a row that is taken for another by chance weighs little among many. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function combined(words: readonly number[], at: number, length: number): number {
  let hash = length;
  for (let step = 0; step < length; step += 1) hash = Math.imul(hash ^ (words[at + step] ?? 0), 0x01000193);
  return hash >>> 0;
}
