import { analyze } from "./analyze.ts";
import { asksWhen, findDate, type TimeSpan } from "./dates.ts";
import type { Postings } from "./postings.ts";
import { RELATED } from "./related-words.ts";
import type { Units } from "./units.ts";
import type { RankingWeights } from "./weights.ts";

/** A word of the query with those that may stand for it. */
export interface Concept {
  /** Term numbers; the word itself, where any unit has it, with weight 1. */
  readonly terms: readonly { readonly number: number; readonly weight: number }[];
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

export function readQuery(
  query: string,
  units: Units,
  postings: Postings,
  weights: RankingWeights,
): ReadQuery {
  const words = new Set(analyze(query));
  const concepts = [...words]
    .map((word) => conceptOf(word, words, postings, { units: units.ids.length, share: weights.related }))
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

function conceptOf(
  word: string,
  words: ReadonlySet<string>,
  postings: Postings,
  { units, share }: { readonly units: number; readonly share: number },
): Concept | undefined {
  const terms: { number: number; weight: number }[] = [];
  let entries = 0;
  let frequency = 0;
  const add = (term: string, weight: number): void => {
    const number = postings.numberOf(term);
    if (number !== undefined && weight > 0) addNumber(number, weight);
  };
  const addNumber = (number: number, weight: number): void => {
    const [start, end] = postings.range(number);
    terms.push({ number, weight });
    entries += end - start;
    frequency += weight * (end - start);
  };
  add(word, 1);
  for (const [other, weight] of RELATED.get(word) ?? []) if (!words.has(other)) add(other, weight * share);
  if (terms.length === 0) for (const number of postings.near(word)) addNumber(number, 1);
  if (terms.length === 0) return undefined;
  const rarity = Math.log(1 + (units - Math.min(frequency, units) + 0.5) / (frequency + 0.5));
  return { terms, rarity, entries };
}

/** A day that is named without a year is taken to be of the newest unit's. */
function newestYear(units: Units): number | undefined {
  let newest = Number.NEGATIVE_INFINITY;
  for (const time of units.times) if (time > newest) newest = time;
  return Number.isFinite(newest) ? new Date(newest).getUTCFullYear() : undefined;
}
