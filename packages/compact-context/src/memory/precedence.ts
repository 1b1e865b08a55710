import type { MemoryCandidate, MemorySource } from "./candidates.ts";
import type { Superseded } from "./changes/forget.ts";
import { standsBeside, tellsPast, wasBefore } from "./learning/apart.ts";
import { REMEMBER } from "./learning/language.ts";
import { areTwoBans, relationOf, statesMoreThan } from "./learning/relation.ts";
import { speaksAnewOf } from "./learning/statements.ts";
import { isValue, shareIn, topicTerms } from "./learning/terms.ts";

/** What ranks higher at equal relevance: the current work, or lasting statements. */
export type Precedence = "current" | "durable";

/** Factors of sources: enough to break ties, too small to promote an irrelevant line. */
const ALWAYS = { "channel-history": 1, "channel-log": 0.9, "channel-context": 0.9 };
const FACTORS: Readonly<Record<Precedence, Readonly<Record<MemorySource, number>>>> = {
  current: { ...ALWAYS, "channel-session": 1.3, "channel-memory": 1.18, "workspace-memory": 1.12 },
  durable: { ...ALWAYS, "workspace-memory": 1.3, "channel-memory": 1.2, "channel-session": 1.1 },
};

export interface ScoredMemory {
  readonly candidate: MemoryCandidate;
  readonly score: number;
  /** Why the line may be out of date; appended to it. */
  readonly note?: string;
}

/**
 * Orders by score and source, then priority. A statement appears once; of two on one topic the newer comes
 * first; lines that repeat superseded text come last. Lines that may be out of date get a note.
 */
export function inPrecedence(
  hits: readonly ScoredMemory[],
  precedence: Precedence,
  retired: readonly Superseded[],
): readonly ScoredMemory[] {
  const weighed = hits
    .map(({ candidate, score }) => ({ candidate, score: score * FACTORS[precedence][candidate.source] }))
    .sort((one, other) => other.score - one.score || other.candidate.priority - one.candidate.priority);
  const marked = onceEach(weighed).map((hit) => ({
    hit,
    old: retired.find((one) => tells(hit.candidate, one)),
  }));
  const current = newerFirst(marked.flatMap(({ hit, old }) => (old === undefined ? hit : [])));
  const former = marked.flatMap(({ hit, old }) =>
    old === undefined ? [] : formerIn(hit, old, current, retired),
  );
  return [
    ...current.flatMap((hit) => [hit, ...former.flatMap(({ told, behind }) => (behind === hit ? told : []))]),
    ...former.flatMap(({ told, behind }) => (behind === undefined ? told : [])),
  ];
}

/** A superseded line with its note; if it states more than its replacement, it is placed `behind` that. */
function formerIn(
  hit: ScoredMemory,
  old: Superseded,
  current: readonly ScoredMemory[],
  retired: readonly Superseded[],
): { readonly told: ScoredMemory; readonly behind: ScoredMemory | undefined } {
  const heirs = heirsOf(old, retired);
  const heir = current.find(
    ({ candidate }) => candidate.item !== undefined && candidate.item === heirs.at(-1),
  );
  const since = retired.filter(({ id }) => heirs.includes(id)).map(({ text }) => text);
  const inPart =
    heir !== undefined && statesMoreThan(old.text, [...since, heir.candidate.content].join("\n"));
  const note = `${inPart ? "may be out of date in part" : "out of date"} since ${old.date}`;
  return { told: { ...hit, note }, behind: inPart ? heir : undefined };
}

/** Ids of the items that replaced a text, one after another; the last one is current. */
function heirsOf({ by }: Superseded, retired: readonly Superseded[]): readonly string[] {
  if (by === undefined) return [];
  const next = retired.find(({ id }) => id === by);
  const others = retired.filter(({ id }) => id !== by);
  return [by, ...(next === undefined ? [] : heirsOf(next, others))];
}

/** The hits, plus the current replacement of each superseded hit with the same score. */
export function withHeirs<Hit extends ScoredMemory>(
  hits: readonly Hit[],
  candidates: readonly MemoryCandidate[],
  retired: readonly Superseded[],
): readonly Hit[] {
  const all = new Map(hits.map((hit) => [hit.candidate.id, hit]));
  for (const hit of hits) {
    const old = retired.find((entry) => tells(hit.candidate, entry));
    const id = old === undefined ? undefined : heirsOf(old, retired).at(-1);
    const heir = id === undefined ? undefined : candidates.find(({ item }) => item === id);
    if (heir !== undefined && (all.get(heir.id)?.score ?? 0) < hit.score)
      all.set(heir.id, { ...hit, candidate: heir });
  }
  return [...all.values()];
}

/** A longer prefix of a statement identifies it. */
const LEAST_OF_ONE = 20;

/** Of lines that repeat one statement or its beginning, the memory's item, else one with the outcome. */
function onceEach(hits: readonly ScoredMemory[]): readonly ScoredMemory[] {
  const told = new Map<string, ScoredMemory>();
  const items = hits.filter(({ candidate }) => candidate.source === "channel-memory").map(bare);
  for (const hit of hits) {
    const said = bare(hit).replace(/\s*[.…]+$/u, "");
    const key =
      (said.length > LEAST_OF_ONE ? items.find((item) => item.startsWith(said)) : undefined) ?? bare(hit);
    const known = told.get(key);
    if (known === undefined || worthOf(hit) > worthOf(known))
      told.set(key, { ...hit, score: known?.score ?? hit.score });
  }
  return [...told.values()];
}

/** `→ Done.` tells nothing. */
function worthOf({ candidate }: ScoredMemory): number {
  if (candidate.source === "channel-memory") return 2;
  return topicTerms(candidate.content.split(" → ")[1] ?? "").size > 2 ? 1 : 0;
}

/** By item, the texts it replaced, including earlier ones: a query in their words finds the item. */
export function formerTexts(retired: readonly Superseded[]): ReadonlyMap<string, readonly string[]> {
  const former = new Map<string, readonly string[]>();
  for (const { id, by, text } of retired)
    if (by !== undefined) former.set(by, [...(former.get(by) ?? []), text, ...(former.get(id) ?? [])]);
  return former;
}

/** Whether a line from before the text was superseded repeats the text. */
function tells({ content, timestamp, source }: MemoryCandidate, { text, date }: Superseded): boolean {
  if (source === "workspace-memory" || (source === "channel-memory" && (timestamp ?? "").slice(0, 10) > date))
    return false;
  const said = askIn(content);
  return shareIn(topicTerms(text), topicTerms(said)) === 1 && relationOf(said, text) === "apart";
}

/**
 * Moves each line behind the newest on its topic, and what was so behind what is so. A line that conflicts with a
 * newer item gets a note.
 */
function newerFirst(hits: readonly ScoredMemory[]): readonly ScoredMemory[] {
  const ordered = [...hits];
  const noted = new Map(
    hits
      .filter(({ candidate }) => candidate.source === "channel-memory")
      .map((hit) => [bare(hit), Date.parse(hit.candidate.timestamp ?? "")]),
  );
  // Copies of an item in other files are as old as the item.
  const timeOf = (hit: ScoredMemory): number =>
    noted.get(bare(hit)) ?? Date.parse(hit.candidate.timestamp ?? "");
  const contradicts = (newer: ScoredMemory, older: ScoredMemory): boolean =>
    newer.candidate.source === "channel-memory" && relationOf(bare(newer), bare(older)) !== "apart";
  const comesFirst = (hit: ScoredMemory, other: ScoredMemory): boolean => {
    const [one, two] = [saidIn(hit), saidIn(other)];
    if (wasBefore(two, one)) return true;
    return timeOf(hit) > timeOf(other) && !standsBeside(one, two);
  };
  for (let index = 0; index < ordered.length; index++) {
    const older = ordered[index];
    if (older === undefined) continue;
    const newer = ordered
      .filter(
        (hit) =>
          comesFirst(hit, older) &&
          (sameTopic(hit, older) || contradicts(hit, older) || tellsNews(hit, older)),
      )
      .sort((one, other) => timeOf(other) - timeOf(one));
    const later = newer.filter((hit) => timeOf(hit) > timeOf(older));
    const other = later.find((hit) => contradicts(hit, older));
    const news = later.find((hit) => tellsNews(hit, older));
    const dayOf = (hit: ScoredMemory): string => new Date(timeOf(hit)).toISOString().slice(0, 10);
    if (other !== undefined)
      ordered[index] = { ...older, note: `another value was noted on ${dayOf(other)}` };
    else if (news !== undefined)
      ordered[index] = { ...older, note: `may be out of date: more was said of it on ${dayOf(news)}` };
    const ahead = newer.find((hit) => ordered.indexOf(hit) > index);
    if (ahead === undefined) continue;
    ordered.splice(ordered.indexOf(ahead), 1);
    ordered.splice(index, 0, { ...ahead, score: Math.max(ahead.score, older.score) });
  }
  return ordered;
}

/** A newer line mentions the topic of an older item of the memory and says something new about it. */
function tellsNews(newer: ScoredMemory, older: ScoredMemory): boolean {
  return (
    older.candidate.source === "channel-memory" &&
    newer.candidate.source !== "workspace-memory" &&
    speaksAnewOf(saidIn(newer), saidIn(older)) &&
    !(older.candidate.sectionKind === "constraints" && areTwoBans(saidIn(newer), saidIn(older)))
  );
}

const SHARED = 0.6;
/** The same for a line about the past: it has words for that too. */
const SHARED_BY_PAST = 0.5;

/** The longer text contains most words of the shorter one; a single word only matches a single word. */
function sameTopic(hit: ScoredMemory, older: ScoredMemory): boolean {
  const [few, many] = [aboutOf(hit), aboutOf(older)].sort((one, other) => one.size - other.size);
  if (few === undefined || many === undefined) return false;
  const least = tellsPast(saidIn(older)) ? SHARED_BY_PAST : SHARED;
  return (few.size > 1 || many.size === 1) && shareIn(few, many) >= least;
}

/** The topic words of a line, without values. The outcome of a turn is ignored: outcomes are worded alike. */
function aboutOf({ candidate }: ScoredMemory): ReadonlySet<string> {
  const [said = ""] = candidate.content.split(" → ");
  return new Set([...topicTerms(said)].filter((term) => !isValue(term)));
}

/** The statement of a line, without its bullet, its outcome and a request to remember it. */
function saidIn({ candidate }: ScoredMemory): string {
  const label = /^(?:Decided|Asked for|Answered|Under way): /;
  return askIn(candidate.content).replace(label, "").replace(REMEMBER, "");
}

/** A line without its bullet and its outcome. */
function askIn(content: string): string {
  return content.replace(/^[-*]\s+/, "").split(" → ")[0] ?? "";
}

function bare(hit: ScoredMemory): string {
  return saidIn(hit).toLowerCase();
}

/** Share of a line's words in one live message from which the line says nothing new. */
const HELD_LIVE = 0.8;

/** True for lines that the live conversation already contains. */
export function heldBy(live: readonly string[]): (candidate: MemoryCandidate) => boolean {
  const told = live.map(topicTerms).filter(({ size }) => size > 0);
  return ({ content }) => {
    if (told.length === 0) return false;
    const terms = topicTerms(content);
    return terms.size > 0 && told.some((message) => shareIn(terms, message) >= HELD_LIVE);
  };
}
