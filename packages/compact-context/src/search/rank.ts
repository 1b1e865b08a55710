import { characterStart } from "../errors.ts";
import type { Segment } from "./segment.ts";
import { escaped, isSeam, LONGEST_WORD, type Query } from "./words.ts";

/** A message of a segment with its score; higher is better. */
export interface Ranked {
  readonly from: Segment;
  readonly document: number;
  readonly score: number;
}

/** A term to look up and its weight. */
export interface WeighedTerm {
  readonly term: string;
  /** The word of the query that it stands for. */
  readonly word: string;
  readonly weight: number;
}

/** A query prepared for the messages to search. */
export interface Plan {
  readonly terms: readonly WeighedTerm[];
  /** A message must contain at least one term of each group. Undefined if any word of the query suffices. */
  readonly required: readonly (readonly string[])[] | undefined;
  /** Average number of words per message. */
  readonly average: number;
}

// BM25 (Robertson and Zaragoza 2009) with the constants that retrieved best on conversation turns of the
// LoCoMo set.
const K1 = 0.5;
const B = 0.6;
/** Weight of words that only share a prefix with a query word, relative to that word. */
const BEGINNING = 0.4;
const MOST_BEGINNINGS = 24;
const SHORTEST_BEGINNING = 3;
/** A summary of ours repeats other messages, which rank first. */
const SUMMARY_WORTH = 0.5;

/** BM25's IDF: weight of a word by how many of all texts contain it. */
export function rarityOf(texts: number, holding: number): number {
  return Math.log(1 + (texts - holding + 0.5) / (holding + 0.5));
}

/** Weights query words by rarity in these segments; a word that occurs nowhere is used as a prefix. */
export function planQuery(query: Query, segments: readonly Segment[]): Plan {
  const messages = total(segments, (segment) => segment.worded);
  const words = total(segments, (segment) => segment.words);
  const rarity = (term: string): number => {
    const found = total(segments, (segment) => segment.frequency(term));
    return found === 0 ? 0 : rarityOf(messages, found);
  };
  const terms = query.words.flatMap((word): WeighedTerm[] => {
    const term = escaped(word);
    const weight = rarity(term);
    if (weight > 0) return [{ term, word, weight }];
    return beginnings(term, segments).map((longer) => ({
      term: longer,
      word,
      weight: BEGINNING * rarity(longer),
    }));
  });
  return {
    terms,
    required:
      query.phrases.length === 0
        ? undefined
        : query.phrases.flatMap(({ words }) => requiredTerms(words, segments)),
    average: messages === 0 ? 1 : words / messages,
  };
}

/** Identifiers are excluded: a phrase can split them. */
const SIMPLE = /^[^./\\:@#+~_$-]+$/;
const MOST_ENDINGS = 200;

/**
 * Terms that a message with the phrase must contain, so that few texts have to be read. The last word may
 * continue after the phrase, and a word that occurs nowhere may be the end of another.
 */
function requiredTerms(words: readonly string[], segments: readonly Segment[]): string[][] {
  const last = words.at(-1);
  return words.flatMap((word): string[][] => {
    if (!SIMPLE.test(word)) return [];
    const term = escaped(word);
    if (word !== last) return segments.some((segment) => segment.frequency(term) > 0) ? [[term]] : [];
    const longer = segments.map((segment) => segment.startingWith(term, MOST_ENDINGS));
    if (longer.some((found) => found.length === MOST_ENDINGS)) return [];
    const group = [...new Set(longer.flat())];
    return group.length === 0 ? [] : [group];
  });
}

function beginnings(term: string, segments: readonly Segment[]): string[] {
  if (term.length < SHORTEST_BEGINNING) return [];
  const found = segments.flatMap((segment) => segment.startingWith(term, MOST_BEGINNINGS));
  return [...new Set(found)].slice(0, MOST_BEGINNINGS);
}

function total(segments: readonly Segment[], of: (segment: Segment) => number): number {
  return segments.reduce((sum, segment) => sum + of(segment), 0);
}

/** The best `most` messages of a segment, best first. */
export function rankSegment(segment: Segment, plan: Plan, most: number): Ranked[] {
  const scores = new Float64Array(segment.size);
  const touched: number[] = [];
  for (const { term, weight } of plan.terms) {
    segment.each(term, (document, times) => {
      const length = segment.lengthOf(document) / plan.average;
      const before = scores[document] ?? 0;
      if (before === 0) touched.push(document);
      scores[document] = before + (weight * times * (K1 + 1)) / (times + K1 * (1 - B + B * length));
    });
  }
  const candidates = plan.required === undefined ? touched : [...having(segment, plan.required)];
  return best(
    candidates.map((document) => {
      const worth = segment.message(document).summary ? SUMMARY_WORTH : 1;
      return { from: segment, document, score: worth * (scores[document] ?? 0) };
    }),
    most,
  );
}

/** The documents with a term of every group; without groups, all documents that have words. */
function having(segment: Segment, groups: readonly (readonly string[])[]): Iterable<number> {
  let common: Set<number> | undefined;
  for (const group of groups) {
    const found = new Set<number>();
    for (const term of group) {
      segment.each(term, (document) => {
        if (common === undefined || common.has(document)) found.add(document);
      });
    }
    common = found;
  }
  if (common !== undefined) return common;
  return Array.from({ length: segment.size }, (_, document) => document).filter(
    (document) => segment.lengthOf(document) > 0,
  );
}

/** Best first; among equals the newer first. */
export function best(ranked: readonly Ranked[], most: number): Ranked[] {
  const isLong = ranked.length > 4 * most;
  const least = isLong
    ? leastOf(
        Float64Array.from(ranked, ({ score }) => score),
        most,
      )
    : Number.NEGATIVE_INFINITY;
  return ranked
    .filter((one) => one.score >= least)
    .sort((one, other) => other.score - one.score || newer(one, other))
    .slice(0, most);
}

/** The score at rank `most`: sorting everything would take longer than all other work. */
export function leastOf(scores: Float64Array, most: number): number {
  const best = new Float64Array(most).fill(Number.NEGATIVE_INFINITY);
  for (const score of scores) {
    if (score <= (best[most - 1] ?? 0)) continue;
    let place = most - 1;
    while (place > 0 && (best[place - 1] ?? 0) < score) {
      best[place] = best[place - 1] ?? 0;
      place -= 1;
    }
    best[place] = score;
  }
  return best[most - 1] ?? 0;
}

function newer(one: Ranked, other: Ranked): number {
  const left = one.from.message(one.document);
  const right = other.from.message(other.document);
  return right.step - left.step || right.n - left.n;
}

const BEFORE = 24;
const AFTER = 170;
const PLACES_PER_WORD = 200;

interface Place {
  readonly at: number;
  readonly end: number;
  readonly word: string;
  readonly weight: number;
}

/** The excerpt with most of the query, starting slightly before its rarest word; about 200 characters. */
export function snippetOf(text: string, query: Query, terms: readonly WeighedTerm[]): string {
  const lower = text.toLowerCase();
  const places = [...phrasePlaces(lower, query), ...wordPlaces(text, lower, terms)].sort(
    (one, other) => one.at - other.at,
  );
  const first = densest(places);
  if (first === undefined) return cut(text, 0, BEFORE + AFTER);
  const start = heaviestNear(places, first);
  return cut(text, start.at - BEFORE, Math.max(start.end, start.at) + AFTER);
}

function phrasePlaces(lower: string, { phrases }: Query): Place[] {
  return phrases.flatMap(({ text }) => {
    const at = lower.indexOf(text);
    return at < 0 ? [] : [{ at, end: at + text.length, word: text, weight: 1000 }];
  });
}

/** Where the words stand alone, as they were found; a word that stands for longer ones, where those begin. */
function wordPlaces(written: string, lower: string, terms: readonly WeighedTerm[]): Place[] {
  // A few capitals are longer in lower case.
  const text = written.length === lower.length ? written : lower;
  return terms.flatMap(({ term, word, weight }) => {
    const places: Place[] = [];
    const isBeginning = term !== escaped(word) || word.length === LONGEST_WORD;
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
      const end = at + word.length;
      const ends = isSeam(text, end) || (lower[end] === "s" && isSeam(text, end + 1));
      if (!isSeam(text, at) || !(ends || isBeginning)) continue;
      places.push({ at, end, word, weight });
      if (places.length === PLACES_PER_WORD) break;
    }
    return places;
  });
}

/** The place with most weight in a snippet's length behind it, each word once; of equals the closest together. */
function densest(places: readonly Place[]): Place | undefined {
  let found: Place | undefined;
  let [most, closest] = [0, 0];
  places.forEach((place, index) => {
    const words = new Set<string>();
    let [sum, span] = [0, 0];
    for (let next = index; next < places.length; next++) {
      const { at, word, weight } = places[next] as Place;
      if (at > place.at + AFTER) break;
      if (words.has(word)) continue;
      words.add(word);
      sum += weight;
      span = at - place.at;
    }
    if (sum > most || (sum === most && span < closest)) [found, most, closest] = [place, sum, span];
  });
  return found;
}

/** The heaviest place in the excerpt from `start`: it is shown even if little of the excerpt is. */
function heaviestNear(places: readonly Place[], start: Place): Place {
  return places
    .filter(({ at }) => at >= start.at && at <= start.at + AFTER)
    .reduce((heaviest, place) => (place.weight > heaviest.weight ? place : heaviest), start);
}

function cut(text: string, from: number, to: number): string {
  const start = characterStart(text, Math.max(0, from));
  const end = characterStart(text, Math.min(text.length, to));
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
