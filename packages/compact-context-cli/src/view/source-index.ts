import { setImmediate } from "node:timers/promises";
import type { SourceView, SummaryPiece } from "./session-view.ts";

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
function rowsOf(line: string): ReadonlySet<number> {
  const stretches = line.split("…").map(hashedWords);
  return new Set(stretches.flatMap((words) => rowsIn(words, Math.min(ROW, words.length))));
}

/** Each row of one to three words, once. */
function allRows(text: string): Set<number> {
  const words = hashedWords(text);
  return new Set(Array.from({ length: ROW }, (_, less) => rowsIn(words, less + 1)).flat());
}

/** All rows of so many words. */
function rowsIn(words: readonly number[], length: number): number[] {
  const rows: number[] = [];
  for (let at = 0; length > 0 && at + length <= words.length; at += 1) rows.push(combined(words, at, length));
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

/** Shares of a piece's rows that one message must hold. */
const EXACT = 0.9;
const LIKELY = 0.3;
const MAX_SOURCES = 4;
/** Rows that a further message must add: four words of its own in a row. */
const LEAST_GAIN = 2;

/** What a summary may speak of. */
interface Speakable {
  readonly index: SourceIndex;
  /** False for what stands in the index and was never replaced by this summary. */
  has(place: number): boolean;
}

/** The summary cut into sentences and lines, each with the messages whose words it repeats. */
export function summaryPieces(summary: string, speakable: Speakable): SummaryPiece[] {
  return cut(summary).map((text) => {
    const kind = kindOf(text);
    if (kind !== "line") return { text, kind, sources: [] };
    const rows = rowsOf(text.replace(OPENING, ""));
    const { sources } = speakable.index;
    return { text, kind, sources: chosen(lookUp(rows, speakable), { rows, text, sources }) };
  });
}

/** Lines, and the sentences in long ones; all together they are the text again. */
function cut(summary: string): string[] {
  return summary.split(/(?<=\n)/).flatMap((line) => {
    if (line.length < 160) return [line];
    return line.split(/(?<=[.!?。！？;][)"'\]]?\s)(?=\S)/u);
  });
}

function kindOf(text: string): SummaryPiece["kind"] {
  if (text.trim() === "") return "blank";
  return /^\s{0,3}#{1,6}\s/.test(text) ? "heading" : "line";
}

/** Who the summary says spoke, and the marks of a quotation: no words of the message itself. */
const OPENING = /^\s*(?:>\s?|[-*]\s|\d+\.\s|\[[^\]]{1,120}\]\s?)*/;

/** For each message, by its place, the rows that it holds. */
type Found = Map<number, Set<number>>;

function lookUp(rows: ReadonlySet<number>, { index, has }: Speakable): Found {
  const found: Found = new Map();
  for (const row of rows) {
    for (const place of index.holders(row)) {
      if (has(place)) found.set(place, (found.get(place) ?? new Set()).add(row));
    }
  }
  return found;
}

interface Piece {
  readonly rows: ReadonlySet<number>;
  readonly text: string;
  readonly sources: readonly Source[];
}

/** The message that holds most of it, then those that hold what is missing: a list may come from several. */
function chosen(found: Found, piece: Piece): SourceView[] {
  const candidates = new Map(found);
  const missing = new Set(piece.rows);
  const views: SourceView[] = [];
  while (views.length < MAX_SOURCES) {
    const best = bestOf(candidates, missing, piece);
    if (best === undefined) break;
    const held = candidates.get(best) ?? new Set();
    const share = held.size / piece.rows.size;
    const enough =
      views.length === 0 ? share >= LIKELY : gain(held, missing) >= Math.min(LEAST_GAIN, missing.size);
    if (!enough) break;
    views.push(sourceView(piece.sources[best], share >= EXACT ? "exact" : "likely"));
    candidates.delete(best);
    for (const row of held) missing.delete(row);
  }
  return views;
}

function sourceView(source: Source | undefined, match: SourceView["match"]): SourceView {
  const { message, archiveId } = source ?? {};
  return { message, archiveId, match };
}

function gain(held: ReadonlySet<number>, missing: ReadonlySet<number>): number {
  let count = 0;
  for (const row of held) if (missing.has(row)) count += 1;
  return count;
}

/** Most of what is missing; among equals the speaker that the summary names, then the first who said it. */
function bestOf(
  candidates: Found,
  missing: ReadonlySet<number>,
  { text, sources }: Piece,
): number | undefined {
  const speaker = speakerOf(text);
  let best: { readonly source: number; readonly score: number } | undefined;
  for (const [source, held] of candidates) {
    const rows = gain(held, missing);
    const score = rows + (sources[source]?.role === speaker ? 0.5 : 0);
    if (rows > 0 && (best === undefined || score > best.score)) best = { source, score };
  }
  return best?.source;
}

function speakerOf(text: string): string | undefined {
  const [, mark = ""] = /^\s*(>|\[[a-z]+)/.exec(text) ?? [];
  if (mark === ">" || mark === "[user") return "user";
  if (mark === "[assistant" || mark === "[call") return "assistant";
  return mark === "[output" ? "tool" : undefined;
}
