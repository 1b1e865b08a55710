import { pairSlot, shiftFor } from "./vocabulary.ts";

/** Tokens that `length` bytes from `start` on fall into, by byte-pair merging alone. */
export type MergeCounter = (text: Uint8Array, start: number, length: number) => number;

// Above every id, so that it never is the lowest rank.
const NONE = 0x7fffffff;
// Below this, looking through all pairs for the lowest one is quicker than a heap.
const SCAN_LIMIT = 96;
// What is kept from one call to the next; longer pieces get arrays of their own.
const KEPT_LENGTH = 1 << 12;

interface Parts {
  readonly ids: Int32Array;
  /** Rank of the part joined with its right neighbour; NONE if that is no token or the part is gone. */
  readonly ranks: Int32Array;
  readonly previous: Int32Array;
  readonly next: Int32Array;
  /** Binary heap of rank * 2^32 + position: lowest rank first, then leftmost, as tiktoken merges. */
  readonly heap: Float64Array;
}

function partsFor(length: number): Parts {
  return {
    ids: new Int32Array(length),
    ranks: new Int32Array(length),
    previous: new Int32Array(length),
    next: new Int32Array(length),
    // A merge takes one entry and adds at most two.
    heap: new Float64Array(2 * length + 2),
  };
}

const POSITIONS = 2 ** 32;

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

/** Counts by merging the pair of lowest rank, leftmost first, until no neighbours form a token. */
export function createMergeCounter(merges: Int32Array): MergeCounter {
  const shift = shiftFor(merges);
  const kept = partsFor(KEPT_LENGTH);

  function rankOf(left: number, right: number): number {
    const found = merges[pairSlot(merges, shift, left, right) + 1] as number;
    return found === 0 ? NONE : found & 0x3ffff;
  }

  function load(parts: Parts, text: Uint8Array, start: number, length: number): void {
    const { ids, ranks } = parts;
    for (let i = 0; i < length; i += 1) ids[i] = text[start + i] as number;
    for (let i = 0; i + 1 < length; i += 1) ranks[i] = rankOf(ids[i] as number, ids[i + 1] as number);
    ranks[length - 1] = NONE;
  }

  function mergeByScan(text: Uint8Array, start: number, length: number): number {
    const { ids, ranks } = kept;
    load(kept, text, start, length);
    let count = length;
    for (;;) {
      let lowest = NONE;
      let at = 0;
      for (let i = 0; i < count; i += 1) {
        const rank = ranks[i] as number;
        if (rank < lowest) {
          lowest = rank;
          at = i;
        }
      }
      if (lowest === NONE) return count;
      count -= 1;
      ids[at] = lowest;
      for (let i = at + 1; i < count; i += 1) {
        ids[i] = ids[i + 1] as number;
        ranks[i] = ranks[i + 1] as number;
      }
      ranks[at] = at + 1 < count ? rankOf(lowest, ids[at + 1] as number) : NONE;
      if (at > 0) ranks[at - 1] = rankOf(ids[at - 1] as number, lowest);
    }
  }

  function mergeByHeap(text: Uint8Array, start: number, length: number): number {
    const parts = length <= KEPT_LENGTH ? kept : partsFor(length);
    const { ids, ranks, previous, next, heap } = parts;
    load(parts, text, start, length);
    let size = 0;
    for (let i = 0; i < length; i += 1) {
      previous[i] = i - 1;
      next[i] = i + 1;
      if (ranks[i] !== NONE) push(heap, size++, (ranks[i] as number) * POSITIONS + i);
    }
    let count = length;
    while (size > 0) {
      const key = heap[0] as number;
      pop(heap, size--);
      const rank = Math.floor(key / POSITIONS);
      const at = key - rank * POSITIONS;
      if (ranks[at] !== rank) continue;
      const gone = next[at] as number;
      const right = next[gone] as number;
      const left = previous[at] as number;
      count -= 1;
      ids[at] = rank;
      ranks[gone] = NONE;
      next[at] = right;
      ranks[at] = NONE;
      if (right < length) {
        previous[right] = at;
        ranks[at] = rankOf(rank, ids[right] as number);
        if (ranks[at] !== NONE) push(heap, size++, (ranks[at] as number) * POSITIONS + at);
      }
      if (left >= 0) {
        ranks[left] = rankOf(ids[left] as number, rank);
        if (ranks[left] !== NONE) push(heap, size++, (ranks[left] as number) * POSITIONS + left);
      }
    }
    return count;
  }

  return (text, start, length) =>
    length <= SCAN_LIMIT ? mergeByScan(text, start, length) : mergeByHeap(text, start, length);
}
