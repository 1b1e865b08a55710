import { NO_TOKEN, pairSlot, shiftFor, type Vocabulary } from "./vocabulary.ts";

/** Tokens that `length` bytes from `start` on fall into, by byte-pair merging alone. */
export type MergeCounter = (text: Uint8Array, start: number, length: number) => number;

// Below this, looking through all pairs for the lowest one is quicker than anything cleverer.
const SCAN_LIMIT = 48;
// A pass over all parts pays when it joins at least one pair in this many parts: runs of one character, rules, blanks.
const SWEEP_SHARE = 16;
// What is kept from one call to the next; longer pieces get arrays of their own.
const KEPT_LENGTH = 1 << 14;
const POSITIONS = 2 ** 32;

interface Parts {
  readonly ids: Int32Array;
  /** Rank of the part joined with its right neighbour; NO_TOKEN if that is no token or the part is gone. */
  readonly ranks: Int32Array;
}

interface Links {
  readonly previous: Int32Array;
  readonly next: Int32Array;
  /** Binary heap of rank * 2^32 + position: lowest rank first, then leftmost, as tiktoken merges. */
  readonly heap: Float64Array;
}

type RankOf = (left: number, right: number) => number;

function partsFor(length: number): Parts {
  return { ids: new Int32Array(length), ranks: new Int32Array(length) };
}

function linksFor(length: number): Links {
  // A merge takes one entry off the heap and adds at most two.
  return {
    previous: new Int32Array(length),
    next: new Int32Array(length),
    heap: new Float64Array(2 * length + 2),
  };
}

function push(heap: Float64Array, size: number, key: number): void {
  let at = size;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as number;
    if (above <= key) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = key;
}

/** Removes the lowest key of a heap of `size` entries; the caller has read it at index 0. */
function pop(heap: Float64Array, size: number): void {
  const last = size - 1;
  const key = heap[last] as number;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= last) break;
    if (child + 1 < last && (heap[child + 1] as number) < (heap[child] as number)) child += 1;
    const below = heap[child] as number;
    if (key <= below) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = key;
}

/** Position of the lowest rank among the first `count`, leftmost first, or -1 when no neighbours form a token. */
function lowestAt(ranks: Int32Array, count: number): number {
  let lowest = NO_TOKEN;
  let at = -1;
  for (let i = 0; i < count; i += 1) {
    const rank = ranks[i] as number;
    if (rank < lowest) {
      lowest = rank;
      at = i;
    }
  }
  return at;
}

function removePart({ ids, ranks }: Parts, at: number, count: number): void {
  for (let i = at; i < count; i += 1) {
    ids[i] = ids[i + 1] as number;
    ranks[i] = ranks[i + 1] as number;
  }
}

/** Quadratic, and the quickest for few parts; returns how many are left. */
function mergeByScan(parts: Parts, length: number, rankOf: RankOf): number {
  const { ids, ranks } = parts;
  let count = length;
  for (;;) {
    const at = lowestAt(ranks, count);
    if (at < 0) return count;
    const joined = ranks[at] as number;
    ids[at] = joined;
    count -= 1;
    removePart(parts, at + 1, count);
    ranks[at] = at + 1 < count ? rankOf(joined, ids[at + 1] as number) : NO_TOKEN;
    if (at > 0) ranks[at - 1] = rankOf(ids[at - 1] as number, joined);
  }
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

/** n log n for any parts; returns how many are left. */
function mergeByHeap({ ids, ranks }: Parts, length: number, links: Links, rankOf: RankOf): number {
  const { previous, next, heap } = links;
  let size = 0;
  const offer = (at: number, right: number): void => {
    const rank = rankOf(ids[at] as number, ids[right] as number);
    ranks[at] = rank;
    if (rank !== NO_TOKEN) push(heap, size++, rank * POSITIONS + at);
  };
  for (let i = 0; i < length; i += 1) {
    previous[i] = i - 1;
    next[i] = i + 1;
    if (ranks[i] !== NO_TOKEN) push(heap, size++, (ranks[i] as number) * POSITIONS + i);
  }
  let count = length;
  while (size > 0) {
    const key = heap[0] as number;
    pop(heap, size--);
    const rank = Math.floor(key / POSITIONS);
    const at = key - rank * POSITIONS;
    // Entries of pairs that were taken apart by another merge stay in the heap until they come up.
    if (ranks[at] !== rank) continue;
    const gone = next[at] as number;
    const right = next[gone] as number;
    const left = previous[at] as number;
    count -= 1;
    ids[at] = rank;
    ranks[at] = NO_TOKEN;
    ranks[gone] = NO_TOKEN;
    next[at] = right;
    if (right < length) {
      previous[right] = at;
      offer(at, right);
    }
    if (left >= 0) offer(left, at);
  }
  return count;
}

/** Counts by merging the pair of lowest rank, leftmost first, until no neighbours form a token. */
export function createMergeCounter({ merges, bytePairs }: Vocabulary): MergeCounter {
  const shift = shiftFor(merges, 2);
  const kept = partsFor(KEPT_LENGTH);
  const keptLinks = linksFor(KEPT_LENGTH);

  const rankOf: RankOf = (left, right) => {
    const found = merges[pairSlot(merges, shift, left, right) + 1] as number;
    return found === 0 ? NO_TOKEN : found & 0x3ffff;
  };

  return (text, start, length) => {
    const parts = length <= KEPT_LENGTH ? kept : partsFor(length);
    const { ids, ranks } = parts;
    const last = length - 1;
    let byte = text[start] as number;
    for (let i = 0; i < last; i += 1) {
      const following = text[start + i + 1] as number;
      ids[i] = byte;
      ranks[i] = bytePairs[(byte << 8) | following] as number;
      byte = following;
    }
    ids[last] = byte;
    ranks[last] = NO_TOKEN;
    if (length <= SCAN_LIMIT) return mergeByScan(parts, length, rankOf);
    const count = mergeBySweeps(parts, length, rankOf);
    if (count <= SCAN_LIMIT) return mergeByScan(parts, count, rankOf);
    return mergeByHeap(parts, count, count <= KEPT_LENGTH ? keptLinks : linksFor(count), rankOf);
  };
}
