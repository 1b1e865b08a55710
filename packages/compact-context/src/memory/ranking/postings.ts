import { createNearestTerms } from "./nearest-terms.ts";

/** For every term, the units that hold it and how much it counts in each. */
export interface Postings {
  /** The number of a term; undefined where no unit has it. */
  numberOf(term: string): number | undefined;
  /** Numbers of known terms like one that no unit has. */
  near(term: string): readonly number[];
  /** The range of a term's entries in `units` and `values`. */
  range(term: number): readonly [start: number, end: number];
  /** Unit numbers, ascending within a term. */
  readonly units: Uint32Array;
  readonly values: Float32Array;
}

/** The terms of one unit: those of its content and those of its title. */
export interface UnitTerms {
  readonly content: readonly string[];
  readonly title: readonly string[];
}

export interface PostingsOptions {
  readonly titleWeight: number;
  readonly lengthPenalty: number;
}

/** Counts of terms in the order of the units, divided by what a unit's length is against the average (BM25F). */
export function buildPostings(
  units: Iterable<UnitTerms>,
  lengths: ArrayLike<number>,
  options: PostingsOptions,
): Postings {
  const collected = collect(units, options.titleWeight);
  const average = averageOf(lengths);
  const starts = startsOf(collected.counts);
  const next = starts.slice();
  const sortedUnits = new Uint32Array(collected.size);
  const values = new Float32Array(collected.size);
  collected.each((term, unit, count) => {
    const relative = (lengths[unit] ?? 0) / average;
    const at = next[term] ?? 0;
    next[term] = at + 1;
    sortedUnits[at] = unit;
    values[at] = count / (1 - options.lengthPenalty + options.lengthPenalty * relative);
  });
  return {
    numberOf: (term) => collected.numbers.get(term),
    near: createNearestTerms(() => collected.numbers).find,
    range: (term) => [starts[term] ?? 0, starts[term + 1] ?? 0],
    units: sortedUnits,
    values,
  };
}

interface Collected {
  readonly numbers: ReadonlyMap<string, number>;
  /** By term, in how many units it is. */
  readonly counts: readonly number[];
  readonly size: number;
  each(visit: (term: number, unit: number, count: number) => void): void;
}

function collect(units: Iterable<UnitTerms>, titleWeight: number): Collected {
  const numbers = new Map<string, number>();
  const counts: number[] = [];
  /** Unit by unit, pairs of term and count; then where each unit's pairs end. */
  const entries: number[] = [];
  const ends: number[] = [];
  for (const { content, title } of units) {
    const inUnit = new Map<number, number>();
    const add = (term: string, weight: number): void => {
      const known = numbers.get(term);
      const number = known ?? numbers.size;
      if (known === undefined) {
        numbers.set(term, number);
        counts.push(0);
      }
      inUnit.set(number, (inUnit.get(number) ?? 0) + weight);
    };
    for (const term of content) add(term, 1);
    for (const term of title) add(term, titleWeight);
    for (const [number, count] of inUnit) {
      counts[number] = (counts[number] ?? 0) + 1;
      entries.push(number, count);
    }
    ends.push(entries.length);
  }
  const each: Collected["each"] = (visit) => {
    let at = 0;
    ends.forEach((end, unit) => {
      for (; at < end; at += 2) visit(entries[at] ?? 0, unit, entries[at + 1] ?? 0);
    });
  };
  return { numbers, counts, size: entries.length / 2, each };
}

function averageOf(lengths: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < lengths.length; index++) total += lengths[index] ?? 0;
  return Math.max(1, total / Math.max(1, lengths.length));
}

function startsOf(counts: readonly number[]): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, term) => {
    starts[term + 1] = (starts[term] ?? 0) + count;
  });
  return starts;
}
