import { HEADINGS, type HeadingKey } from "./headings.ts";
import { clipEnd, clipToTokens } from "./text.ts";

/**
 * One entry under a heading, most important first: quoted whole or clipped, an item kept or dropped, a list cut where
 * room ends; a preamble says nothing without what follows it.
 */
export type Block =
  | { readonly kind: "quote"; readonly text: string }
  | { readonly kind: "preamble"; readonly text: string }
  | { readonly kind: "item"; readonly text: string }
  | { readonly kind: "list"; readonly label: string; readonly items: readonly string[] };

export interface Section {
  readonly heading: HeadingKey;
  /** Most of the budget that it may take, 0 to 1. */
  readonly share: number;
  readonly blocks: readonly Block[];
  /** Blocks come newest first and are printed oldest first. */
  readonly oldestFirst?: boolean;
}

type Count = (text: string) => number;

const MISSES = 8;
/** An item clipped to fewer tokens says nothing. */
const LEAST_CLIPPED = 24;

/** The lines of a section in at most `room` tokens; none when not even one block fits under the heading. */
export function sectionLines(section: Section, room: number, countText: Count): string[] {
  const heading = `## ${HEADINGS[section.heading]}`;
  let left = room - countText(`${heading}\n`);
  const kept: string[][] = [];
  let misses = 0;
  for (const [position, block] of section.blocks.entries()) {
    if (left < 4 || misses >= MISSES) break;
    const lines = shownLines(block, position === 0, left, countText);
    if (lines.length === 0) {
      misses += 1;
      continue;
    }
    // A bare mark tells two quotes apart.
    kept.push(block.kind === "quote" && kept.length > 0 ? [">", ...lines] : lines);
    left -= countText(`${lines.join("\n")}\n>`);
  }
  if (kept.length <= leastBlocks(section)) return [];
  return [heading, ...(section.oldestFirst === true ? kept.reverse() : kept).flat()];
}

function leastBlocks({ blocks }: Section): number {
  return blocks[0]?.kind === "preamble" ? 1 : 0;
}

// A first item is better clipped than dropped.
function shownLines(block: Block, first: boolean, room: number, countText: Count): string[] {
  const lines = blockLines(block, room, countText);
  return lines.length > 0 || !first ? lines : clippedItem(block, room, countText);
}

function blockLines(block: Block, room: number, countText: Count): string[] {
  if (block.kind === "quote") return quoteLines(block.text, room, countText);
  if (block.kind !== "list") return countText(`- ${block.text}\n`) <= room ? [`- ${block.text}`] : [];
  return listLines(block.label, block.items, room, countText);
}

function quoteLines(text: string, room: number, countText: Count): string[] {
  const marks = Math.min(text.split("\n").length, Math.ceil(room / 4));
  for (let space = room - marks; space > 3; space = Math.floor(space * 0.8)) {
    const clipped = clipToTokens(text, space, countText);
    if (clipped === "") return [];
    const lines = clipped.split("\n").map((line) => `> ${line}`);
    if (countText(`${lines.join("\n")}\n`) <= room) return lines;
  }
  return [];
}

function listLines(label: string, items: readonly string[], room: number, countText: Count): string[] {
  let left = room - countText(`- ${label}:\n`);
  const kept: string[] = [];
  for (const item of items) {
    const cost = countText(`, ${item}`);
    if (cost > left) break;
    left -= cost;
    kept.push(item);
  }
  return kept.length === 0 ? [] : [`- ${label}: ${kept.join(", ")}`];
}

function clippedItem(block: Block, room: number, countText: Count): string[] {
  if (block.kind !== "item" || room < LEAST_CLIPPED) return [];
  for (let characters = room * 4; characters > 16; characters = Math.floor(characters * 0.8)) {
    const line = `- ${clipEnd(block.text, characters)}`;
    if (countText(`${line}\n`) <= room) return [line];
  }
  return [];
}
