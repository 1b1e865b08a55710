import { analyze } from "./analyze.ts";
import { asksWhen, findDate, type TimeSpan } from "./dates.ts";
import type { Postings } from "./postings.ts";
import type { Units } from "./units.ts";

/** A word of the query, or where no unit has it those that it was probably meant to be. */
export interface Concept {
  /** Term numbers. */
  readonly terms: readonly number[];
  /** How much finding it says, from how few units have it. */
  readonly rarity: number;
  /** Entries to look at. */
  readonly entries: number;
}

export interface ReadQuery {
  /** Rare ones first. */
  readonly concepts: readonly Concept[];
  /** Numbers of the authors that it names. */
  readonly authors: ReadonlySet<number>;
  readonly asksWhen: boolean;
  readonly date: TimeSpan | undefined;
}

export function readQuery(query: string, units: Units, postings: Postings): ReadQuery {
  const words = new Set(analyze(query));
  const concepts = [...words]
    .map((word) => conceptOf(word, postings, units.ids.length))
    .filter((concept) => concept !== undefined)
    .sort((one, other) => one.entries - other.entries);
  const authors = units.authorNames.flatMap((name, author) =>
    name.some((term) => words.has(term)) ? [author] : [],
  );
  return {
    concepts,
    authors: new Set(authors),
    asksWhen: asksWhen(query),
    date: findDate(query, newestYear(units)),
  };
}

function conceptOf(word: string, postings: Postings, units: number): Concept | undefined {
  const own = postings.numberOf(word);
  const terms = own === undefined ? postings.near(word) : [own];
  if (terms.length === 0) return undefined;
  const entries = terms.reduce((sum, term) => {
    const [start, end] = postings.range(term);
    return sum + end - start;
  }, 0);
  const frequency = Math.min(entries, units);
  return { terms, rarity: Math.log(1 + (units - frequency + 0.5) / (frequency + 0.5)), entries };
}

/** A day that is named without a year is taken to be of the newest unit's. */
function newestYear(units: Units): number | undefined {
  let newest = Number.NEGATIVE_INFINITY;
  for (const time of units.times) if (time > newest) newest = time;
  return Number.isFinite(newest) ? new Date(newest).getUTCFullYear() : undefined;
}
