import { createMergeCounter, type MergeCounter } from "./merge.ts";
import {
  hashMedium,
  hashShort,
  hashStep,
  PAD_FIRST,
  PAD_SECOND,
  shiftFor,
  type Vocabulary,
} from "./vocabulary.ts";

/** UTF-8 text, and the same bytes for reading words; both longer than the text by at least 8 bytes. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Tokens of the pieces of a text that end at the first `pieces` entries of `ends`. */
export type PieceCounter = (text: TextBytes, ends: Int32Array, pieces: number) => number;

/** Tokens of a piece of 9 bytes or more. */
type LongCounter = (text: TextBytes, start: number, length: number) => number;

// The engine knows what a module's own constants hold, but not imported ones.
const padFirst = PAD_FIRST;
const padSecond = PAD_SECOND;

// Pieces that are no token and were merged lately. Short: two words, count, unused; long: count, length, words.
const SHORT_CACHE_BITS = 14;
const LONG_CACHE_BITS = 12;
const LONG_SLOT_WORDS = 16;
const LONGEST_CACHED = (LONG_SLOT_WORDS - 2) * 4;

function wordAt({ view }: TextBytes, at: number, end: number): number {
  const word = view.getInt32(at, true);
  return end - at < 4 ? word | (padFirst[end - at] as number) : word;
}

/** Whether the piece is the one that `words` holds from `offset` on: length in bytes, then the words. */
function sameWords(text: TextBytes, start: number, words: Int32Array, offset: number): boolean {
  const end = start + (words[offset] as number);
  for (let at = start, word = offset + 1; at < end; at += 4, word += 1) {
    if (wordAt(text, at, end) !== words[word]) return false;
  }
  return true;
}

/** Merges, except where the same piece was merged lately. */
function createCachedMerge(
  merge: MergeCounter,
): (text: TextBytes, start: number, length: number, hash: number) => number {
  const cache = new Int32Array(LONG_SLOT_WORDS << LONG_CACHE_BITS);

  return (text, start, length, hash) => {
    if (length > LONGEST_CACHED) return merge(text.bytes, start, length);
    const slot = (hash >>> (32 - LONG_CACHE_BITS)) * LONG_SLOT_WORDS;
    if (cache[slot + 1] === length && sameWords(text, start, cache, slot + 1)) return cache[slot] as number;
    const count = merge(text.bytes, start, length);
    cache[slot] = count;
    cache[slot + 1] = length;
    const end = start + length;
    for (let at = start, word = slot + 2; at < end; at += 4, word += 1) cache[word] = wordAt(text, at, end);
    return count;
  };
}

function createLongCounter({ medium }: Vocabulary, merge: MergeCounter): LongCounter {
  const mask = medium.length - 1;
  const shift = shiftFor(medium, 4);
  const cachedMerge = createCachedMerge(merge);

  function countMedium(text: TextBytes, start: number, length: number): number {
    const { view } = text;
    const first = view.getInt32(start, true);
    const second = view.getInt32(start + 4, true);
    const third = view.getInt32(start + 8, true) | (padFirst[length - 8] as number);
    const fourth = view.getInt32(start + 12, true) | (padSecond[length - 8] as number);
    const hash = hashMedium(first, second, third, fourth);
    let slot = (hash >>> shift) << 2;
    for (;;) {
      const stored = medium[slot] as number;
      const differing =
        (stored ^ first) |
        ((medium[slot + 1] as number) ^ second) |
        ((medium[slot + 2] as number) ^ third) |
        ((medium[slot + 3] as number) ^ fourth);
      if (differing === 0) return 1;
      // No text contains a byte of all ones, so no token begins with one.
      if (stored === -1) return cachedMerge(text, start, length, hash);
      slot = (slot + 4) & mask;
    }
  }

  return (text, start, length) => {
    if (length <= 16) return countMedium(text, start, length);
    const end = start + length;
    let hash = length;
    if (length <= LONGEST_CACHED)
      for (let at = start; at < end; at += 4) hash = hashStep(hash, wordAt(text, at, end));
    return cachedMerge(text, start, length, hash);
  };
}

/** Counts pieces: one table probe where a piece is a token, else a small cache, else merging. */
export function createPieceCounter(vocabulary: Vocabulary): PieceCounter {
  const { short } = vocabulary;
  const mask = short.length - 1;
  const shift = shiftFor(short, 2);
  const merge = createMergeCounter(vocabulary);
  const countLong = createLongCounter(vocabulary, merge);
  // All ones are no piece.
  const cache = new Int32Array(4 << SHORT_CACHE_BITS).fill(-1);

  function isToken(first: number, second: number, hash: number): boolean {
    let slot = (hash >>> shift) << 1;
    for (;;) {
      const storedFirst = short[slot] as number;
      const storedSecond = short[slot + 1] as number;
      // One branch for both words: the processor guesses it better than two.
      if (((storedFirst ^ first) | (storedSecond ^ second)) === 0) return true;
      if ((storedFirst & storedSecond) === -1) return false;
      slot = (slot + 2) & mask;
    }
  }

  /** For 1 to 8 bytes. */
  function countShort(text: TextBytes, start: number, length: number): number {
    const first = text.view.getInt32(start, true) | (padFirst[length] as number);
    const second = text.view.getInt32(start + 4, true) | (padSecond[length] as number);
    const hash = hashShort(first, second);
    if (isToken(first, second, hash)) return 1;
    const slot = (hash >>> (32 - SHORT_CACHE_BITS)) << 2;
    if (cache[slot] === first && cache[slot + 1] === second) return cache[slot + 2] as number;
    const count = merge(text.bytes, start, length);
    cache[slot] = first;
    cache[slot + 1] = second;
    cache[slot + 2] = count;
    return count;
  }

  return (text, ends, pieces) => {
    let total = 0;
    let start = 0;
    for (let i = 0; i < pieces; i += 1) {
      const end = ends[i] as number;
      const length = end - start;
      total += length > 8 ? countLong(text, start, length) : countShort(text, start, length);
      start = end;
    }
    return total;
  };
}
