import { hashPair, mayHold, NO_TOKEN, pairSlot, shiftFor, type Vocabulary } from "./vocabulary.ts";

/** Number of tokens of `length` bytes from `start`, by byte-pair merging alone. */
export type MergeCounter = (text: Uint8Array, start: number, length: number) => number;

// For pieces this short, one word of bits marks the remaining parts; scanning all pairs is fastest.
const WORD_LENGTH = 32;
const POSITION_BITS = 5;
// A sweep over all parts pays off if it joins at least one pair per this many parts: runs of one character,
// rules, blanks.
const SWEEP_SHARE = 16;
// Buffers reused across calls; longer pieces allocate their own.
const KEPT_LENGTH = 1 << 14;
const noToken = NO_TOKEN;

type RankOf = (left: number, right: number) => number;

interface Parts {
  readonly ids: Int32Array;
  /** Rank of the part joined with its right neighbor; NO_TOKEN if that is no token or the part was merged. */
  readonly ranks: Int32Array;
  readonly previous: Int32Array;
  readonly next: Int32Array;
  /** Binary tree of the lowest rank below each node; its leaves are the second half. */
  readonly tree: Int32Array;
}

function partsFor(length: number): Parts {
  const [ids, ranks, previous, next] = Array.from({ length: 4 }, () => new Int32Array(length));
  return { ids, ranks, previous, next, tree: new Int32Array(2 * leavesFor(length)) } as Parts;
}

function leavesFor(length: number): number {
  return 2 ** (32 - Math.clz32(length - 1));
}

/** Caches the last pair: runs of one character look up the same pair repeatedly. */
function rememberLast(rankOf: RankOf): RankOf {
  let lastLeft = NO_TOKEN;
  let lastRight = NO_TOKEN;
  let rank = NO_TOKEN;
  return (left, right) => {
    if (left !== lastLeft || right !== lastRight) rank = rankOf(left, right);
    lastLeft = left;
    lastRight = right;
    return rank;
  };
}

/** Joins all pairs of one rank from left to right; returns the number of remaining parts. */
function sweep({ ids, ranks }: Parts, count: number, rank: number, rankOf: RankOf): number {
  let left = 0;
  let before = NO_TOKEN;
  for (let i = 0; i < count; i += 1, left += 1) {
    const joins = ranks[i] === rank;
    const id = joins ? rank : (ids[i] as number);
    if (joins) i += 1;
    // A token has only one pair of halves, so every part with this id is new.
    if (left > 0 && (before === rank || id === rank)) ranks[left - 1] = rankOf(before, id);
    ids[left] = id;
    ranks[left] = ranks[i] as number;
    before = id;
  }
  return left;
}

/**
 * Joins all pairs of the lowest rank at once while there are many. A pair containing a new token ranks above
 * that token, so no pair created on the way would have come first.
 */
function mergeBySweeps(parts: Parts, length: number, rankOf: RankOf): number {
  const { ranks } = parts;
  const rankOfPair = rememberLast(rankOf);
  let count = length;
  for (;;) {
    let lowest = NO_TOKEN;
    let pairs = 0;
    for (let i = 0; i < count; i += 1) {
      const rank = ranks[i] as number;
      if (rank < lowest) {
        lowest = rank;
        pairs = 0;
      }
      if (rank === lowest) pairs += 1;
    }
    if (lowest === NO_TOKEN || pairs * SWEEP_SHARE < count) return count;
    count = sweep(parts, count, lowest, rankOfPair);
  }
}

/** The lower of two 31-bit numbers, without a branch to mispredict. */
function lower(one: number, other: number): number {
  const difference = one - other;
  return other + (difference & (difference >> 31));
}

function setRank(tree: Int32Array, leaf: number, rank: number): void {
  tree[leaf] = rank;
  for (let node = leaf >> 1; node > 0; node >>= 1) {
    const lowest = lower(tree[2 * node] as number, tree[2 * node + 1] as number);
    if (tree[node] === lowest) return;
    tree[node] = lowest;
  }
}

function plant({ ranks, tree }: Parts, length: number, leaves: number): void {
  for (let i = 0; i < leaves; i += 1) tree[leaves + i] = i < length ? (ranks[i] as number) : noToken;
  for (let node = leaves - 1; node > 0; node -= 1)
    tree[node] = lower(tree[2 * node] as number, tree[2 * node + 1] as number);
}

/**
 * O(n log n) for any parts: the root of the tree is the lowest rank. Returns the number of remaining parts.
 */
function mergeByTree(parts: Parts, length: number, rankOf: RankOf): number {
  const { ids, previous, next, tree } = parts;
  const leaves = leavesFor(length);
  plant(parts, length, leaves);
  for (let i = 0; i < length; i += 1) {
    previous[i] = i - 1;
    next[i] = i + 1;
  }
  let count = length;
  for (let rank = tree[1] as number; rank !== noToken; rank = tree[1] as number) {
    let node = 1;
    while (node < leaves) node = 2 * node + (tree[2 * node] === rank ? 0 : 1);
    const at = node - leaves;
    const gone = next[at] as number;
    const right = next[gone] as number;
    const left = previous[at] as number;
    count -= 1;
    ids[at] = rank;
    next[at] = right;
    if (right < length) previous[right] = at;
    setRank(tree, leaves + gone, noToken);
    setRank(tree, node, right < length ? rankOf(rank, ids[right] as number) : noToken);
    if (left >= 0) setRank(tree, leaves + left, rankOf(ids[left] as number, rank));
  }
  return count;
}

interface Pairs {
  /** The id of two joined tokens; NO_TOKEN if they form none. */
  readonly rankOf: RankOf;
  /** The id of two joined bytes, at left << 8 | right. */
  readonly bytePairs: Int32Array;
}

function pairsOf({ merges, mergeFilter, bytePairs }: Vocabulary): Pairs {
  const shift = shiftFor(merges, 2);
  const rankOf: RankOf = (left, right) => {
    if (!mayHold(mergeFilter, hashPair(left, right))) return noToken;
    const found = merges[pairSlot(merges, shift, left, right) + 1] as number;
    return found === 0 ? noToken : found & 0x3ffff;
  };
  return { rankOf, bytePairs };
}

interface Merged {
  first: number;
  last: number;
  count: number;
}

type WordMerge = (text: Uint8Array, start: number, length: number) => Merged;

/** Merges up to 32 bytes; the result is valid until the next call. */
function createWordMerge({ rankOf, bytePairs }: Pairs): WordMerge {
  const merged: Merged = { first: 0, last: 0, count: 0 };
  const ids = new Int32Array(WORD_LENGTH);
  /** Rank and position of each pair in one number, so that the lowest is also the leftmost. */
  const keys = new Int32Array(WORD_LENGTH);

  const keyOf = (left: number, right: number, at: number): number => {
    const rank = rankOf(left, right);
    return rank === noToken ? noToken : (rank << POSITION_BITS) | at;
  };

  const begin = (text: Uint8Array, start: number, last: number): void => {
    for (let i = 0; i <= last; i += 1) ids[i] = text[start + i] as number;
    for (let i = 0; i < last; i += 1) {
      const rank = bytePairs[((ids[i] as number) << 8) | (ids[i + 1] as number)] as number;
      keys[i] = rank === noToken ? noToken : (rank << POSITION_BITS) | i;
    }
  };

  const lowestKey = (last: number): number => {
    let lowest = noToken;
    for (let i = 0; i < last; i += 1) lowest = lower(keys[i] as number, lowest);
    return lowest;
  };

  return (text, start, length) => {
    const last = length - 1;
    begin(text, start, last);
    // Bits of the remaining parts.
    let parts = -1 >>> (WORD_LENGTH - length);
    let count = length;
    for (let lowest = lowestKey(last); lowest !== noToken; lowest = lowestKey(last)) {
      const at = lowest & (WORD_LENGTH - 1);
      const rank = lowest >> POSITION_BITS;
      const behind = parts & (-2 << at);
      const gone = behind & -behind;
      const right = behind ^ gone;
      const left = parts & ((1 << at) - 1);
      parts ^= gone;
      count -= 1;
      ids[at] = rank;
      keys[31 - Math.clz32(gone)] = noToken;
      keys[at] = right === 0 ? noToken : keyOf(rank, ids[31 - Math.clz32(right & -right)] as number, at);
      if (left === 0) continue;
      const before = 31 - Math.clz32(left);
      keys[before] = keyOf(ids[before] as number, rank, before);
    }
    merged.first = ids[0] as number;
    merged.last = ids[31 - Math.clz32(parts)] as number;
    merged.count = count;
    return merged;
  };
}

/** Both halves of each token at 2 * id; a single byte is both its halves. */
function halvesOf(merges: Int32Array): Int32Array {
  const halves = new Int32Array(merges.length);
  for (let byte = 0; byte < 256; byte += 1) halves.fill(byte, 2 * byte, 2 * byte + 2);
  for (let slot = 0; slot < merges.length; slot += 2) {
    const first = merges[slot] as number;
    const second = merges[slot + 1] as number;
    if (second === 0) continue;
    const id = second & 0x3ffff;
    halves[2 * id] = first & 0x3ffff;
    halves[2 * id + 1] = (first >>> 18) | ((second >>> 18) << 14);
  }
  return halves;
}

/**
 * Whether merging keeps two adjacent tokens separate: no pair across their border, from whole tokens down to
 * single bytes, would have been joined before the tokens were. A sequence whose neighbors all stay apart is
 * the result of merging (van Antwerpen and Neubeck, "So many tokens, so little time", 2024).
 */
function stayApart(one: number, other: number, halves: Int32Array, rankOf: RankOf): boolean {
  let left = one;
  let right = other;
  let limit = noToken;
  for (;;) {
    if (rankOf(left, right) < limit) return false;
    const leftHalf = halves[2 * left + 1] as number;
    const rightHalf = halves[2 * right] as number;
    if (leftHalf === left && rightHalf === right) return true;
    if ((left > right && leftHalf !== left) || rightHalf === right) {
      limit = left;
      left = leftHalf;
    } else {
      limit = right + 1;
      right = rightHalf;
    }
  }
}

/** The separate tokens of a run so far: by depth, start, last token and cumulative count. */
interface Stack {
  readonly begins: Int32Array;
  readonly lasts: Int32Array;
  readonly counts: Int32Array;
}

/** First bytes of three-byte characters. */
const isOfThreeBytes = (byte: number): boolean => (byte & 0xf0) === 0xe0;
/** Same, from U+3000 on: Chinese, Japanese, Korean. */
const isEastAsian = (byte: number): boolean => byte >= 0xe3 && byte <= 0xed;

/**
 * Counts a run of three-byte characters one by one, merging those that do not stay apart. Returns 0 for any
 * other run, and if a merge exceeds one word.
 */
function createCharacterCounter(merges: Int32Array, { rankOf }: Pairs, mergeWord: WordMerge): MergeCounter {
  const halves = halvesOf(merges);
  /** By code point: first token, with the count from bit 18; last token. */
  const characters = new Int32Array(1 << 17);
  const [begins, lasts, counts] = Array.from({ length: 3 }, () => new Int32Array(KEPT_LENGTH));
  const stack = { begins, lasts, counts } as Stack;
  const character: Merged = { first: 0, last: 0, count: 0 };

  const characterAt = (text: Uint8Array, at: number): Merged => {
    const [low, middle, high] = [text[at + 2] as number, text[at + 1] as number, text[at] as number];
    const slot = (((high & 15) << 12) | ((middle & 63) << 6) | (low & 63)) << 1;
    if (characters[slot] === 0) {
      const { first, last, count } = mergeWord(text, at, 3);
      characters[slot] = first | (count << 18);
      characters[slot + 1] = last;
    }
    const known = characters[slot] as number;
    character.first = known & 0x3ffff;
    character.last = characters[slot + 1] as number;
    character.count = known >> 18;
    return character;
  };

  /**
   * Pushes the character at `at`, merged with what it does not stay apart from; returns the new depth, or 0.
   */
  const add = (text: Uint8Array, at: number, below: number): number => {
    let depth = below;
    let begin = at;
    let piece = characterAt(text, at);
    while (depth > 0 && !stayApart(stack.lasts[depth - 1] as number, piece.first, halves, rankOf)) {
      depth -= 1;
      begin = stack.begins[depth] as number;
      if (at + 3 - begin > WORD_LENGTH) return 0;
      piece = mergeWord(text, begin, at + 3 - begin);
    }
    stack.begins[depth] = begin;
    stack.lasts[depth] = piece.last;
    stack.counts[depth] = piece.count + (depth > 0 ? (stack.counts[depth - 1] as number) : 0);
    return depth + 1;
  };

  return (text, start, length) => {
    if (length % 3 !== 0 || length > KEPT_LENGTH) return 0;
    let depth = 0;
    for (let at = start; at < start + length; at += 3) {
      if (!isOfThreeBytes(text[at] as number)) return 0;
      depth = add(text, at, depth);
      if (depth === 0) return 0;
    }
    return stack.counts[depth - 1] as number;
  };
}

/** Counts by merging the lowest-ranked pair, leftmost first, until no neighbors form a token. */
export function createMergeCounter(vocabulary: Vocabulary): MergeCounter {
  const pairs = pairsOf(vocabulary);
  const mergeWord = createWordMerge(pairs);
  const mergeLong = createLongMerge(pairs);
  let countCharacters: MergeCounter | undefined;

  return (text, start, length) => {
    if (isEastAsian(text[start + length - 3] as number)) {
      countCharacters ??= createCharacterCounter(vocabulary.merges, pairs, mergeWord);
      const count = countCharacters(text, start, length);
      if (count > 0) return count;
    }
    return length <= WORD_LENGTH ? mergeWord(text, start, length).count : mergeLong(text, start, length);
  };
}

function createLongMerge({ rankOf, bytePairs }: Pairs): MergeCounter {
  const kept = partsFor(KEPT_LENGTH);

  return (text, start, length) => {
    const parts = length <= KEPT_LENGTH ? kept : partsFor(length);
    const { ids, ranks } = parts;
    const last = length - 1;
    for (let i = 0; i < last; i += 1) {
      ids[i] = text[start + i] as number;
      ranks[i] = bytePairs[((text[start + i] as number) << 8) | (text[start + i + 1] as number)] as number;
    }
    ids[last] = text[start + last] as number;
    ranks[last] = noToken;
    const count = mergeBySweeps(parts, length, rankOf);
    return count === 1 ? 1 : mergeByTree(parts, count, rankOf);
  };
}
