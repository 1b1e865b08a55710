import type { MemoryCandidate, MemorySource } from "./candidates.ts";
import { analyze } from "./ranking/words.ts";

/** Whose word counts more at equal relevance: the work at hand, or what holds for good. */
export type Precedence = "current" | "durable";

/** Factors of sources: enough to decide between equals, too little to turn what is off the topic into an answer. */
const FACTORS: Readonly<Record<Precedence, Readonly<Record<MemorySource, number>>>> = {
  current: {
    "channel-session": 1.3,
    "channel-memory": 1.18,
    "workspace-memory": 1.12,
    "channel-history": 1,
    "channel-log": 0.9,
    "channel-context": 0.9,
  },
  durable: {
    "workspace-memory": 1.3,
    "channel-memory": 1.2,
    "channel-session": 1.1,
    "channel-history": 1,
    "channel-log": 0.9,
    "channel-context": 0.9,
  },
};

export interface ScoredMemory {
  readonly candidate: MemoryCandidate;
  readonly score: number;
}

/** By score and source, then priority; and of two notes on one topic the fresher first. */
export function inPrecedence(
  hits: readonly ScoredMemory[],
  query: string,
  precedence: Precedence,
): readonly ScoredMemory[] {
  const weighed = hits
    .map(({ candidate, score }) => ({ candidate, score: score * FACTORS[precedence][candidate.source] }))
    .sort((one, other) => other.score - one.score || other.candidate.priority - one.candidate.priority);
  return freshFirst(weighed, query);
}

interface Topic {
  readonly hit: ScoredMemory;
  readonly time: number;
  readonly terms: ReadonlySet<string>;
  /** What its text is about: words that are no date, number or other value. */
  readonly about: ReadonlySet<string>;
  readonly asked: readonly string[];
}

/** Those of `others` that are fresher than one of `hits` on its topic: who sees the older note must see them. */
export function fresherNotes(
  hits: readonly ScoredMemory[],
  others: readonly ScoredMemory[],
  query: string,
): readonly ScoredMemory[] {
  const known = topicsOf(hits, query);
  return topicsOf(others, query)
    .filter((other) => known.some((topic) => other.time > topic.time && sameTopic(topic, other)))
    .map(({ hit }) => hit);
}

function topicsOf(hits: readonly ScoredMemory[], query: string): readonly Topic[] {
  const queryTerms = new Set(analyze(query));
  return hits.map((hit): Topic => {
    const { title, content, timestamp, source } = hit.candidate;
    // The heading of a history's entry is about its first line.
    const terms = new Set(analyze(source === "channel-history" ? content : `${title}\n${content}`));
    const about = new Set(analyze(content).filter((term) => !isValue(term)));
    const asked = [...queryTerms].filter((term) => terms.has(term));
    return { hit, time: Date.parse(timestamp ?? ""), terms, about, asked };
  });
}

/** Every note waits for the fresher ones on its topic; otherwise the order stays. */
function freshFirst(hits: readonly ScoredMemory[], query: string): readonly ScoredMemory[] {
  const topics = topicsOf(hits, query);
  const ordered: Topic[] = [];
  const placed = new Set<Topic>();
  const placeWithFresher = (topic: Topic): void => {
    if (placed.has(topic)) return;
    placed.add(topic);
    for (const other of topics)
      if (other.time > topic.time && sameTopic(topic, other)) placeWithFresher(other);
    ordered.push(topic);
  };
  topics.forEach(placeWithFresher);
  let ceiling = Number.POSITIVE_INFINITY;
  return ordered.map(({ hit }, index) => {
    const rest = ordered.slice(index).map((topic) => topic.hit.score);
    ceiling = Math.min(ceiling, Math.max(...rest));
    return { candidate: hit.candidate, score: ceiling };
  });
}

const SHARED_TERMS = 0.6;
const FEWEST_ASKED = 2;

/** They say much the same words, are about the same thing, or answer the same two or more words of the query. */
function sameTopic(one: Topic, other: Topic): boolean {
  const sameAsked =
    one.asked.length === other.asked.length && one.asked.every((term) => other.terms.has(term));
  if (sameAsked && one.asked.length >= FEWEST_ASKED) return true;
  if (shared(one.terms, other.terms, 2) >= SHARED_TERMS) return true;
  const isAsked = one.asked.some((term) => one.about.has(term) && other.about.has(term));
  return isAsked && shared(one.about, other.about, 1) >= SHARED_TERMS;
}

/** The share of the smaller set that is in the other one too; 0 for sets of less than `fewest`. */
function shared(one: ReadonlySet<string>, other: ReadonlySet<string>, fewest: number): number {
  const smaller = Math.min(one.size, other.size);
  if (smaller < fewest) return 0;
  return [...one].filter((term) => other.has(term)).length / smaller;
}

const NAMED_TIMES: ReadonlySet<string> = new Set(
  analyze(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december today tomorrow yesterday",
  ),
);

/** What a note may say otherwise than another one on the same thing. */
function isValue(term: string): boolean {
  return /\d/.test(term) || NAMED_TIMES.has(term);
}
