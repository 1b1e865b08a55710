import type { MemoryCandidate, MemorySource } from "./memory-candidate.ts";
import { analyze } from "./ranking/analyze.ts";

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
  readonly asked: readonly string[];
}

/** Every note waits for the fresher ones on its topic; otherwise the order stays. */
function freshFirst(hits: readonly ScoredMemory[], query: string): readonly ScoredMemory[] {
  const queryTerms = new Set(analyze(query));
  const topics = hits.map((hit): Topic => {
    const { title, content, timestamp } = hit.candidate;
    const terms = new Set(analyze(`${title}\n${content}`));
    const asked = [...queryTerms].filter((term) => terms.has(term));
    return { hit, time: Date.parse(timestamp ?? ""), terms, asked };
  });
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

/** They say much the same words, or answer the same two or more words of the query. */
function sameTopic(one: Topic, other: Topic): boolean {
  const sameAsked =
    one.asked.length === other.asked.length && one.asked.every((term) => other.terms.has(term));
  if (sameAsked && one.asked.length >= FEWEST_ASKED) return true;
  const fewer = Math.min(one.terms.size, other.terms.size);
  const shared = [...one.terms].filter((term) => other.terms.has(term)).length;
  return fewer > 1 && shared / fewer >= SHARED_TERMS;
}
