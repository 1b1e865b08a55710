/** The numbers with the highest scores, best first, equal ones in the order of their numbers. */
export function takeBest(numbers: readonly number[], scores: Float64Array, limit: number): readonly number[] {
  const best: number[] = [];
  const scoreOf = (number: number | undefined): number => (number === undefined ? 0 : (scores[number] ?? 0));
  const before = (one: number, other: number): boolean =>
    scoreOf(one) > scoreOf(other) || (scoreOf(one) === scoreOf(other) && one < other);
  for (const number of numbers) {
    const last = best.at(-1);
    if (best.length >= limit && (last === undefined || !before(number, last))) continue;
    let at = best.length;
    while (at > 0 && before(number, best[at - 1] ?? number)) at--;
    best.splice(at, 0, number);
    if (best.length > limit) best.pop();
  }
  return best;
}
