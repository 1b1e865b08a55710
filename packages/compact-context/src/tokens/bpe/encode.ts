import { characterStart, requireText } from "../../errors.ts";
import { createMergeCounter, type MergeCounter } from "./merge.ts";
import { END_BYTE, type Splitter } from "./split.ts";
import {
  hashMedium,
  hashShort,
  hashStep,
  PAD_FIRST,
  PAD_SECOND,
  shiftFor,
  type Vocabulary,
} from "./vocabulary.ts";

/** A public byte-pair encoding that counts, but does not produce, tokens. */
export interface Encoding {
  /** OpenAI's name, such as `o200k_base`. */
  readonly name: string;
  /**
   * Tokens of any text: special-token strings count as plain text, a lone surrogate as U+FFFD. Equals
   * tiktoken's `encode_ordinary` as long as no single piece (a run without any break) is longer than 2^20
   * UTF-16 units; each further such stretch may add a few tokens. The first call loads the vocabulary and
   * throws an Error if that is missing or corrupt.
   */
  count(text: string): number;
}

// UTF-16 units read at a time: text, piece ends and the hot part of the tables then fit the CPU cache.
const WINDOW = 1 << 16;
// A longer single piece is cut, which bounds the cost per unit and memory.
const LONGEST_WINDOW = 1 << 20;
// No pattern looks further than this many bytes past the next piece; the longest contraction has 3.
const LOOKAHEAD = 8;

interface Buffers extends TextBytes {
  readonly ends: Int32Array;
}

function buffersFor(units: number): Buffers {
  // A unit takes at most 3 bytes; words are read up to 8 bytes past the text, and ends written up to 2 past
  // the last.
  const bytes = new Uint8Array(units * 3 + 16);
  return { bytes, view: new DataView(bytes.buffer), ends: new Int32Array(units * 3 + 2) };
}

/** UTF-16 units of well-formed UTF-8. */
function unitsBetween(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  for (let i = from; i < to; i += 1) {
    const byte = bytes[i] as number;
    if ((byte & 0xc0) !== 0x80) units += byte < 0xf0 ? 1 : 2;
  }
  return units;
}

/** The number of pieces that do not depend on text after the `length` bytes, if there is `more`. */
function settledPieces(ends: Int32Array, pieces: number, length: number, more: boolean): number {
  if (!more) return pieces;
  let settled = pieces;
  while (settled > 0 && (ends[settled - 1] as number) > length - LOOKAHEAD) settled -= 1;
  // The end of a word may depend on the case of letters in the next piece.
  return Math.max(settled - 1, 0);
}

/** End of the next window; never splits a surrogate pair. */
function windowEnd(text: string, at: number, window: number): number {
  return characterStart(text, Math.min(at + window, text.length));
}

/** An encoding that loads its vocabulary on the first count. */
export function createEncoding(name: string, load: () => Vocabulary, split: Splitter): Encoding {
  const encoder = new TextEncoder();
  let kept: { readonly buffers: Buffers; readonly countPieces: PieceCounter } | undefined;

  function count(text: string): number {
    requireText(text, "text", "Pass the text itself; countTokens counts lists of messages.");
    kept ??= { countPieces: createPieceCounter(load()), buffers: buffersFor(WINDOW) };
    const { buffers: small, countPieces } = kept;
    let buffers = small;
    let window = WINDOW;
    let total = 0;
    let at = 0;
    while (at < text.length) {
      const to = windowEnd(text, at, window);
      const { bytes, ends } = buffers;
      const length = encoder.encodeInto(text.slice(at, to), bytes).written;
      bytes[length] = END_BYTE;
      const found = split(bytes, length, ends);
      const settled = settledPieces(ends, found, length, to < text.length);
      if (settled === 0 && window < LONGEST_WINDOW) {
        window *= 2;
        buffers = buffersFor(window);
        continue;
      }
      const pieces = settled > 0 ? settled : found;
      total += countPieces(buffers, ends, pieces);
      at = to - unitsBetween(bytes, ends[pieces - 1] as number, length);
      window = WINDOW;
      buffers = small;
    }
    return total;
  }

  return { name, count };
}

/** UTF-8 text, and a view of the same bytes for reading words; both at least 8 bytes longer than the text. */
interface TextBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Tokens of the pieces of a text that end at the first `pieces` entries of `ends`. */
type PieceCounter = (text: TextBytes, ends: Int32Array, pieces: number) => number;

/** Tokens of a piece of 9 bytes or more. */
type LongCounter = (text: TextBytes, start: number, length: number) => number;

// The engine inlines a module's own constants, but not imported ones.
const padFirst = PAD_FIRST;
const padSecond = PAD_SECOND;

// Recently merged pieces that are not tokens. Short: two words, count, unused; long: count, length, words.
const SHORT_CACHE_BITS = 14;
const LONG_CACHE_BITS = 12;
const LONG_SLOT_WORDS = 16;
const LONGEST_CACHED = (LONG_SLOT_WORDS - 2) * 4;

function wordAt({ view }: TextBytes, at: number, end: number): number {
  const word = view.getInt32(at, true);
  return end - at < 4 ? word | (padFirst[end - at] as number) : word;
}

/** True if the piece equals the one stored in `words` at `offset`: length in bytes, then the words. */
function sameWords(text: TextBytes, start: number, words: Int32Array, offset: number): boolean {
  const end = start + (words[offset] as number);
  for (let at = start, word = offset + 1; at < end; at += 4, word += 1) {
    if (wordAt(text, at, end) !== words[word]) return false;
  }
  return true;
}

/** Merges, unless the piece is cached. */
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
      // No text contains a byte of all ones, so no token starts with one.
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

/** Counts pieces: one table lookup if a piece is a token, otherwise a small cache, otherwise merging. */
function createPieceCounter(vocabulary: Vocabulary): PieceCounter {
  const { short } = vocabulary;
  const mask = short.length - 1;
  const shift = shiftFor(short, 2);
  const merge = createMergeCounter(vocabulary);
  const countLong = createLongCounter(vocabulary, merge);
  // All ones mark an empty entry.
  const cache = new Int32Array(4 << SHORT_CACHE_BITS).fill(-1);

  function isToken(first: number, second: number, hash: number): boolean {
    let slot = (hash >>> shift) << 1;
    for (;;) {
      const storedFirst = short[slot] as number;
      const storedSecond = short[slot + 1] as number;
      // One branch for both words is predicted better than two.
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
