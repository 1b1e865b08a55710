import { readTimestamp, resolveDates, speaksOfTime, type TimeSpan } from "./dates.ts";
import { analyze } from "./words.ts";

/** A piece of text that can be recalled: a message, a section of a note, a line of a list. */
export interface RecallCandidate {
  readonly id: string;
  readonly content: string;
  /** Its heading, with those above it; counts like content. */
  readonly title?: string;
  /** Who wrote or said it; a query that names them prefers what is theirs. */
  readonly author?: string;
  /** When it was written: ISO text, a date in English words, or milliseconds since 1970. */
  readonly timestamp?: string | number | Date;
  /**
   * What it is part of: a conversation, a file. Neighbours in one section explain each other. Left out everywhere, those
   * with an order or author are one section, those with only a timestamp one for each time.
   */
  readonly section?: string | number;
  /** Its place in the section; that in the list when left out. */
  readonly order?: number;
}

/** A candidate as the ranker reads it; units of one section follow one another. */
export interface Unit {
  readonly id: string;
  readonly section: number;
  /** Terms of the content, counted. */
  readonly length: number;
  /** Milliseconds since 1970; NaN where not known. */
  readonly time: number;
  /** The times that its text speaks of, as seen from when it was written. */
  readonly spans: readonly TimeSpan[];
  readonly asks: boolean;
  readonly speaksOfTime: boolean;
  readonly author: string | undefined;
}

/** The terms of a unit: they are not needed once they are indexed. */
export interface UnitTerms {
  readonly content: readonly string[];
  readonly title: readonly string[];
}

/** Candidates in the order of their sections. */
export function unitsOf(candidates: readonly RecallCandidate[]): {
  readonly units: readonly Unit[];
  readonly terms: readonly UnitTerms[];
} {
  const sections = new Map<string, RecallCandidate[]>();
  candidates.forEach((candidate, index) => {
    const key = sectionKey(candidate, index);
    const known = sections.get(key);
    if (known === undefined) sections.set(key, [candidate]);
    else known.push(candidate);
  });
  const units: Unit[] = [];
  const terms: UnitTerms[] = [];
  [...sections.values()].forEach((members, section) => {
    for (const candidate of inOrder(members)) {
      const { content, title = "" } = candidate;
      const said = { content: analyze(content), title: title === "" ? [] : analyze(title) };
      terms.push(said);
      units.push(unitOf(candidate, section, said.content.length));
    }
  });
  return { units, terms };
}

function unitOf({ id, content, author, timestamp }: RecallCandidate, section: number, length: number): Unit {
  const time = readTimestamp(timestamp) ?? Number.NaN;
  return {
    id,
    section,
    length,
    time,
    spans: Number.isNaN(time) ? [] : resolveDates(content, time),
    asks: /[?？]["'”’)]*\s*$/.test(content),
    speaksOfTime: speaksOfTime(content),
    author: author === "" ? undefined : author,
  };
}

/** Without a section, what has an order or an author is one conversation, and what was written at one time one note. */
function sectionKey({ section, order, author, timestamp }: RecallCandidate, index: number): string {
  if (section !== undefined || order !== undefined || author !== undefined) return `part ${section ?? ""}`;
  return timestamp === undefined ? `alone ${index}` : `at ${String(timestamp)}`;
}

function inOrder(members: readonly RecallCandidate[]): readonly RecallCandidate[] {
  return members
    .map((candidate, index) => ({ candidate, order: candidate.order ?? index }))
    .sort((one, other) => one.order - other.order)
    .map(({ candidate }) => candidate);
}
