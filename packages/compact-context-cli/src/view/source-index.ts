import { setImmediate } from "node:timers/promises";
import type { Message } from "compact-context/internal/core/message";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { SourceView, SummaryPiece } from "./session-view.ts";

// Finds the messages that a line of a summary comes from, by the words that they share.

/** An n-gram index over the messages of a session. */
export interface SourceIndex {
  /** The role of each message. */
  readonly roles: readonly string[];
  /** The positions of the messages that contain the n-gram, ascending. */
  lookup(ngram: number): number[];
}

/** Words of the n-grams: three distinguish most sentences. */
const LENGTHS = [1, 2, 3];
/** Characters indexed (about 50 ms) before yielding to the event loop. */
const SLICE = 250_000;
/** An index entry packs a 32-bit n-gram hash and a 21-bit position into one double. */
const MAX_INDEXED = 2 ** 21;

/** Indexes the messages, up to `MAX_INDEXED`, and yields to the event loop in between. */
export async function indexSources(messages: readonly { readonly message: Message }[]): Promise<SourceIndex> {
  const segments: Float64Array[] = [];
  const indexed = messages.slice(0, MAX_INDEXED);
  let entries: number[] = [];
  let characters = 0;
  const close = (): void => {
    segments.push(Float64Array.from(entries).sort());
    entries = [];
    characters = 0;
  };
  for (const [position, { message }] of indexed.entries()) {
    const text = readableMessage(message);
    const words = hashedWords(text);
    for (const ngram of new Set(LENGTHS.flatMap((length) => ngramsIn(words, length))))
      entries.push(ngram * MAX_INDEXED + position);
    characters += text.length;
    if (characters < SLICE) continue;
    close();
    await setImmediate();
  }
  close();
  return {
    roles: indexed.map(({ message }) => message.role),
    lookup: (ngram) => segments.flatMap((segment) => positionsIn(segment, ngram)),
  };
}

function ngramsIn(words: readonly number[], length: number): number[] {
  const ngrams: number[] = [];
  for (let at = 0; length > 0 && at + length <= words.length; at += 1) {
    let hash = length;
    for (let step = 0; step < length; step += 1) hash = mixed(hash, words[at + step] ?? 0);
    ngrams.push(hash >>> 0);
  }
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

/** The words as hashes (FNV-1a, 32 bits); a rare collision changes one n-gram of many. */
function hashedWords(text: string): number[] {
  const hashes: number[] = [];
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 0x811c9dc5;
    for (let at = 0; at < word.length; at += 1) hash = mixed(hash, word.charCodeAt(at));
    hashes.push(hash >>> 0);
  }
  return hashes;
}

function mixed(hash: number, more: number): number {
  return Math.imul(hash ^ more, 0x01000193);
}

/** Shares of a piece's n-grams that one message must contain. */
const EXACT = 0.9;
const LIKELY = 0.3;
const MAX_PIECE_SOURCES = 4;
/** N-grams that each further message must add: four consecutive words. */
const MIN_GAIN = 2;
/** Quotation, list and speaker marks, which are not the message's own words. */
const PREFIX = /^\s*(?:>\s?|[-*]\s|\d+\.\s|\[[^\]]{1,120}\]\s?)*/;

/**
 * Splits a summary into lines, and long lines into sentences; joined they are the summary. Each has the messages whose
 * words it repeats, among those that `isReplaced` says the summary may cover.
 */
export function summaryPieces(
  summary: string,
  index: SourceIndex,
  isReplaced: (position: number) => boolean,
): SummaryPiece[] {
  const pieces = summary
    .split(/(?<=\n)/)
    .flatMap((line) => (line.length < 160 ? [line] : line.split(/(?<=[.!?。！？;][)"'\]]?\s)(?=\S)/u)));
  return pieces.map((text) => {
    if (text.trim() === "") return { text, kind: "blank", sources: [] };
    if (/^\s{0,3}#{1,6}\s/.test(text)) return { text, kind: "heading", sources: [] };
    // No n-gram spans an ellipsis, which stands for omitted words.
    const parts = text.replace(PREFIX, "").split("…").map(hashedWords);
    const ngrams = new Set(parts.flatMap((words) => ngramsIn(words, Math.min(LENGTHS.length, words.length))));
    const candidates = new Map<number, Set<number>>();
    for (const ngram of ngrams) {
      for (const position of index.lookup(ngram).filter(isReplaced))
        candidates.set(position, (candidates.get(position) ?? new Set()).add(ngram));
    }
    const speaker = speakerOf(text);
    const speaks = (position: number): boolean => index.roles[position] === speaker;
    return { text, kind: "line", sources: selectSources(candidates, ngrams, speaks) };
  });
}

/**
 * Greedy set cover: the message with most of the n-grams, then those with most of the missing ones. Ties go to the named
 * speaker, then to the first message.
 */
function selectSources(
  candidates: Map<number, ReadonlySet<number>>,
  ngrams: ReadonlySet<number>,
  speaks: (position: number) => boolean,
): SourceView[] {
  const missing = new Set(ngrams);
  const views: SourceView[] = [];
  while (views.length < MAX_PIECE_SOURCES) {
    const ranked = [...candidates].map(([message, held]) => {
      const gain = [...held].filter((ngram) => missing.has(ngram)).length;
      return { message, held, gain, score: gain + (speaks(message) ? 0.5 : 0) };
    });
    const [best] = ranked.filter(({ gain }) => gain > 0).sort((one, other) => other.score - one.score);
    if (best === undefined) break;
    const { message, held, gain } = best;
    const share = held.size / ngrams.size;
    const isEnough = views.length === 0 ? share >= LIKELY : gain >= Math.min(MIN_GAIN, missing.size);
    if (!isEnough) break;
    views.push({ message, match: share >= EXACT ? "exact" : "likely" });
    candidates.delete(message);
    for (const ngram of held) missing.delete(ngram);
  }
  return views;
}

/** The role that a line's mark names. */
function speakerOf(line: string): string | undefined {
  const [, mark = ""] = /^\s*(>|\[[a-z]+)/.exec(line) ?? [];
  if (mark === ">" || mark === "[user") return "user";
  if (mark === "[assistant" || mark === "[call") return "assistant";
  return mark === "[output" ? "tool" : undefined;
}
