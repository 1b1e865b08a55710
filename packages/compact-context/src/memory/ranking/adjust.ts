import { DAY, type TimeSpan } from "./dates.ts";
import type { ReadQuery } from "./read-query.ts";
import type { WordScores } from "./score-units.ts";
import type { Units } from "./units.ts";
import type { RankingWeights } from "./weights.ts";

/** The scores in their final form; the array is written over by the next call. */
export interface FinalScores {
  readonly units: Float64Array;
  readonly found: readonly number[];
}

/** Turns what words say into the order to show: who spoke, answers after questions, sections, dates. */
export function createAdjustment(
  units: Units,
  weights: RankingWeights,
): (scores: WordScores, query: ReadQuery) => FinalScores {
  const final = new Float64Array(units.ids.length);
  const factors = ownFactors(units, weights);
  return ({ units: scores, sections, found }, query) => {
    const factorOf = queryFactor(units, query, weights);
    let top = 0;
    for (const unit of found) {
      const score = (scores[unit] ?? 0) * (factors[unit] ?? 1) * factorOf(unit);
      scores[unit] = score;
      top = Math.max(top, score);
    }
    const share = sectionShare(sections, weights.section * top);
    const { date } = query;
    for (const unit of found) {
      const section = share * (sections[units.sections[unit] ?? 0] ?? 0);
      const asked = weights.answer * questionBefore(unit, units, scores);
      const near = date === undefined ? 0 : nearest(unit, units, date, weights);
      final[unit] = (scores[unit] ?? 0) + section + asked + weights.date * top * near;
    }
    return { units: final, found };
  };
}

/** What a unit's score is multiplied by because of who is asked about, and whether a time is. */
function queryFactor(units: Units, query: ReadQuery, weights: RankingWeights): (unit: number) => number {
  const { authors, asksWhen } = query;
  if (authors.size === 0 && !asksWhen) return () => 1;
  return (unit) => {
    const temporal = asksWhen && units.isTemporal[unit] === 1 ? weights.temporal : 1;
    if (authors.size === 0) return temporal;
    return temporal * (authors.has(units.authors[unit] ?? -1) ? weights.namedAuthor : weights.otherAuthor);
  };
}

/** The score of the unit before, where it asks something in the same section. */
function questionBefore(unit: number, units: Units, scores: Float64Array): number {
  const follows = unit > 0 && units.sections[unit - 1] === units.sections[unit];
  return follows && units.isQuestion[unit - 1] === 1 ? (scores[unit - 1] ?? 0) : 0;
}

/** What each unit's score is multiplied by, whatever is asked. */
function ownFactors(units: Units, weights: RankingWeights): Float64Array {
  return Float64Array.from(units.ids, (_, unit) => {
    const length = 1 + weights.length * Math.log(Math.max(1, units.lengths[unit] ?? 1));
    return units.isQuestion[unit] === 1 ? length * weights.question : length;
  });
}

/** What a section's score is multiplied by for the best to give `most`; 0 where there is but one section. */
function sectionShare(sections: Float64Array, most: number): number {
  if (sections.length < 2) return 0;
  let top = 0;
  for (const score of sections) if (score > top) top = score;
  return top > 0 ? most / top : 0;
}

/** How close what a unit speaks of, or when it was written, is to a date. */
function nearest(unit: number, units: Units, date: TimeSpan, { dateDays, spoken }: RankingWeights): number {
  const written = closeness(units.times[unit], date, dateDays);
  const spans = units.spans[unit];
  if (spans === undefined) return written;
  const told = Math.max(
    ...spans.map(({ start, end }) =>
      Math.exp(-Math.max(0, start - date.end, date.start - end) / DAY / dateDays),
    ),
  );
  return Math.max(written, told) + spoken * told;
}

/** 1 within the span, falling with the days to it. */
function closeness(time: number | undefined, { start, end }: TimeSpan, days: number): number {
  if (time === undefined || Number.isNaN(time)) return 0;
  const gap = Math.max(0, start - time, time - end);
  return Math.exp(-gap / DAY / days);
}
