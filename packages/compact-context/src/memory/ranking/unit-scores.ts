import type { Layout } from "./layout.ts";

/** Takes in that a unit holds a term which counts `value`. */
export type AddTerm = (unit: number, value: number) => void;

/** Collects BM25F scores of units, one concept at a time. */
export interface UnitScores {
  readonly scores: Float64Array;
  /** The units with a score above 0. */
  found(): readonly number[];
  /** For the unit and all around it. */
  readonly spread: AddTerm;
  /** For the unit and those right around it, where they were found before. */
  readonly addToFound: AddTerm;
  /** For the unit alone. */
  readonly addAlone: AddTerm;
  /** For the unit alone, where it was found before. */
  readonly addAloneToFound: AddTerm;
  /** The concept is complete; `rarity` is what it counts at most. */
  settle(rarity: number): void;
  clear(): void;
}

const NEXT_TO = 2;

export function createUnitScores(layout: Layout, saturation: number): UnitScores {
  const { starts, ends, kernel, reach } = layout;
  const scores = new Float64Array(starts.length);
  const counts = new Float64Array(starts.length);
  let found: number[] = [];
  let touched: number[] = [];

  const addAlone: AddTerm = (unit, value) => {
    const known = counts[unit] ?? 0;
    if (known === 0) touched.push(unit);
    counts[unit] = known + value;
  };
  return {
    scores,
    found: () => found,
    addAlone,
    addAloneToFound(unit, value) {
      if (scores[unit] !== 0) addAlone(unit, value);
    },
    spread(unit, value) {
      const to = Math.min(ends[unit] ?? 0, unit + reach + 1);
      for (let other = Math.max(starts[unit] ?? 0, unit - reach); other < to; other++) {
        addAlone(other, value * (kernel[other - unit + reach] ?? 0));
      }
    },
    addToFound(unit, value) {
      const near = Math.min(NEXT_TO, reach);
      const to = Math.min(ends[unit] ?? 0, unit + near + 1);
      for (let other = Math.max(starts[unit] ?? 0, unit - near); other < to; other++) {
        if (scores[other] !== 0) addAlone(other, value * (kernel[other - unit + reach] ?? 0));
      }
    },
    settle(rarity) {
      for (const unit of touched) {
        const count = counts[unit] ?? 0;
        counts[unit] = 0;
        const before = scores[unit] ?? 0;
        if (before === 0) found.push(unit);
        scores[unit] = before + (rarity * count) / (saturation + count);
      }
      touched = [];
    },
    clear() {
      for (const unit of found) scores[unit] = 0;
      found = [];
    },
  };
}
