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
export function inPrecedence(hits: readonly ScoredMemory[], precedence: Precedence): readonly ScoredMemory[] {
  const weighed = hits
    .map(({ candidate, score }) => ({ candidate, score: score * FACTORS[precedence][candidate.source] }))
    .sort((one, other) => other.score - one.score || other.candidate.priority - one.candidate.priority);
  return freshFirst(weighed);
}

interface Topic {
  readonly hit: ScoredMemory;
  readonly time: number;
  /** What its text is about: words that are no date, number or other value. */
  readonly about: ReadonlySet<string>;
}

/** Every note waits for the fresher ones on its topic; otherwise the order stays. */
function freshFirst(hits: readonly ScoredMemory[]): readonly ScoredMemory[] {
  const topics = hits.map((hit): Topic => {
    const { content, timestamp } = hit.candidate;
    // What came of a turn is told in much the same words of each.
    const [said = ""] = content.split(" → ");
    const about = new Set(analyze(said).filter((term) => !isValue(term)));
    return { hit, time: Date.parse(timestamp ?? ""), about };
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

const SHARED = 0.6;

/** Most words of the one that says less are in the other; of one word alone, all there is. */
function sameTopic({ about: one }: Topic, { about: other }: Topic): boolean {
  const [smaller, larger] = [Math.min(one.size, other.size), Math.max(one.size, other.size)];
  const shared = [...one].filter((term) => other.has(term)).length;
  return (smaller > 1 || larger === 1) && shared / smaller >= SHARED;
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
