import { setImmediate } from "node:timers/promises";
import type { SourceView, SummaryPiece } from "./session-view.ts";

/** A message that a summary may be based on. */
export interface Source {
  readonly message?: number;
  readonly archiveId?: string;
  readonly role: string;
}

export interface SourceText extends Source {
  readonly text: string;
}

/** An n-gram index over the messages of a session. */
export interface SourceIndex {
  readonly sources: readonly Source[];
  /** The positions in `sources` that contain the n-gram, ascending. */
  lookup(ngram: number): number[];
}

/** Words of the longest n-gram: three distinguish most sentences. */
const MAX_WORDS = 3;
/** Characters indexed (about 50 ms) before yielding to the event loop. */
const SLICE = 250_000;
/** An index entry packs a 32-bit n-gram hash and a 21-bit position into one double. */
const MAX_INDEXED = 2 ** 21;

export const NO_SOURCES: SourceIndex = { sources: [], lookup: () => [] };

/** Indexes the texts, up to `MAX_INDEXED`, and yields to the event loop in between. */
export async function indexSources(texts: Iterable<SourceText>): Promise<SourceIndex> {
  const sources: Source[] = [];
  const segments: Float64Array[] = [];
  let ngrams: number[] = [];
  let characters = 0;
  const close = (): void => {
    segments.push(Float64Array.from(ngrams).sort());
    ngrams = [];
    characters = 0;
  };
  for (const { text, ...source } of texts) {
    if (sources.length === MAX_INDEXED) break;
    for (const ngram of allNgrams(text)) ngrams.push(ngram * MAX_INDEXED + sources.length);
    sources.push(source);
    characters += text.length;
    if (characters < SLICE) continue;
    close();
    await setImmediate();
  }
  close();
  return { sources, lookup: (ngram) => segments.flatMap((segment) => positionsIn(segment, ngram)) };
}

/** The n-grams to look up a line by; none spans an ellipsis, which stands for omitted words. */
function queryNgrams(line: string): ReadonlySet<number> {
  const segments = line.split("…").map(hashedWords);
  return new Set(segments.flatMap((words) => ngramsIn(words, Math.min(MAX_WORDS, words.length))));
}

/** The distinct n-grams of one to three words. */
function allNgrams(text: string): Set<number> {
  const words = hashedWords(text);
  return new Set(Array.from({ length: MAX_WORDS }, (_, index) => ngramsIn(words, index + 1)).flat());
}

function ngramsIn(words: readonly number[], length: number): number[] {
  const ngrams: number[] = [];
  for (let at = 0; length > 0 && at + length <= words.length; at += 1)
    ngrams.push(combined(words, at, length));
  return ngrams;
}

function positionsIn(segment: Float64Array, ngram: number): number[] {
  const positions: number[] = [];
  const end = (ngram + 1) * MAX_INDEXED;
  for (let at = lowerBound(segment, ngram * MAX_INDEXED); (segment[at] ?? end) < end; at += 1) {
    positions.push((segment[at] ?? 0) % MAX_INDEXED);
  }
  return positions;
}

/** The index of the first number of a sorted list that is not below `least`. */
function lowerBound(sorted: Float64Array, least: number): number {
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

/** FNV-1a, 32 bits; a rare collision changes one n-gram of many. */
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

/** Shares of a piece's n-grams that one message must contain. */
const EXACT = 0.9;
const LIKELY = 0.3;
const MAX_PIECE_SOURCES = 4;
/** N-grams that each further message must add: four consecutive words. */
const MIN_GAIN = 2;

/** The messages that a summary may be based on. */
interface SourceCandidates {
  readonly index: SourceIndex;
  /** False for an indexed message that this summary did not replace. */
  has(position: number): boolean;
}

/** Splits a summary into sentences and lines, each with the messages whose words it repeats. */
export function summaryPieces(summary: string, candidates: SourceCandidates): SummaryPiece[] {
  return splitSummary(summary).map((text) => {
    const kind = kindOf(text);
    if (kind !== "line") return { text, kind, sources: [] };
    const ngrams = queryNgrams(text.replace(PREFIX, ""));
    const { sources } = candidates.index;
    return { text, kind, sources: selectSources(findMatches(ngrams, candidates), { ngrams, text, sources }) };
  });
}

/** Lines, and the sentences of long ones; joined they are the summary. */
function splitSummary(summary: string): string[] {
  return summary.split(/(?<=\n)/).flatMap((line) => {
    if (line.length < 160) return [line];
    return line.split(/(?<=[.!?。！？;][)"'\]]?\s)(?=\S)/u);
  });
}

function kindOf(text: string): SummaryPiece["kind"] {
  if (text.trim() === "") return "blank";
  return /^\s{0,3}#{1,6}\s/.test(text) ? "heading" : "line";
}

/** Quotation, list and speaker marks, which are not the message's own words. */
const PREFIX = /^\s*(?:>\s?|[-*]\s|\d+\.\s|\[[^\]]{1,120}\]\s?)*/;

/** The n-grams found in each message, by position. */
type Matches = Map<number, Set<number>>;

function findMatches(ngrams: ReadonlySet<number>, { index, has }: SourceCandidates): Matches {
  const found: Matches = new Map();
  for (const ngram of ngrams) {
    for (const position of index.lookup(ngram)) {
      if (has(position)) found.set(position, (found.get(position) ?? new Set()).add(ngram));
    }
  }
  return found;
}

interface Piece {
  readonly ngrams: ReadonlySet<number>;
  readonly text: string;
  readonly sources: readonly Source[];
}

/** Greedy set cover: the message with most of the n-grams, then those with most of the missing ones. */
function selectSources(found: Matches, piece: Piece): SourceView[] {
  const candidates = new Map(found);
  const missing = new Set(piece.ngrams);
  const views: SourceView[] = [];
  while (views.length < MAX_PIECE_SOURCES) {
    const best = bestCandidate(candidates, missing, piece);
    if (best === undefined) break;
    const held = candidates.get(best) ?? new Set();
    const share = held.size / piece.ngrams.size;
    const enough =
      views.length === 0 ? share >= LIKELY : overlap(held, missing) >= Math.min(MIN_GAIN, missing.size);
    if (!enough) break;
    const { message, archiveId } = piece.sources[best] ?? {};
    views.push({ message, archiveId, match: share >= EXACT ? "exact" : "likely" });
    candidates.delete(best);
    for (const ngram of held) missing.delete(ngram);
  }
  return views;
}

function overlap(held: ReadonlySet<number>, missing: ReadonlySet<number>): number {
  let count = 0;
  for (const ngram of held) if (missing.has(ngram)) count += 1;
  return count;
}

/** The message with most of the missing n-grams; ties go to the named speaker, then to the first message. */
function bestCandidate(
  candidates: Matches,
  missing: ReadonlySet<number>,
  { text, sources }: Piece,
): number | undefined {
  const speaker = speakerOf(text);
  let best: { readonly source: number; readonly score: number } | undefined;
  for (const [source, held] of candidates) {
    const ngrams = overlap(held, missing);
    const score = ngrams + (sources[source]?.role === speaker ? 0.5 : 0);
    if (ngrams > 0 && (best === undefined || score > best.score)) best = { source, score };
  }
  return best?.source;
}

function speakerOf(text: string): string | undefined {
  const [, mark = ""] = /^\s*(>|\[[a-z]+)/.exec(text) ?? [];
  if (mark === ">" || mark === "[user") return "user";
  if (mark === "[assistant" || mark === "[call") return "assistant";
  return mark === "[output" ? "tool" : undefined;
}
