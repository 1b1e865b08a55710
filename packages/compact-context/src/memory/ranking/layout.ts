import type { Units } from "./units.ts";
import type { RankingWeights } from "./weights.ts";

/** Where sections begin and end, and what a unit's words count for those around it. */
export interface Layout {
  /** By unit: the first unit of its section, and the one after its last. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** By section: terms in it, against the average section. */
  readonly sectionLengths: Float64Array;
  /** By distance from `-reach` to `reach`: what a word counts for the unit so far after it. */
  readonly kernel: Float64Array;
  readonly reach: number;
}

export function layOut(units: Units, weights: RankingWeights): Layout {
  const { sections, lengths, sectionCount } = units;
  const count = sections.length;
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const sectionLengths = new Float64Array(sectionCount);
  const at = (unit: number): number => sections[unit] ?? -1;
  for (let unit = 0; unit < count; unit++) {
    starts[unit] = unit > 0 && at(unit) === at(unit - 1) ? (starts[unit - 1] ?? 0) : unit;
    sectionLengths[at(unit)] = (sectionLengths[at(unit)] ?? 0) + (lengths[unit] ?? 0);
  }
  for (let unit = count - 1; unit >= 0; unit--) {
    ends[unit] = unit < count - 1 && at(unit) === at(unit + 1) ? (ends[unit + 1] ?? 0) : unit + 1;
  }
  const total = sectionLengths.reduce((sum, length) => sum + length, 0);
  const average = Math.max(1, total / Math.max(1, sectionCount));
  return {
    starts,
    ends,
    sectionLengths: sectionLengths.map((length) => length / average),
    kernel: kernelOf(weights),
    reach: weights.windowReach,
  };
}

function kernelOf(weights: RankingWeights): Float64Array {
  const near = new Map([
    [-2, weights.secondNext],
    [-1, weights.next],
    [1, weights.previous],
    [2, weights.secondPrevious],
  ]);
  const reach = weights.windowReach;
  return Float64Array.from({ length: 2 * reach + 1 }, (_, index) =>
    index === reach ? 1 : weights.window + (near.get(index - reach) ?? 0),
  );
}
