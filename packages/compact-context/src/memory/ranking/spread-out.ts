/** What is near what, and how far being near something better counts against it. */
export interface SpreadOutOptions {
  readonly limit: number;
  /** Factor for a unit right beside one that was taken. */
  readonly beside: number;
  /** By unit, its section. */
  readonly sections: Uint32Array;
}

/**
 * Takes the best units one after the other; what stands right beside a taken one counts a little less, since its score
 * came in part from there. Changes the scores of those it lowers.
 */
export function spreadOut(
  ranked: readonly number[],
  scores: Float64Array,
  { limit, beside, sections }: SpreadOutOptions,
): readonly number[] {
  const taken: number[] = [];
  const left = new Set(ranked);
  while (taken.length < limit) {
    const best = highest(left, scores);
    if (best === undefined) break;
    left.delete(best);
    taken.push(best);
    for (const neighbour of [best - 1, best + 1]) {
      const near = left.has(neighbour) && sections[neighbour] === sections[best];
      if (near) scores[neighbour] = (scores[neighbour] ?? 0) * beside;
    }
  }
  return taken;
}

function highest(numbers: ReadonlySet<number>, scores: Float64Array): number | undefined {
  let best: number | undefined;
  let top = 0;
  for (const number of numbers) {
    const score = scores[number] ?? 0;
    if (score <= top) continue;
    best = number;
    top = score;
  }
  return best;
}
