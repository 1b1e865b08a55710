/** What the ranker adds up. Weights are round on purpose: they are meant for conversations and notes alike. */
export interface RankingWeights {
  /** BM25: how soon repeating a word stops adding. Units are short, so early. */
  readonly saturation: number;
  /** BM25: how far a long unit is held against itself, 0 to 1. */
  readonly lengthPenalty: number;
  /** What a word counts in the unit's title, beside 1 in its content. */
  readonly title: number;
  /** What a word counts for the unit after the one it stands in: an answer is understood by what came before. */
  readonly previous: number;
  readonly next: number;
  readonly secondPrevious: number;
  readonly secondNext: number;
  /** What a word counts for every unit at most `windowReach` away in the same section. */
  readonly window: number;
  readonly windowReach: number;
  /** Factor for a unit right beside a better one: a list of answers is worth more than one answer's surroundings. */
  readonly beside: number;
  /** Factor for units by somebody whom the query names. */
  readonly namedAuthor: number;
  /** Factor for units by others, when the query names an author. */
  readonly otherAuthor: number;
  /** Factor for units that ask: what is looked for is more often in the answer. */
  readonly question: number;
  /** Share of a question's own score that the unit after it gets. */
  readonly answer: number;
  /** Longer units say more: the factor is 1 + this × ln(words). */
  readonly length: number;
  /** Factor for units that speak of a time, when the query asks when. */
  readonly temporal: number;
  /** Share of the best score that the best section's units get; the others in proportion. */
  readonly section: number;
  /** Share of the best score that units at a date named by the query get, halving about every `dateDays` × 0.7 days. */
  readonly date: number;
  readonly dateDays: number;
  /** Share of that more for units that speak of that date: `last Friday`, seen from when they were written. */
  readonly spoken: number;
}

/** The weights in use; `docs/recall.md` says what each was measured to add. */
export const RANKING_WEIGHTS: RankingWeights = {
  saturation: 0.5,
  lengthPenalty: 0.6,
  title: 1,
  previous: 0.5,
  next: 0.3,
  secondPrevious: 0.3,
  secondNext: 0.1,
  window: 0.025,
  windowReach: 8,
  beside: 0.95,
  namedAuthor: 1.2,
  otherAuthor: 0.9,
  question: 0.9,
  answer: 0.1,
  length: 0.1,
  temporal: 1.2,
  section: 0.25,
  date: 1,
  dateDays: 12,
  spoken: 0.1,
};
