import { createMergeCounter } from "./merge.ts";
import { hashShort, hashStep, PAD_FIRST, PAD_SECOND, shiftFor, type Vocabulary } from "./vocabulary.ts";

/** Tokens of the pieces of `text` that end at the first `pieces` entries of `ends`. */
export type PieceCounter = (text: DataView, bytes: Uint8Array, ends: Int32Array, pieces: number) => number;

// The cache holds pieces that are no token: per slot length, count, and the words of up to 56 bytes.
const SLOT_WORDS = 16;
const CACHED_BYTES = (SLOT_WORDS - 2) * 4;
const CACHE_BITS = 13;

/** Counts pieces: one table probe where a piece is a token, else a small cache, else merging. */
export function createPieceCounter(vocabulary: Vocabulary): PieceCounter {
  const { short, long, longWords, merges } = vocabulary;
  const shortMask = short.length - 1;
  const shortShift = shiftFor(short);
  const longMask = long.length - 1;
  const longShift = shiftFor(long);
  const merge = createMergeCounter(merges);
  const cache = new Int32Array(SLOT_WORDS << CACHE_BITS);
  const key = new Int32Array(SLOT_WORDS);

  function isShortToken(first: number, second: number): boolean {
    let slot = (hashShort(first, second) >>> shortShift) << 1;
    for (;;) {
      const stored = short[slot] as number;
      if (stored === first && short[slot + 1] === second) return true;
      if (stored === -1 && short[slot + 1] === -1) return false;
      slot = (slot + 2) & shortMask;
    }
  }

  function sameWords(text: DataView, start: number, length: number, offset: number): boolean {
    if (longWords[offset] !== length) return false;
    for (let at = 0, word = offset + 1; at < length; at += 4, word += 1) {
      const pad = length - at < 4 ? (PAD_FIRST[length - at] as number) : 0;
      if ((text.getInt32(start + at, true) | pad) !== longWords[word]) return false;
    }
    return true;
  }

  function hashLong(text: DataView, start: number, length: number): number {
    let hash = length;
    let at = start;
    const end = start + length;
    for (; at + 4 <= end; at += 4) hash = hashStep(hash, text.getInt32(at, true));
    return at < end ? hashStep(hash, text.getInt32(at, true) | (PAD_FIRST[end - at] as number)) : hash;
  }

  function isLongToken(text: DataView, start: number, length: number, hash: number): boolean {
    let slot = (hash >>> longShift) << 1;
    for (;;) {
      const offset = long[slot + 1] as number;
      if (offset === 0) return false;
      if (long[slot] === hash && sameWords(text, start, length, offset)) return true;
      slot = (slot + 2) & longMask;
    }
  }

  function cachedCount(text: DataView, bytes: Uint8Array, start: number, length: number): number {
    let hash = length;
    let word = 2;
    for (let at = 0; at < length; at += 4, word += 1) {
      const pad = length - at < 4 ? (PAD_FIRST[length - at] as number) : 0;
      const value = text.getInt32(start + at, true) | pad;
      key[word] = value;
      hash = hashStep(hash, value);
    }
    const slot = (hash >>> (32 - CACHE_BITS)) * SLOT_WORDS;
    let same = cache[slot] === length;
    for (let i = 2; same && i < word; i += 1) same = cache[slot + i] === key[i];
    if (same) return cache[slot + 1] as number;
    const count = merge(bytes, start, length);
    cache[slot] = length;
    cache[slot + 1] = count;
    for (let i = 2; i < word; i += 1) cache[slot + i] = key[i] as number;
    return count;
  }

  function countLong(text: DataView, bytes: Uint8Array, start: number, length: number): number {
    if (isLongToken(text, start, length, hashLong(text, start, length))) return 1;
    if (length > CACHED_BYTES) return merge(bytes, start, length);
    return cachedCount(text, bytes, start, length);
  }

  return (text, bytes, ends, pieces) => {
    let total = 0;
    let start = 0;
    for (let i = 0; i < pieces; i += 1) {
      const end = ends[i] as number;
      const length = end - start;
      if (length > 8) {
        total += countLong(text, bytes, start, length);
      } else if (length > 1) {
        const first = text.getInt32(start, true) | (PAD_FIRST[length] as number);
        const second = text.getInt32(start + 4, true) | (PAD_SECOND[length] as number);
        total += isShortToken(first, second) ? 1 : cachedCount(text, bytes, start, length);
      } else {
        total += 1;
      }
      start = end;
    }
    return total;
  };
}
