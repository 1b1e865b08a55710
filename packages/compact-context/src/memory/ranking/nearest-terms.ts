/** Finds known terms that a term, which no unit has, was probably meant to be. */
export interface NearestTerms {
  /** Term numbers; empty for short terms and those like nothing known. */
  find(term: string): readonly number[];
}

const SHORTEST = 5;
const MOST = 3;
const BUCKET_LETTERS = 3;

/** Typing errors of one letter beyond the first three, and words that one begins with the other (`mentorship`, `mentor`). */
export function createNearestTerms(
  terms: () => Iterable<readonly [term: string, number: number]>,
): NearestTerms {
  let buckets: Map<string, (readonly [string, number])[]> | undefined;
  const open = (): Map<string, (readonly [string, number])[]> => {
    const opened = new Map<string, (readonly [string, number])[]>();
    for (const entry of terms()) {
      if (entry[0].length < SHORTEST - 1) continue;
      const key = entry[0].slice(0, BUCKET_LETTERS);
      const known = opened.get(key);
      if (known === undefined) opened.set(key, [entry]);
      else known.push(entry);
    }
    return opened;
  };
  return {
    find(term) {
      if (term.length < SHORTEST || /[^\p{L}]/u.test(term)) return [];
      buckets ??= open();
      const near = (buckets.get(term.slice(0, BUCKET_LETTERS)) ?? []).filter(([other]) =>
        isNear(term, other),
      );
      return near.slice(0, MOST).map(([, number]) => number);
    },
  };
}

function isNear(term: string, other: string): boolean {
  const [short, long] = term.length <= other.length ? [term, other] : [other, term];
  if (short.length >= SHORTEST && long.startsWith(short) && long.length - short.length <= 4) return true;
  return long.length - short.length <= 1 && short.length >= SHORTEST && differsByOne(short, long);
}

/** One letter changed, added, left out or swapped with the next. */
function differsByOne(short: string, long: string): boolean {
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  const rest = [short.slice(at + 1), long.slice(at + 1)];
  const swapped = short[at] === long[at + 1] && short[at + 1] === long[at];
  return rest[0] === rest[1] || (swapped && short.slice(at + 2) === long.slice(at + 2));
}
