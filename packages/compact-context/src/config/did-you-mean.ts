/** `; did you mean …?`: the nearest of the names that would do here, else the path of the same name elsewhere, else nothing. */
export function didYouMean(
  name: string,
  here: readonly string[],
  elsewhere: readonly (readonly string[])[] = [],
): string {
  const isSame = (known: string | undefined): boolean => known !== undefined && plain(known) === plain(name);
  const found =
    here.find(isSame) ??
    closest(name, here) ??
    elsewhere.find((path) => path.length > 1 && isSame(path.at(-1)))?.join(".");
  return found === undefined ? "" : `; did you mean ${found}?`;
}

/** The candidate that a mistyped name most likely meant: at most a third of its letters differ. */
export function closest(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = editDistance(name, candidate);
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Letters to insert, delete or replace to get from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Files, code and the environment spell one setting differently. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
