import { escapeSummaryTags } from "../../core/message.ts";
import type { UnfoundClaim } from "../../core/ports.ts";
import { runAtOnce } from "../../errors.ts";
import type { Input } from "../extractive/builtin.ts";
import { earlierItems, goesOn, openScene, storyLines } from "../extractive/compose.ts";
import {
  HEADINGS,
  ROOT,
  type SectionKey,
  SHORT_WRITTEN_INTRODUCTION,
  WRITTEN,
  WRITTEN_INTRODUCTION,
} from "../extractive/format.ts";
import { itemsOf } from "../extractive/items.ts";
import { type Scene, sectionLines } from "../extractive/sections.ts";
import type { Item } from "../extractive/select.ts";
import { clipLine, groupBy, pathKey, unsaidFirst } from "../extractive/text.ts";

// ---- extracted facts, next to a model's prose

/**
 * Facts extracted from the messages and the summary so far: sections in at most `room` tokens. If that is too
 * little, what the prose omits comes first.
 */
export type Facts = (room: number, prose: string) => string[];

/** Sections in print order, each with its share of the total room. */
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

/**
 * Built once from one reading; cheap to lay out again for another room. Without `requests`, user requests are
 * left to the prose.
 */
export function factsOf({ reading, strategy, previous, countText }: Input, requests: boolean): Facts {
  const opened = openScene(reading, {
    maxTokens: Number.POSITIVE_INFINITY,
    strategy: "task_state",
    previous,
    instruction: undefined,
    countText,
  });
  const files = { title: "files", asked: "" } as const;
  const scene = requests ? opened : { ...opened, request: "", titles: opened.titles.map(() => files) };
  const story = requestsAndChanges(scene, requests);
  const keys = SECTIONS.filter(([key]) => strategy !== "brief" || BRIEF.has(key));
  return (room, prose) => {
    const beside = { ...scene, notes: prose };
    const write = (key: SectionKey, most: number): string[] =>
      key === "story" ? storyIn(most, beside, story) : sectionLines(key, beside, most);
    const cost = (lines: readonly string[]): number =>
      lines.length === 0 ? 0 : countText(`${lines.join("\n")}\n`);
    const shares = keys.map(([key, share]) => ({ key, tokens: cost(write(key, Math.floor(share * room))) }));
    let spare = room - shares.reduce((total, { tokens }) => total + tokens, 0);
    // What a section leaves of its share goes to those that need more: half of the rest to each in turn, all of it to the last.
    return shares.flatMap(({ key, tokens }, at) => {
      const lines = write(key, tokens + (at === shares.length - 1 ? spare : Math.floor(spare / 2)));
      spare -= cost(lines) - tokens;
      return lines;
    });
  };
}

// ---- requests and the changes made for them

/** Maximum characters of an earlier request, and of the note on a changed file. */
const FIRST_WORDS = 160;
const SHORT_CHANGE = 140;
/** Share of the pieces dropped at once if the whole is too long. */
const LEAVING = 0.05;

/** Each request by its first words, with the files changed for it, in chronological order. */
function requestsAndChanges(scene: Scene, requests: boolean): Item[] {
  const { reading, earlier, shorten } = scene;
  const pieces = new Map<string, Item>();
  for (const item of [
    ...earlierItems(earlier),
    ...runAtOnce(itemsOf(reading, earlier.episodes.length, shorten)),
  ]) {
    const episode = goesOn(scene, item.episode) ? item.episode - 1 : item.episode;
    const text = clipLine(item.text, item.kind === "changed" ? SHORT_CHANGE : FIRST_WORDS);
    const key = item.kind === "changed" ? `${episode} ${pathOf(text)}` : `${episode}`;
    if (item.kind !== "changed" && (item.kind !== "request" || pieces.has(key))) continue;
    pieces.set(key, { ...item, text });
  }
  const told = [...pieces.values()];
  if (requests) return told;
  // Beside prose that tells the requests, the files need no heading for each of them.
  const files = told.filter(({ kind }) => kind === "changed");
  return files.map((item, order) => ({ ...item, episode: 0, order }));
}

/** As much of the story as fits, newest first. */
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

/** The words by which prose would refer to it. */
function nameOf({ kind, text }: Item): string {
  if (kind !== "changed") return text.replace(/ …$/, "");
  const path = pathOf(text);
  return pathKey(path) ?? path;
}

function pathOf(change: string): string {
  return /^.+?(?= \((?:created|rewritten|deleted)\)|: |$)/.exec(change)?.[0] ?? change;
}

// ---- prose, facts and warnings in one text

/** Below this, a summary is the model's prose alone. */
export const LEAST_FOR_FACTS = 160;
/** Below this, introduction and facts are reduced to the essentials. */
const ROOMY = 300;
/** Maximum share of the room that facts and warnings may reserve before the prose is written. */
const FACTS_SHARE = 0.4;
const WARNINGS_SHARE = 0.06;
/** A heading and one claim. */
const LEAST_FOR_WARNINGS = 24;
/** The separator between texts. */
const SLACK = 6;

/** What stands around a model's prose in a summary. */
export interface Surroundings {
  /** Maximum tokens of the prose: what the facts leave. */
  readonly room: number;
  /** Prose, facts, and a warning about unsupported claims; at most `maxTokens` tokens. */
  complete(prose: string, unfound: readonly UnfoundClaim[]): string;
}

export function surroundings(input: Input, maxTokens: number, requests: boolean): Surroundings {
  const { countText } = input;
  const isRoomy = maxTokens >= ROOMY;
  const introduction = isRoomy ? WRITTEN_INTRODUCTION : SHORT_WRITTEN_INTRODUCTION;
  const facts = factsOf(input, requests && isRoomy);
  const wanted = facts(Math.floor(maxTokens * FACTS_SHARE), "");
  const reserved = countText(`${introduction}\n${wanted.join("\n")}\n`) + SLACK;
  return {
    room: Math.max(0, Math.floor(maxTokens - reserved)),
    complete(prose, unfound) {
      const head = [introduction, ...ownHeadingsLowered(prose)].map(escapeSummaryTags);
      const left = maxTokens - countText(`${head.join("\n")}\n`) - SLACK;
      const forWarnings = Math.min(left, Math.max(LEAST_FOR_WARNINGS, maxTokens * WARNINGS_SHARE));
      const warnings = unfoundLines(unfound, forWarnings, countText);
      const spent = warnings.length === 0 ? 0 : countText(`${warnings.join("\n")}\n`);
      for (let room = Math.max(0, left - spent); ; room = Math.max(0, Math.floor(room * 0.9) - 1)) {
        const text = [...head, ...facts(room, prose), ...warnings].map(escapeSummaryTags).join("\n");
        if (countText(text) <= maxTokens) return text;
        if (room === 0) return escapeSummaryTags(prose);
      }
    },
  };
}

/** Heads the list of claims that the source does not support. */
export const UNFOUND_HEADING: string = `## ${HEADINGS.unfound}`;

const OWN_HEADINGS: ReadonlySet<string> = new Set(Object.values(HEADINGS).map((name) => `## ${name}`));

/** The prose of a completed summary; any other text unchanged. */
export function proseOf(summary: string): string {
  const introduction = WRITTEN.find((text) => summary.startsWith(text));
  if (introduction === undefined) return summary;
  const lines = summary.slice(introduction.length).trimStart().split("\n");
  const end = lines.findIndex((line) => OWN_HEADINGS.has(line));
  return lines.slice(0, end < 0 ? lines.length : end).join("\n");
}

// A later round finds the extracted sections by heading: prose must not imitate one.
function ownHeadingsLowered(prose: string): string[] {
  return prose.split("\n").map((line) => (OWN_HEADINGS.has(line.trimEnd()) ? `#${line}` : line));
}

const MOST = 16;
const LONGEST = 160;

/** The lines that warn of unsupported claims, in at most `room` tokens. */
function unfoundLines(
  unfound: readonly UnfoundClaim[],
  room: number,
  countText: (text: string) => number,
): string[] {
  const texts = [...new Set(unfound.map((claim) => clipLine(claim.text, LONGEST)))].slice(0, MOST);
  const lines: string[] = [];
  let left = room - countText(`${UNFOUND_HEADING}\n`);
  for (const text of texts) {
    const cost = countText(`- ${text}\n`);
    if (cost > left) break;
    left -= cost;
    lines.push(`- ${text}`);
  }
  return lines.length === 0 ? [] : [UNFOUND_HEADING, ...lines];
}
