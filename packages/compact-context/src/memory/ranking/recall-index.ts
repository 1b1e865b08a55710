import { readArgument, requireList, requireOptions } from "../../errors.ts";
import { leastOf, rarityOf } from "../../search/rank.ts";
import { asksWhen, DAY, findDate, type TimeSpan } from "./dates.ts";
import {
  analyze,
  buildPostings,
  type Posting,
  type Postings,
  type RecallCandidate,
  type Unit,
  unitsOf,
} from "./units.ts";

/**
 * Weights of the ranker; `docs/recall.md` gives the measured effect of each. Round on purpose: they have to
 * fit conversations and notes alike.
 */
export const RANKING_WEIGHTS = {
  /** BM25: how soon repeating a word stops adding. Units are short, so early. */
  saturation: 0.5,
  /** BM25: how strongly a long unit is penalized, 0 to 1. */
  lengthPenalty: 0.6,
  /** Weight of a word in the unit's title, relative to 1 in its content. */
  title: 1,
  /** Weight of a word for the unit after the one that contains it: an answer needs its context. */
  previous: 0.45,
  next: 0.35,
  secondPrevious: 0.3,
  secondNext: 0.05,
  /** Weight of a word for every unit at most `windowReach` away in the same section. */
  window: 0.03,
  windowReach: 8,
  /** Factors for units by an author the query names, and by others in that case. */
  namedAuthor: 1.2,
  otherAuthor: 0.85,
  /** Factor for questions: the query is more often about the answer. */
  question: 0.95,
  /** Share of a question's own score added to the next unit. */
  answer: 0.15,
  /** Longer units say more: the factor is 1 + this × ln(words). */
  length: 0.05,
  /** Factor for units that mention a time, if the query asks when. */
  temporal: 1.5,
  /** Share of the best score added to units of the best section; proportionally less for other sections. */
  section: 0.25,
  /** Share of the best score added at a date named in the query; halves every `dateDays` × 0.7 days or so. */
  date: 1,
  dateDays: 12,
};

export type RankingWeights = Readonly<typeof RANKING_WEIGHTS>;

export interface RecallHit {
  readonly id: string;
  /** Above 0; comparable within one search only. */
  readonly score: number;
}

export interface RecallIndex {
  /** Number of candidates. */
  readonly size: number;
  /** Best first, at most `limit` (default: 10); empty if no candidate contains a word of the query. */
  search(query: string, options?: { readonly limit?: number }): readonly RecallHit[];
  /** Share of the query's words that a text contains, weighted by rarity in this index, 0 to 1. */
  coverage(query: string, text: string): number;
}

const DEFAULT_LIMIT = 10;

/**
 * Ranks candidates by words alone: BM25 over each unit and its neighbours, plus a few ordering signals.
 * `weights` overrides the defaults for measurements.
 */
export function createRecallIndex(
  candidates: readonly RecallCandidate[],
  options: { readonly weights?: Partial<RankingWeights> } = {},
): RecallIndex {
  requireList(candidates, "candidates", "Pass a list of { id, content }.");
  requireOptions(options, "options", "Leave them out, or pass { weights }.");
  const { weights: given } = options;
  requireOptions(given ?? {}, "options.weights", "Pass some of the weights by name.");
  const weights: RankingWeights = { ...RANKING_WEIGHTS, ...given };
  return readArgument("candidates", "Each candidate needs the texts `id` and `content`.", () => {
    const { units, terms } = unitsOf(candidates);
    const corpus: Corpus = {
      units,
      weights,
      postings: buildPostings(units, terms, weights),
      authors: [...new Set(units.flatMap(({ author }) => author ?? []))].map((name) => [name, analyze(name)]),
      newestYear: newestYear(units),
      ...layout(units, weights),
    };
    return {
      size: units.length,
      coverage: corpus.postings.coverage,
      search: (query, { limit = DEFAULT_LIMIT } = {}) => {
        const found = wordScores(analyze(query), corpus);
        return bestOf(found, limit, adjusted(found, query, corpus)).flatMap(([unit, score]) =>
          score > 0 ? [{ id: units[unit]?.id ?? "", score }] : [],
        );
      },
    };
  });
}

interface Corpus {
  readonly units: readonly Unit[];
  readonly weights: RankingWeights;
  readonly postings: Postings;
  /** Author names with their terms. */
  readonly authors: readonly (readonly [name: string, terms: readonly string[]])[];
  /** Year assumed for a day named without one: that of the newest unit. */
  readonly newestYear: number | undefined;
  /** By unit: the first unit of its section, and the one after its last. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** By section: number of terms relative to the average section. */
  readonly sectionLengths: Float64Array;
  /** By distance, `-windowReach` to `windowReach`: weight of a word for the unit that far after it. */
  readonly kernel: Float64Array;
}

function layout(
  units: readonly Unit[],
  { windowReach: reach, window, previous, next, secondPrevious, secondNext }: RankingWeights,
): Pick<Corpus, "starts" | "ends" | "sectionLengths" | "kernel"> {
  const starts = new Uint32Array(units.length);
  const ends = new Uint32Array(units.length);
  const lengths = new Float64Array((units.at(-1)?.section ?? -1) + 1);
  units.forEach(({ section, length }, unit) => {
    const begins = unit === 0 || units[unit - 1]?.section !== section;
    starts[unit] = begins ? unit : (starts[unit - 1] ?? 0);
    lengths[section] = (lengths[section] ?? 0) + length;
  });
  for (let unit = units.length - 1; unit >= 0; unit--) {
    const isLast = starts[unit + 1] !== starts[unit];
    ends[unit] = isLast ? unit + 1 : (ends[unit + 1] ?? 0);
  }
  const average = Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length));
  const near = new Map([
    [-2, secondNext],
    [-1, next],
    [1, previous],
    [2, secondPrevious],
  ]);
  const kernel = Float64Array.from({ length: 2 * reach + 1 }, (_, index) =>
    index === reach ? 1 : window + (near.get(index - reach) ?? 0),
  );
  return { starts, ends, sectionLengths: lengths.map((length) => length / average), kernel };
}

interface Scores {
  readonly units: Float64Array;
  readonly sections: Float64Array;
  /** Units with a score above 0. */
  readonly found: number[];
}

/** Maximum number of entries spread over whole windows; more common words count only for their own units. */
const SPREAD_ENTRIES = 1_500;
/** A word in a third of all units, and in more units than this, is skipped if a rarer word was found. */
const COMMON_ENTRIES = 6_000;

/** Scores of units and sections for a query's words, rarest word first. */
function wordScores(words: readonly string[], corpus: Corpus): Scores {
  const { units, postings, sectionLengths } = corpus;
  const scores: Scores = {
    units: new Float64Array(units.length),
    sections: new Float64Array(sectionLengths.length),
    found: [],
  };
  const counts = new Float64Array(units.length);
  const concepts = [...new Set(words)]
    .map((word) => postings.of(word))
    .map((terms) => ({ terms, entries: terms.reduce((sum, posting) => sum + posting.units.length, 0) }))
    .filter(({ entries }) => entries > 0)
    .sort((one, other) => one.entries - other.entries);
  let before = 0;
  for (const { terms, entries } of concepts) {
    if (before > 0 && entries > Math.max(COMMON_ENTRIES, units.length / 3)) continue;
    const reach = before + entries <= SPREAD_ENTRIES ? corpus.weights.windowReach : 0;
    const touched = collect(terms, counts, corpus, reach);
    const rarity = rarityOf(units.length, Math.min(entries, units.length));
    for (const unit of touched) {
      const count = counts[unit] ?? 0;
      counts[unit] = 0;
      if (scores.units[unit] === 0) scores.found.push(unit);
      scores.units[unit] = (scores.units[unit] ?? 0) + (rarity * count) / (corpus.weights.saturation + count);
    }
    addSections(terms, scores.sections, corpus);
    before += entries;
  }
  return scores;
}

/** Adds a concept's counts to its units and their neighbours; returns the units with a count. */
function collect(
  terms: readonly Posting[],
  counts: Float64Array,
  { starts, ends, kernel, weights }: Corpus,
  reach: number,
): readonly number[] {
  const middle = weights.windowReach;
  const touched: number[] = [];
  const add = (unit: number, value: number): void => {
    const known = counts[unit] ?? 0;
    if (known === 0 && value !== 0) touched.push(unit);
    counts[unit] = known + value;
  };
  for (const { units, values } of terms) {
    units.forEach((unit, place) => {
      const value = values[place] ?? 0;
      if (reach === 0) {
        add(unit, value);
        return;
      }
      const to = Math.min(ends[unit] ?? 0, unit + reach + 1);
      for (let other = Math.max(starts[unit] ?? 0, unit - reach); other < to; other++)
        add(other, value * (kernel[other - unit + middle] ?? 0));
    });
  }
  return touched;
}

/** The usual BM25 constants, for whole sections, which are long. */
const SECTION = { saturation: 1.2, lengthPenalty: 0.75 };

function addSections(
  terms: readonly Posting[],
  scores: Float64Array,
  { units, sectionLengths }: Corpus,
): void {
  const counts = new Uint32Array(scores.length);
  const touched: number[] = [];
  for (const posting of terms) {
    for (const unit of posting.units) {
      const section = units[unit]?.section ?? 0;
      if (counts[section] === 0) touched.push(section);
      counts[section] = (counts[section] ?? 0) + 1;
    }
  }
  const rarity = rarityOf(scores.length, touched.length);
  const { saturation, lengthPenalty } = SECTION;
  for (const section of touched) {
    const count = counts[section] ?? 0;
    const length = 1 - lengthPenalty + lengthPenalty * (sectionLengths[section] ?? 0);
    const part = (count * (saturation + 1)) / (count + saturation * length);
    scores[section] = (scores[section] ?? 0) + rarity * part;
  }
}

/** Final score of a unit: word score adjusted for author, answers after questions, sections and dates. */
function adjusted(
  { units: scores, sections, found }: Scores,
  query: string,
  corpus: Corpus,
): (unit: number) => number {
  const { units, weights } = corpus;
  const factorOf = factors(query, corpus);
  let top = 0;
  for (const unit of found) {
    scores[unit] = (scores[unit] ?? 0) * factorOf(units[unit] as Unit);
    top = Math.max(top, scores[unit] ?? 0);
  }
  const best = sections.reduce((most, score) => Math.max(most, score), 0);
  const share = sections.length < 2 || best === 0 ? 0 : (weights.section * top) / best;
  const date = findDate(query, corpus.newestYear);
  return (unit) => {
    const one = units[unit] as Unit;
    const asked = units[unit - 1];
    const follows = asked?.section === one.section && asked.asks;
    const answer = follows ? weights.answer * (scores[unit - 1] ?? 0) : 0;
    const near = date === undefined ? 0 : weights.date * top * nearness(one, date, weights);
    return (scores[unit] ?? 0) + share * (sections[one.section] ?? 0) + answer + near;
  };
}

/** Score factor of a unit: its length, whether it asks, the authors named and whether the query asks when. */
function factors(query: string, { authors, weights }: Corpus): (unit: Unit) => number {
  const words = new Set(analyze(query));
  const named = new Set(
    authors.flatMap(([name, terms]) => (terms.some((term) => words.has(term)) ? [name] : [])),
  );
  const when = asksWhen(query);
  return (unit) => {
    const { length, asks, author = "" } = unit;
    const own = (1 + weights.length * Math.log(Math.max(1, length))) * (asks ? weights.question : 1);
    const temporal = when && unit.speaksOfTime ? weights.temporal : 1;
    if (named.size === 0) return own * temporal;
    return own * temporal * (named.has(author) ? weights.namedAuthor : weights.otherAuthor);
  };
}

function newestYear(units: readonly Unit[]): number | undefined {
  const newest = units.reduce(
    (most, { time }) => (Number.isNaN(time) ? most : Math.max(most, time)),
    Number.NEGATIVE_INFINITY,
  );
  return Number.isFinite(newest) ? new Date(newest).getUTCFullYear() : undefined;
}

/** Closeness of a unit's time to a date: 1 within it, decaying with the distance in days. */
function nearness({ time }: Unit, date: TimeSpan, { dateDays }: RankingWeights): number {
  if (Number.isNaN(time)) return 0;
  return Math.exp(-Math.max(0, time - date.end, date.start - time) / DAY / dateDays);
}

/** The highest scores, best first; ties are ordered by unit number. */
function bestOf(
  { found }: Scores,
  most: number,
  scoreOf: (unit: number) => number,
): readonly (readonly [number, number])[] {
  const scores = Float64Array.from(found, scoreOf);
  const least = found.length > most ? leastOf(scores, most) : Number.NEGATIVE_INFINITY;
  const best: [number, number][] = [];
  scores.forEach((score, place) => {
    if (score >= least) best.push([found[place] ?? 0, score]);
  });
  return best.sort((one, other) => other[1] - one[1] || one[0] - other[0]).slice(0, most);
}
