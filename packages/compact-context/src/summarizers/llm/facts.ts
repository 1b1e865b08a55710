import type { SummaryStrategy } from "../../core/ports.ts";
import { runAtOnce } from "../../errors.ts";
import { earlierItems, goesOn, openScene, storyLines } from "../extractive/compose.ts";
import { ROOT, type SectionKey } from "../extractive/format.ts";
import { itemsOf } from "../extractive/items.ts";
import type { Reading } from "../extractive/reading.ts";
import { type Scene, sectionLines } from "../extractive/sections.ts";
import type { Item } from "../extractive/select.ts";
import { clipLine, groupBy, pathKey, unsaidFirst } from "../extractive/text.ts";

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
  const { strategy, requests, previous, countText } = options;
  const maxTokens = Number.POSITIVE_INFINITY;
  const opened = openScene(reading, {
    maxTokens,
    strategy: "task_state",
    previous,
    instruction: undefined,
    countText,
  });
  const scene = requests ? opened : { ...opened, request: "" };
  const story = requestsAndChanges(scene, requests);
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
/** Part of the pieces that leaves at once where the whole is too long. */
const LEAVING = 0.05;

/** Each request by its first words, with the files that changed for it, in order of time. */
function requestsAndChanges(scene: Scene, requests: boolean): Item[] {
  const { reading, earlier, shorten } = scene;
  const pieces = new Map<string, Item>();
  const changed = new Set<number>();
  for (const item of [
    ...earlierItems(earlier),
    ...runAtOnce(itemsOf(reading, earlier.episodes.length, shorten)),
  ]) {
    const episode = goesOn(scene, item.episode) ? item.episode - 1 : item.episode;
    const text = clipLine(item.text, item.kind === "changed" ? SHORT_CHANGE : FIRST_WORDS);
    const key = item.kind === "changed" ? `${episode} ${pathOf(text)}` : `${episode}`;
    if (item.kind === "changed") changed.add(episode);
    else if (item.kind !== "request" || pieces.has(key)) continue;
    pieces.set(key, { ...item, text });
  }
  return [...pieces.values()].filter(({ episode }) => requests || changed.has(episode));
}

/** As much of the story as fits, the newest before the oldest. */
function storyIn(room: number, scene: Scene, items: readonly Item[]): string[] {
  const { notes, options, root } = scene;
  const newest = groupBy(items.toReversed(), nameOf);
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
