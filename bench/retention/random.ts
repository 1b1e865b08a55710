/** Numbers from 0 to 1 that are the same for the same seed (a linear congruential generator, Numerical Recipes). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

/** At most so many of the values, each set of them as likely as another. */
export function drawn<T>(values: readonly T[], most: number, random: () => number): T[] {
  const left = [...values];
  if (left.length <= most) return left;
  for (let at = 0; at < most; at++) {
    const other = at + Math.floor(random() * (left.length - at));
    [left[at], left[other]] = [left[other] as T, left[at] as T];
  }
  return left.slice(0, most);
}
