/** A queue that gives the greatest value first; equal values come out by lowest item, so the order is always the same. */
export interface MaxHeap {
  push(item: number, value: number): void;
  /** The greatest entry, taken out; undefined when empty. */
  pop(): { readonly item: number; readonly value: number } | undefined;
  /** The greatest value without taking it out; -Infinity when empty. */
  top(): number;
}

interface Entry {
  readonly item: number;
  readonly value: number;
}

export function createMaxHeap(): MaxHeap {
  const entries: Entry[] = [];
  const before = (left: Entry | undefined, right: Entry | undefined): boolean => {
    if (left === undefined || right === undefined) return left !== undefined;
    return left.value > right.value || (left.value === right.value && left.item < right.item);
  };
  const swap = (left: number, right: number): void => {
    const entry = entries[left];
    const other = entries[right];
    if (entry === undefined || other === undefined) return;
    entries[left] = other;
    entries[right] = entry;
  };
  const sink = (): void => {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const best = before(entries[left + 1], entries[left]) ? left + 1 : left;
      if (!before(entries[best], entries[at])) return;
      swap(at, best);
      at = best;
    }
  };
  return {
    push(item, value) {
      let at = entries.push({ item, value }) - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!before(entries[at], entries[parent])) return;
        swap(at, parent);
        at = parent;
      }
    },
    pop() {
      const first = entries[0];
      const last = entries.pop();
      if (first === undefined || last === undefined || entries.length === 0) return first;
      entries[0] = last;
      sink();
      return first;
    },
    top: () => entries[0]?.value ?? Number.NEGATIVE_INFINITY,
  };
}
