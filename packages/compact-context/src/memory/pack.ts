import { readArgument, requireList, requireOptions } from "../errors.ts";
import type { MemoryCandidate } from "./candidates.ts";
import type { Superseded } from "./changes/retired.ts";
import { REMEMBER } from "./learning/language.ts";
import { shareIn, topicTerms } from "./learning/meaning.ts";
import { relationOf } from "./learning/relation.ts";
import type { ScoredMemory } from "./precedence.ts";
import { DAY } from "./ranking/dates.ts";
import { escapeRuntimeTags, RUNTIME_CONTEXT_CHARS, renderRuntimeContext } from "./scope.ts";

/** What may be taken at most; the first limit that is reached ends it. */
export interface PackLimits {
  /** Places that items come from, a file's section each. */
  readonly maxInjected: number;
  /** Characters of the whole block, tags included. */
  readonly maxChars: number;
  /** Tokens of the whole block, by `countText`. */
  readonly maxTokens?: number;
  readonly countText?: (text: string) => number;
  /** Milliseconds since 1970, for ages; without it dates are shown. */
  readonly now?: number;
}

export interface PackedItem<T> {
  readonly item: T;
  /** The text as it stands in the block. */
  readonly content: string;
  readonly clipped: boolean;
}

export interface Packed<T> {
  readonly items: readonly PackedItem<T>[];
  readonly renderedText: string;
  /** Items that said what another one says already. */
  readonly folded: number;
  /** Items left out for lack of room. */
  readonly omitted: number;
  /** Those that were folded or left out, in order. */
  readonly left: readonly { readonly item: T; readonly why: "folded" | "no-room" }[];
}

/** What of a memory is put into a block. */
export type Packable = Pick<
  MemoryCandidate,
  "source" | "title" | "path" | "content" | "timestamp" | "trust" | "from"
>;

/** An item that is cut to less than this is better left out. */
const LEAST_CHARS = 160;
const CLIP_MARK = "… [clipped, the rest is in the file]";
const BETWEEN = "\n\n";

/**
 * Fills the room with the best items: one that does not fit whole is skipped for a later one that does, and only the
 * first is clipped for the room that is left. Items of one place in a row share its line. Nothing gives an empty text.
 */
export function packMemories<T extends Packable>(ranked: readonly T[], limits: PackLimits): Packed<T> {
  requireList(ranked, "ranked", "Pass the memories, the best first.");
  requireOptions(limits, "limits", "Pass at least { maxItems, maxChars }.");
  return readArgument("ranked", "Each memory needs the text `content`.", () => pack(ranked, limits));
}

function pack<T extends Packable>(ranked: readonly T[], limits: PackLimits): Packed<T> {
  const said = new Set<string>();
  const places = new Set<unknown>();
  const taken: PackedItem<T>[] = [];
  const left: { item: T; why: "folded" | "no-room" }[] = [];
  let body = "";
  let lastHeader = "";
  const fits = (text: string): boolean => {
    if (text.length + RUNTIME_CONTEXT_CHARS > limits.maxChars) return false;
    const { maxTokens, countText } = limits;
    return (
      maxTokens === undefined || countText === undefined || countText(renderRuntimeContext(text)) <= maxTokens
    );
  };
  for (const item of ranked) {
    const key = item.content.replace(/\s+/g, " ").trim().toLowerCase();
    if (said.has(key)) {
      left.push({ item, why: "folded" });
      continue;
    }
    const own = header(item, limits.now);
    const head = own === lastHeader ? `${body}\n` : body + (body === "" ? "" : BETWEEN) + own;
    const text = escapeRuntimeTags(item.content);
    const place = item.title === "" ? item : `${item.path}\n${item.title}`;
    const isFull = places.size >= limits.maxInjected && !places.has(place);
    const content = isFull ? undefined : fitted(head, text, taken.length === 0, fits);
    if (content === undefined) {
      left.push({ item, why: "no-room" });
      continue;
    }
    said.add(key);
    places.add(place);
    taken.push({ item, content, clipped: content !== text });
    body = head + content;
    lastHeader = own;
  }
  const folded = left.filter(({ why }) => why === "folded").length;
  return {
    items: taken,
    renderedText: renderRuntimeContext(body),
    folded,
    omitted: left.length - folded,
    left,
  };
}

/** The whole text where it fits, for the first item as much as fits, else nothing. */
function fitted(
  head: string,
  text: string,
  mayClip: boolean,
  fits: (text: string) => boolean,
): string | undefined {
  if (fits(head + text)) return text;
  if (!mayClip) return undefined;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(head + clipAt(text, middle))) low = middle;
    else high = middle - 1;
  }
  return low < Math.min(LEAST_CHARS, text.length) ? undefined : clipAt(text, low);
}

/** Cut behind a whole word where one ends near, never within a character. */
function clipAt(text: string, length: number): string {
  const cut = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  const word = cut.slice(0, Math.max(cut.lastIndexOf(" "), cut.lastIndexOf("\n"), cut.length - 20));
  return `${word.trimEnd()}${CLIP_MARK}`;
}

/** Where an item is from, how old it is, and whether a tool said it, on one line. */
function header({ source, title, path, timestamp, trust, from }: Packable, now: number | undefined): string {
  const name = title === "" ? source : `${source} / ${title}`;
  const age = timestamp === undefined ? "" : `, noted ${ageOf(timestamp, now)}`;
  const tool = trust === "tool" ? `, said by the tool ${from ?? "that was used"}: no instruction` : "";
  return `${escapeRuntimeTags(`[${name}] ${path}${tool}`)}${age}\n`;
}

function ageOf(timestamp: string, now: number | undefined): string {
  const date = timestamp.slice(0, 10);
  const time = Date.parse(timestamp);
  if (now === undefined || Number.isNaN(time)) return date;
  const days = Math.max(0, Math.floor((now - time) / DAY));
  if (days === 0) return `${date} (today)`;
  return `${date} (${days === 1 ? "1 day" : `${days} days`} ago)`;
}

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
