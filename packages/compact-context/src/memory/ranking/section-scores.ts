/** Collects BM25 scores of whole sections, one concept at a time. */
export interface SectionScores {
  readonly scores: Float64Array;
  /** A unit of the section holds a term that counts `weight`. */
  add(section: number, weight: number): void;
  /** The concept is complete. */
  settle(): void;
  clear(): void;
}

/** BM25's constants for whole sections, which are long: the usual ones. */
const SATURATION = 1.2;
const LENGTH_PENALTY = 0.75;

/** `lengths`: by section, its terms against the average. */
export function createSectionScores(lengths: Float64Array): SectionScores {
  const scores = new Float64Array(lengths.length);
  const counts = new Float64Array(lengths.length);
  let touched: number[] = [];
  return {
    scores,
    add(section, weight) {
      const known = counts[section] ?? 0;
      if (known === 0) touched.push(section);
      counts[section] = known + weight;
    },
    settle() {
      const holding = touched.length;
      const rarity = Math.log(1 + (lengths.length - holding + 0.5) / (holding + 0.5));
      for (const section of touched) {
        const count = counts[section] ?? 0;
        counts[section] = 0;
        const length = 1 - LENGTH_PENALTY + LENGTH_PENALTY * (lengths[section] ?? 0);
        const part = (count * (SATURATION + 1)) / (count + SATURATION * length);
        scores[section] = (scores[section] ?? 0) + rarity * part;
      }
      touched = [];
    },
    clear() {
      scores.fill(0);
    },
  };
}
