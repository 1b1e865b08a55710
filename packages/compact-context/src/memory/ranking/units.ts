import { analyze } from "./analyze.ts";
import type { RecallCandidate } from "./candidate.ts";
import { readTimestamp, resolveDates, speaksOfTime, type TimeSpan } from "./dates.ts";
import type { UnitTerms } from "./postings.ts";

/** Candidates in the order of their sections, with what a search needs of each. */
export interface Units {
  readonly ids: readonly string[];
  /** By unit: the number of its section; units of one section follow one another. */
  readonly sections: Uint32Array;
  readonly sectionCount: number;
  /** Terms of the content. */
  readonly lengths: Uint32Array;
  /** Milliseconds since 1970; NaN where not known. */
  readonly times: Float64Array;
  /** By unit the times that its text speaks of, as seen from when it was written; undefined for none. */
  readonly spans: readonly (readonly TimeSpan[] | undefined)[];
  readonly isQuestion: Uint8Array;
  readonly isTemporal: Uint8Array;
  /** By unit: the number of its author; -1 for none. */
  readonly authors: Int32Array;
  /** By author: the terms of the name. */
  readonly authorNames: readonly (readonly string[])[];
}

/** The terms are given apart: they are not needed once they are indexed. */
export function layOutUnits(candidates: readonly RecallCandidate[]): {
  readonly units: Units;
  readonly terms: readonly UnitTerms[];
} {
  const placed = place(candidates);
  const count = placed.length;
  const authorNumbers = new Map<string, number>();
  const numberOf = (author: string | undefined): number => {
    if (author === undefined || author === "") return -1;
    const known = authorNumbers.get(author);
    if (known !== undefined) return known;
    authorNumbers.set(author, authorNumbers.size);
    return authorNumbers.size - 1;
  };
  const all = placed.map(({ candidate }) => candidate);
  const terms = all.map(({ content, title }) => ({
    content: analyze(content),
    title: title === undefined ? [] : analyze(title),
  }));
  const times = Float64Array.from(all, ({ timestamp }) => readTimestamp(timestamp) ?? Number.NaN);
  const units: Units = {
    spans: all.map(({ content }, unit) => spansIn(content, times[unit] ?? Number.NaN)),
    ids: all.map(({ id }) => id),
    sections: Uint32Array.from(placed, ({ section }) => section),
    sectionCount: (placed[count - 1]?.section ?? -1) + 1,
    lengths: Uint32Array.from(terms, ({ content }) => content.length),
    times,
    isQuestion: Uint8Array.from(all, ({ content }) => (/[?？]["'”’)]*\s*$/.test(content) ? 1 : 0)),
    isTemporal: Uint8Array.from(all, ({ content }) => (speaksOfTime(content) ? 1 : 0)),
    authors: Int32Array.from(all, ({ author }) => numberOf(author)),
    authorNames: [...authorNumbers.keys()].map((name) => analyze(name)),
  };
  return { units, terms };
}

function spansIn(content: string, written: number): readonly TimeSpan[] | undefined {
  if (Number.isNaN(written)) return undefined;
  const spans = resolveDates(content, written);
  return spans.length === 0 ? undefined : spans;
}

interface Placed {
  readonly candidate: RecallCandidate;
  readonly section: number;
}

/** Units of one section side by side in their order. */
function place(candidates: readonly RecallCandidate[]): readonly Placed[] {
  const sections = new Map<string, RecallCandidate[]>();
  candidates.forEach((candidate, index) => {
    const key = sectionKey(candidate, index);
    const known = sections.get(key);
    if (known === undefined) sections.set(key, [candidate]);
    else known.push(candidate);
  });
  return [...sections.values()].flatMap((members, section) =>
    inOrder(members).map((candidate) => ({ candidate, section })),
  );
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
