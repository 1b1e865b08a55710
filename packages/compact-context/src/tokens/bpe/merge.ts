import { filterOf, hashPair, mayHold, NO_TOKEN, pairSlot, shiftFor, type Vocabulary } from "./vocabulary.ts";

/** Tokens that `length` bytes from `start` on fall into, by byte-pair merging alone. */
export type MergeCounter = (text: Uint8Array, start: number, length: number) => number;

// A word of bits holds which parts of so short a piece are left: looking at all pairs is quicker than anything cleverer.
const WORD_LENGTH = 32;
const POSITION_BITS = 5;
// A pass over all parts pays when it joins at least one pair in this many parts: runs of one character, rules, blanks.
const SWEEP_SHARE = 16;
// What is kept from one call to the next; longer pieces get arrays of their own.
const KEPT_LENGTH = 1 << 14;
const noToken = NO_TOKEN;

type RankOf = (left: number, right: number) => number;

interface Parts {
  readonly ids: Int32Array;
  /** Rank of the part joined with its right neighbour; NO_TOKEN if that is no token or the part is gone. */
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

/** Looks a pair up only when it is not the one before; runs of one character ask for the same pair again and again. */
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

/** Joins every pair of one rank from left to right; returns how many parts are left. */
function sweep({ ids, ranks }: Parts, count: number, rank: number, rankOf: RankOf): number {
  let left = 0;
  let before = NO_TOKEN;
  for (let i = 0; i < count; i += 1, left += 1) {
    const joins = ranks[i] === rank;
    const id = joins ? rank : (ids[i] as number);
    if (joins) i += 1;
    // A token has one pair of halves only, so whatever has this id now is new.
    if (left > 0 && (before === rank || id === rank)) ranks[left - 1] = rankOf(before, id);
    ids[left] = id;
    ranks[left] = ranks[i] as number;
    before = id;
  }
  return left;
}

/**
 * Joins all pairs of the lowest rank at once while they are many. A pair that holds a new token ranks above that token, so
 * no pair made on the way would have come first.
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

/** The lower of two numbers of 31 bits, without a branch that the processor would have to guess. */
function lower(one: number, other: number): number {
  const difference = one - other;
  return other + (difference & (difference >> 31));
}

/** Puts the rank of a leaf into the tree. */
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

/** n log n for any parts: the root of the tree is the lowest rank. Returns how many parts are left. */
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
  /** The id of two tokens joined; NO_TOKEN where they form none. */
  readonly rankOf: RankOf;
  /** What two bytes join to, at left << 8 | right. */
  readonly bytePairs: Int32Array;
}

function pairsOf({ merges, bytePairs }: Vocabulary): Pairs {
  const shift = shiftFor(merges, 2);
  const filter = filterOf(merges);
  const rankOf: RankOf = (left, right) => {
    if (!mayHold(filter, hashPair(left, right))) return noToken;
    const found = merges[pairSlot(merges, shift, left, right) + 1] as number;
    return found === 0 ? noToken : found & 0x3ffff;
  };
  return { rankOf, bytePairs };
}

/** What a short piece falls into: first token, last token, and how many there are. */
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
  /** Rank and position of each pair as one number, so that the lowest is the leftmost too. */
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
    // Bits of the parts that are left.
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

/** Both halves of each token at 2 * id; a single byte is both of its own. */
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
 * Whether merging leaves two tokens side by side: none of the pairs across their border, from whole tokens down to single
 * bytes, would have been joined before the tokens were. Tokens of which each two neighbours stay apart are what merging
 * gives (van Antwerpen and Neubeck, "So many tokens, so little time", 2024).
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

/** What stays apart of a run of characters so far: by depth begin, last token, and the tokens up to there. */
interface Stack {
  readonly begins: Int32Array;
  readonly lasts: Int32Array;
  readonly counts: Int32Array;
}

/** First bytes of characters of three bytes. */
const isOfThreeBytes = (byte: number): boolean => (byte & 0xf0) === 0xe0;
/** The same from U+3000 on: Chinese, Japanese, Korean. */
const isEastAsian = (byte: number): boolean => byte >= 0xe3 && byte <= 0xed;

/**
 * Counts a run of characters of three bytes one by one; those that do not stay apart are merged together.
 * Gives 0 for any other run, and where more has to merge than fits into a word.
 */
function createCharacterCounter(merges: Int32Array, { rankOf }: Pairs, mergeWord: WordMerge): MergeCounter {
  const halves = halvesOf(merges);
  /** By code point: first token and how many there are at bit 18; last token. */
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

  /** Puts the character at `at` on the stack, joined with what it does not stay apart from; the new depth, or 0. */
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

/** Counts by merging the pair of lowest rank, leftmost first, until no neighbours form a token. */
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
