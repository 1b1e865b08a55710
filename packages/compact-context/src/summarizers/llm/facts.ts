import type { SummaryStrategy } from "../../core/ports.ts";
import { currentRequest, earlierItems, storyLines } from "../extractive/compose.ts";
import { type Earlier, ROOT, readEarlier, type SectionKey, type Told } from "../extractive/format.ts";
import { itemsOf } from "../extractive/items.ts";
import type { Reading } from "../extractive/reading.ts";
import { type Scene, sectionLines } from "../extractive/sections.ts";
import type { Item } from "../extractive/select.ts";
import { clipEnd, oneLine, pathKey, unsaidFirst } from "../extractive/text.ts";

type CountText = (text: string) => number;

/** What a program found in the messages and the summary so far, to stand beside a model's prose. */
export interface FactsBlock {
  /** Sections in at most `room` tokens; where that is too little, what the prose leaves out comes first. */
  lines(room: number, prose: string): string[];
}

interface FactsOptions {
  readonly strategy: SummaryStrategy;
  /** False: what the user asked is left to the prose. */
  readonly requests: boolean;
  readonly previous: string | undefined;
  readonly countText: CountText;
}

/** Sections in order of print, each with its share of the room for all of them. */
const SECTIONS: readonly (readonly [SectionKey, number])[] = [
  ["request", 0.25],
  ["rules", 0.22],
  ["tasks", 0.1],
  ["checks", 0.08],
  ["errors", 0.08],
  ["running", 0.06],
  ["story", 0.22],
];
const BRIEF: ReadonlySet<SectionKey> = new Set(["request", "rules"]);
const MOST_ROUNDS = 3;

/** Made once from one reading; cheap to lay out again for another room. */
export function factsBlock(reading: Reading, options: FactsOptions): FactsBlock {
  const { strategy, countText } = options;
  const scene = sceneOf(reading, options);
  const story = shortStory(scene, options.requests);
  const sections = SECTIONS.filter(([key]) => strategy !== "brief" || BRIEF.has(key));
  return {
    lines(room, prose) {
      const beside = { ...scene, notes: prose };
      const wanted = sections.map(([key, share]): Section => {
        const write = (most: number): string[] =>
          key === "story" ? storyIn(most, beside, story) : sectionLines(key, beside, most);
        return { share, write };
      });
      return layOut(wanted, room, countText);
    },
  };
}

function sceneOf(reading: Reading, { requests, previous, countText }: FactsOptions): Scene {
  const earlier = withRequestTold(readEarlier(previous ?? ""));
  const { request, answered, asking } = currentRequest(reading, earlier);
  return {
    reading,
    earlier,
    options: {
      maxTokens: Number.POSITIVE_INFINITY,
      strategy: "task_state",
      previous,
      instruction: undefined,
      countText,
    },
    shorten: (text) => text,
    request: requests ? request : "",
    answered,
    asking,
    notes: "",
  };
}

/** The summary so far with its current request as the last one of its story. */
function withRequestTold(earlier: Earlier): Earlier {
  const { request, episodes } = earlier;
  if (request === "") return earlier;
  const at = episodes.findLastIndex(
    ({ title, pieces }) => title === "current" || isAskedBy(pieces[0], request),
  );
  const asked = { kind: "request" as const, text: request, order: 0, source: -1 };
  const told = episodes[at]?.pieces.filter(({ kind }) => kind !== "request") ?? [];
  const current = { title: "user" as const, pieces: [asked, ...told] };
  return { ...earlier, episodes: [...episodes.filter((_, index) => index !== at), current] };
}

function isAskedBy(piece: Told | undefined, request: string): boolean {
  if (piece?.kind !== "request" || piece.text.trim() === "") return false;
  return oneLine(request).startsWith(piece.text.replace(/ …$/, ""));
}

// ---- room for each section

interface Section {
  readonly share: number;
  /** The section in at most so many tokens; empty where nothing of it fits. */
  readonly write: (room: number) => string[];
}

interface Laid {
  readonly lines: readonly string[];
  readonly tokens: number;
  readonly room: number;
}

const NOTHING: Laid = { lines: [], tokens: 0, room: 0 };

/** Every section gets its share; what some leave over goes to those that need more, half of it to each in turn. */
function layOut(sections: readonly Section[], room: number, countText: CountText): string[] {
  let laid: readonly Laid[] = sections.map(() => NOTHING);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    let left = room - laid.reduce((total, section) => total + section.tokens, 0);
    laid = sections.map((section, index) => {
      const had = laid[index] ?? NOTHING;
      const more = Math.floor(round === 0 ? section.share * room : left / 2);
      const now = layOne(section, Math.min(had.tokens + left, had.room + more), countText);
      const taken = now.tokens - had.tokens;
      if (taken <= 0 || taken > left) return had;
      left -= taken;
      return now;
    });
  }
  return laid.flatMap((section) => section.lines);
}

function layOne({ write }: Section, room: number, countText: CountText): Laid {
  const lines = write(room);
  return { lines, tokens: lines.length === 0 ? 0 : countText(`${lines.join("\n")}\n`), room };
}

// ---- what was asked and what changed for it

/** Characters of an earlier request that name it, and of what is told of a changed file. */
const FIRST_WORDS = 160;
const SHORT_CHANGE = 140;
/** The empty one before the first slash is one of them. */
const FEWEST_FOLDERS = 3;
/** Part of the pieces that leaves at once where the whole is too long. */
const LEAVING = 0.05;

interface ShortStory {
  /** In order of time. */
  readonly items: readonly Item[];
  /** Where shortened paths begin; empty where none is. */
  readonly root: string;
}

/** Each request by its first words, with the files that changed for it. */
function shortStory({ reading, earlier, request, options }: Scene, requests: boolean): ShortStory {
  const newer = itemsOf(reading, earlier.episodes.length, (text) => text);
  const goesOn = earlier.request !== "" && reading.episodes[0]?.request === undefined;
  const older = earlierItems(earlier).map((item) => withRoot(item, rootIn(options.previous ?? "")));
  const pieces = new Map<string, Item>();
  for (const item of [...older, ...(goesOn ? joined(newer, earlier) : newer)]) {
    const { kind, episode, text } = item;
    if (kind === "changed") pieces.set(`${episode} ${pathOf(text)}`, item);
    else if (kind === "request" && !pieces.has(`${episode}`))
      pieces.set(`${episode}`, { ...item, text: clipEnd(oneLine(text), FIRST_WORDS) });
  }
  const all = [...pieces.values()];
  const changes = all.filter(({ kind }) => kind === "changed");
  const changed = new Set(changes.map(({ episode }) => episode));
  const current = request === "" ? -1 : currentEpisode(reading, earlier);
  const root = commonFolder(changes.map(({ text }) => pathOf(text)));
  const items = all
    .filter(({ episode }) => (requests && episode !== current) || changed.has(episode))
    .map((item) =>
      item.kind === "changed" ? { ...item, text: clipEnd(item.text.slice(root.length), SHORT_CHANGE) } : item,
    );
  return { items, root };
}

/** Where the shortened paths of a summary begin; empty where it has whole ones. */
function rootIn(summary: string): string {
  return (
    summary
      .split("\n")
      .find((line) => line.startsWith(ROOT))
      ?.slice(ROOT.length) ?? ""
  );
}

function withRoot(item: Item, root: string): Item {
  return item.kind === "changed" && !item.text.startsWith("/") ? { ...item, text: root + item.text } : item;
}

/** The folder that all paths share, with a slash at its end; empty where one is relative or it would save little. */
function commonFolder(paths: readonly string[]): string {
  const [first, ...others] = paths;
  if (first === undefined || others.length === 0 || paths.some((path) => !path.startsWith("/"))) return "";
  const parts = first.split("/").slice(0, -1);
  const differs = parts.findIndex((part, at) => others.some((path) => path.split("/")[at] !== part));
  const shared = differs < 0 ? parts : parts.slice(0, differs);
  return shared.length < FEWEST_FOLDERS ? "" : `${shared.join("/")}/`;
}

/** The number of the episode whose request has a section of its own. */
function currentEpisode({ episodes }: Reading, earlier: Earlier): number {
  const newest = episodes.findLastIndex(({ request }) => request !== undefined);
  return earlier.episodes.length + (newest < 0 ? -1 : newest);
}

/** What came before the first new request belongs to the last one of the summary so far. */
function joined(items: readonly Item[], { episodes }: Earlier): Item[] {
  const before = episodes.at(-1)?.pieces.length ?? 0;
  return items.map((item) =>
    item.episode === episodes.length
      ? { ...item, episode: item.episode - 1, order: before + item.order }
      : item,
  );
}

/** As much of the story as fits, the newest before the oldest. */
function storyIn(room: number, scene: Scene, { items, root }: ShortStory): string[] {
  const { notes, options } = scene;
  const newest = new Map<string, Item[]>();
  for (const item of [...items].reverse()) {
    const name = nameOf(item);
    newest.set(name, [...(newest.get(name) ?? []), item]);
  }
  const taken: Item[] = [];
  let left = room;
  for (const item of unsaidFirst([...newest.keys()], notes).flatMap((name) => newest.get(name) ?? [])) {
    left -= options.countText(item.text);
    if (left < 0) break;
    taken.push(item);
  }
  for (;;) {
    const [heading, ...told] = storyLines(scene, taken);
    if (heading === undefined) return [];
    const lines = [heading, ...(root === "" ? [] : [`${ROOT}${root}`]), ...told];
    if (options.countText(`${lines.join("\n")}\n`) <= room) return lines;
    taken.length -= Math.ceil(taken.length * LEAVING);
  }
}

/** The words by which prose would name it. */
function nameOf({ kind, text }: Item): string {
  if (kind !== "changed") return text.replace(/ …$/, "");
  const path = pathOf(text);
  return pathKey(path) ?? path;
}

function pathOf(change: string): string {
  return /^.+?(?= \((?:created|deleted)\)|: |$)/.exec(change)?.[0] ?? change;
}
