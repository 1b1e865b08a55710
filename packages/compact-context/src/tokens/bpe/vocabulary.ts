/** A vocabulary as it is shipped: six base64 digits per token above the 256 single bytes, three for each of its halves. */
export interface PackedVocabulary {
  readonly pairs: string;
  /** FNV-1a of `pairs`, 32 bits. */
  readonly checksum: number;
}

/** Open-addressing tables; lookups of texts and token pairs are exact. */
export interface Vocabulary {
  /** Tokens of up to 8 bytes: two words each, padded with 0xFF, which no text contains. An empty slot is all ones. */
  readonly short: Int32Array;
  /** Tokens of 9 to 16 bytes in the same layout, four words each. Longer ones are found by merging. */
  readonly medium: Int32Array;
  /** (left id, right id) to the id of the joined token, see `pairSlot`; an empty slot's second word is 0. */
  readonly merges: Int32Array;
  /** See `filterOf`. */
  readonly mergeFilter: Int32Array;
  /** The id of two single bytes, at left << 8 | right; NO_TOKEN if they form none. */
  readonly bytePairs: Int32Array;
}

/** Stands for a missing id; higher than any id, so that it is never the lowest rank. */
export const NO_TOKEN = 0x7fffffff;

/** Masks for the first and second word of a piece of 0 to 8 bytes that hide the bytes after it. */
export const PAD_FIRST: Int32Array = Int32Array.of(-1, -1 << 8, -1 << 16, -1 << 24, 0, 0, 0, 0, 0);
export const PAD_SECOND: Int32Array = Int32Array.of(-1, -1, -1, -1, -1, -1 << 8, -1 << 16, -1 << 24, 0);

const CORRUPT = "The token vocabulary is corrupt: it is not what was packed. Reinstall the package.";
const SINGLE_BYTES = 256;
const DIGITS_PER_TOKEN = 6;
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Spreads two words; multiplication carries entropy to the high bits, which `>>> shift` takes. */
export function hashShort(first: number, second: number): number {
  return Math.imul(first ^ Math.imul(second, 0x27d4eb2f), 0x9e3779b1);
}

/** The same for four words. */
export function hashMedium(first: number, second: number, third: number, fourth: number): number {
  return hashShort(first ^ Math.imul(third, 0x85ebca6b), second ^ Math.imul(fourth, 0xc2b2ae35));
}

/** One step of the hash of a longer piece; starts with the length in bytes. */
export function hashStep(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

/** The right shift that maps a 32-bit hash to a slot of the table. */
export function shiftFor(table: Int32Array, wordsPerSlot: number): number {
  return 32 - Math.log2(table.length / wordsPerSlot);
}

/** A fifth of the slots or more stay empty: probes are short, and the table is read from disk as it is. */
function tableFor(entries: number, wordsPerSlot: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2(entries * 1.25)) * wordsPerSlot);
}

function checkedDigits(packed: PackedVocabulary): Uint8Array {
  const { pairs } = packed;
  const values = new Uint8Array(128).fill(64);
  for (let i = 0; i < 64; i += 1) values[BASE64.charCodeAt(i)] = i;
  const digits = new Uint8Array(pairs.length);
  let hash = 0x811c9dc5;
  for (let i = 0; i < pairs.length; i += 1) {
    const code = pairs.charCodeAt(i);
    hash = Math.imul(hash ^ code, 0x01000193);
    digits[i] = values[code & 127] as number;
  }
  if (pairs.length === 0 || pairs.length % DIGITS_PER_TOKEN !== 0 || hash >>> 0 !== packed.checksum) {
    throw new Error(CORRUPT);
  }
  return digits;
}

/** Halves of every token, by id; both 0 for single bytes. */
function unpackHalves(digits: Uint8Array): { left: Int32Array; right: Int32Array } {
  const size = SINGLE_BYTES + digits.length / DIGITS_PER_TOKEN;
  const left = new Int32Array(size);
  const right = new Int32Array(size);
  const idAt = (at: number): number =>
    ((digits[at] as number) << 12) | ((digits[at + 1] as number) << 6) | (digits[at + 2] as number);
  for (let id = SINGLE_BYTES, at = 0; id < size; id += 1, at += DIGITS_PER_TOKEN) {
    left[id] = idAt(at);
    right[id] = idAt(at + 3);
  }
  return { left, right };
}

/** The bytes of all tokens concatenated, and their offsets; one more offset than tokens. */
function joinBytes(left: Int32Array, right: Int32Array): { bytes: Uint8Array; offsets: Int32Array } {
  const size = left.length;
  const offsets = new Int32Array(size + 1);
  const lengthOf = (id: number): number => (offsets[id + 1] as number) - (offsets[id] as number);
  for (let id = 0; id < size; id += 1) {
    const length = id < SINGLE_BYTES ? 1 : lengthOf(left[id] as number) + lengthOf(right[id] as number);
    offsets[id + 1] = (offsets[id] as number) + length;
  }
  // Eight spare bytes, so that a word can be read at the end of the last token.
  const bytes = new Uint8Array((offsets[size] as number) + 8);
  for (let id = 0; id < SINGLE_BYTES; id += 1) bytes[id] = id;
  for (let id = SINGLE_BYTES; id < size; id += 1) {
    let to = offsets[id] as number;
    const a = left[id] as number;
    const b = right[id] as number;
    for (let from = offsets[a] as number; from < (offsets[a + 1] as number); from += 1, to += 1) {
      bytes[to] = bytes[from] as number;
    }
    for (let from = offsets[b] as number; from < (offsets[b + 1] as number); from += 1, to += 1) {
      bytes[to] = bytes[from] as number;
    }
  }
  return { bytes, offsets };
}

/** Hash of a pair of ids, for `merges`. */
export function hashPair(left: number, right: number): number {
  return hashShort(left | (right << 18), right);
}

const FILTER_BITS = 20;

/** A bit per hash prefix of the entries of `merges`: fits the CPU cache and avoids most failing lookups in a large table. */
function filterOf(merges: Int32Array): Int32Array {
  const filter = new Int32Array(1 << (FILTER_BITS - 5));
  for (let at = 0; at < merges.length; at += 2) {
    const first = merges[at] as number;
    const second = merges[at + 1] as number;
    if (second === 0) continue;
    const bit = hashPair(first & 0x3ffff, (first >>> 18) | ((second >>> 18) << 14)) >>> (32 - FILTER_BITS);
    filter[bit >> 5] = (filter[bit >> 5] as number) | (1 << bit);
  }
  return filter;
}

/** False if no entry of the filter's table has this hash. */
export function mayHold(filter: Int32Array, hash: number): boolean {
  const bit = hash >>> (32 - FILTER_BITS);
  return (((filter[bit >> 5] as number) >>> bit) & 1) === 1;
}

/** The slot of a pair in `merges`, occupied or free: index of its first word. */
export function pairSlot(merges: Int32Array, shift: number, left: number, right: number): number {
  const mask = merges.length - 1;
  // Ids have 18 bits: the first word holds `left` and 14 bits of `right`, the second the joined id and 4 bits of `right`.
  const first = left | (right << 18);
  let slot = (hashShort(first, right) >>> shift) << 1;
  for (;;) {
    const second = merges[slot + 1] as number;
    if (second === 0 || (merges[slot] === first && second >>> 18 === right >>> 14)) return slot;
    slot = (slot + 2) & mask;
  }
}

function mergeTable(left: Int32Array, right: Int32Array): Int32Array {
  const merges = tableFor(left.length - SINGLE_BYTES, 2);
  const shift = shiftFor(merges, 2);
  for (let id = SINGLE_BYTES; id < left.length; id += 1) {
    const a = left[id] as number;
    const b = right[id] as number;
    const slot = pairSlot(merges, shift, a, b);
    merges[slot] = a | (b << 18);
    merges[slot + 1] = id | ((b >>> 14) << 18);
  }
  return merges;
}

function bytePairsOf(merges: Int32Array): Int32Array {
  const pairs = new Int32Array(SINGLE_BYTES * SINGLE_BYTES).fill(NO_TOKEN);
  for (let at = 0; at < merges.length; at += 2) {
    const first = merges[at] as number;
    const left = first & 0x3ffff;
    const right = first >>> 18;
    const joined = merges[at + 1] as number;
    // The upper bits of a byte that is the right half are 0 in both words.
    if (joined !== 0 && joined >>> 18 === 0 && left < SINGLE_BYTES && right < SINGLE_BYTES)
      pairs[(left << 8) | right] = joined;
  }
  return pairs;
}

/** Builds the tables from the pairs; throws an Error if the text is corrupt. */
export function unpackVocabulary(packed: PackedVocabulary): Vocabulary {
  const { left, right } = unpackHalves(checkedDigits(packed));
  const merges = mergeTable(left, right);
  return {
    ...wordTables(left, right),
    merges,
    mergeFilter: filterOf(merges),
    bytePairs: bytePairsOf(merges),
  };
}

/** The tables of the tokens of up to 16 bytes. */
function wordTables(left: Int32Array, right: Int32Array): Pick<Vocabulary, "short" | "medium"> {
  const { bytes, offsets } = joinBytes(left, right);
  const view = new DataView(bytes.buffer);
  const counts = [0, 0, 0];
  const lengthOf = (id: number): number => (offsets[id + 1] as number) - (offsets[id] as number);
  for (let id = 0; id < left.length; id += 1) {
    const kind = Math.min(2, (lengthOf(id) - 1) >> 3);
    counts[kind] = (counts[kind] as number) + 1;
  }
  const short = tableFor(counts[0] as number, 2).fill(-1);
  const medium = tableFor(counts[1] as number, 4).fill(-1);
  const shortShift = shiftFor(short, 2);
  const mediumShift = shiftFor(medium, 4);
  for (let id = 0; id < left.length; id += 1) {
    const start = offsets[id] as number;
    const length = lengthOf(id);
    let first = view.getInt32(start, true);
    let second = view.getInt32(start + 4, true);
    if (length <= 8) {
      first |= PAD_FIRST[length] as number;
      second |= PAD_SECOND[length] as number;
      let slot = (hashShort(first, second) >>> shortShift) << 1;
      while (short[slot] !== -1 || short[slot + 1] !== -1) slot = (slot + 2) & (short.length - 1);
      short[slot] = first;
      short[slot + 1] = second;
    } else if (length <= 16) {
      const third = view.getInt32(start + 8, true) | (PAD_FIRST[length - 8] as number);
      const fourth = view.getInt32(start + 12, true) | (PAD_SECOND[length - 8] as number);
      let slot = (hashMedium(first, second, third, fourth) >>> mediumShift) << 2;
      while (medium[slot] !== -1) slot = (slot + 4) & (medium.length - 1);
      medium[slot] = first;
      medium[slot + 1] = second;
      medium[slot + 2] = third;
      medium[slot + 3] = fourth;
    }
  }
  return { short, medium };
}

/** The tables for storage on disk: each its length, then its words. */
export function storedTables({ short, medium, merges, mergeFilter, bytePairs }: Vocabulary): Int32Array {
  const stored: number[] = [];
  for (const table of [short, medium, merges, mergeFilter, bytePairs])
    for (const word of [table.length, ...table]) stored.push(word);
  return Int32Array.from(stored);
}

/** Views of what `storedTables` wrote: nothing is copied. */
export function readTables(stored: Int32Array): Vocabulary {
  let at = 0;
  const next = (): Int32Array => {
    const from = at + 1;
    at = from + (stored[at] as number);
    return stored.subarray(from, at);
  };
  const vocabulary = {
    short: next(),
    medium: next(),
    merges: next(),
    mergeFilter: next(),
    bytePairs: next(),
  };
  if (at !== stored.length) throw new Error(CORRUPT);
  return vocabulary;
}
