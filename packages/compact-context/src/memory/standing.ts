import type { MemoryCandidate } from "./candidates.ts";
import type { Superseded } from "./changes/retired.ts";
import { REMEMBER } from "./learning/language.ts";
import { relationOf, shareIn, topicTerms } from "./learning/meaning.ts";
import type { ScoredMemory } from "./precedence.ts";

/** What a recalled line is besides what it says. */
export interface Standing extends ScoredMemory {
  /** Why it may not hold any more; stands behind the line. */
  readonly note?: string;
}

/** Share of a line's words that one live message holds when the line says nothing new. */
const HELD_LIVE = 0.8;

/** Tells lines that the conversation itself holds already: live messages come first. */
export function heldBy(live: readonly string[]): (candidate: MemoryCandidate) => boolean {
  const told = live.map(topicTerms).filter(({ size }) => size > 0);
  return ({ content }) => {
    if (told.length === 0) return false;
    const terms = topicTerms(content);
    return terms.size > 0 && told.some((message) => shareIn(terms, message) >= HELD_LIVE);
  };
}

/**
 * The lines with those last that tell again what was superseded, and of two that cannot both hold the newer first; each
 * says so.
 */
export function standingOf(
  hits: readonly ScoredMemory[],
  retired: readonly Superseded[],
): readonly Standing[] {
  const marked = onceEach(hits).map((hit): Standing => {
    const old = retired.find((entry) => tells(hit.candidate, entry));
    return old === undefined ? hit : { ...hit, note: `out of date since ${old.date}` };
  });
  const standing = newerFirst(marked.filter(({ note }) => note === undefined));
  return [...standing, ...marked.filter(({ note }) => note !== undefined)];
}

/** Of lines that tell one statement again the item of the memory, else the best. */
function onceEach(hits: readonly ScoredMemory[]): readonly ScoredMemory[] {
  const told = new Map<string, ScoredMemory>();
  for (const hit of hits) {
    const key = bare(hit);
    const known = told.get(key);
    if (known === undefined) told.set(key, hit);
    else if (hit.candidate.source === "channel-memory" && known.candidate.source !== "channel-memory")
      told.set(key, { ...hit, score: known.score });
  }
  return [...told.values()];
}

/** What an item took the place of, and what that had: a question in those words finds the item. */
export function formerTexts(item: string, retired: readonly Superseded[]): string {
  const former = retired.filter(({ by }) => by === item);
  return former
    .map(
      ({ id, text }) =>
        `${text}\n${
          id === item
            ? ""
            : formerTexts(
                id,
                retired.filter((one) => one.by !== item),
              )
        }`,
    )
    .join("\n");
}

/** Whether a line from before that day tells the text again. */
function tells({ content, timestamp, source }: MemoryCandidate, { text, date }: Superseded): boolean {
  if (source === "workspace-memory" || (source === "channel-memory" && (timestamp ?? "").slice(0, 10) > date))
    return false;
  const said = content.replace(/^[-*]\s+/, "").split(" → ")[0] ?? "";
  const terms = topicTerms(text);
  return shareIn(terms, topicTerms(said)) === 1 && relationOf(said, text) === "apart";
}

function newerFirst(hits: readonly ScoredMemory[]): readonly Standing[] {
  const ordered: Standing[] = [...hits];
  const noted = new Map(
    hits.flatMap((hit) =>
      hit.candidate.source === "channel-memory"
        ? [[bare(hit), Date.parse(hit.candidate.timestamp ?? "")]]
        : [],
    ),
  );
  // What other files tell of an item again is as old as the item.
  const timeOf = (hit: ScoredMemory): number =>
    noted.get(bare(hit)) ?? Date.parse(hit.candidate.timestamp ?? "");
  for (let index = 0; index < ordered.length; index++) {
    const older = ordered[index];
    if (older === undefined || older.note !== undefined) continue;
    const at = ordered.findIndex(
      (newer, place) =>
        place !== index &&
        newer.candidate.source === "channel-memory" &&
        timeOf(newer) > timeOf(older) &&
        relationOf(bare(newer), bare(older)) !== "apart",
    );
    const newer = ordered[at];
    if (newer === undefined) continue;
    const day = Number.isNaN(timeOf(newer)) ? undefined : new Date(timeOf(newer)).toISOString().slice(0, 10);
    ordered[index] = { ...older, note: `another value was noted${day === undefined ? "" : ` on ${day}`}` };
    if (at < index) continue;
    ordered.splice(at, 1);
    ordered.splice(index, 0, { ...newer, score: Math.max(newer.score, older.score) });
  }
  return ordered;
}

/** The statement of a line: without its bullet, what was done about it, and the wish to keep it. */
function bare({ candidate }: ScoredMemory): string {
  const said = candidate.content.replace(/^[-*]\s+/, "").split(" → ")[0] ?? "";
  return said
    .replace(/^(?:Decided|Asked for|Answered|Under way): /, "")
    .replace(REMEMBER, "")
    .toLowerCase();
}
