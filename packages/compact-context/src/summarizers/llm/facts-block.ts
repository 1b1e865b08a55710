import type { Message } from "../../core/message.ts";
import type { SummaryStrategy } from "../../core/ports.ts";
import { HEADINGS, type HeadingKey, LEDGER_HEADINGS } from "../extractive/headings.ts";
import { workedWith } from "../extractive/identifiers.ts";
import { type Section, sectionLines } from "../extractive/section.ts";
import { buildSection } from "../extractive/sections.ts";
import { readState } from "../extractive/state.ts";
import { readSurroundings } from "../extractive/surroundings.ts";

/** What a program found in the messages and the summary so far, to stand beside a model's prose. */
export interface FactsBlock {
  /** Sections in at most `room` tokens, the most important first; empty where there is nothing to tell. */
  lines(room: number): string[];
}

type Count = (text: string) => number;

/** Sections in order of importance, each with its share of the room for all of them. */
const SECTIONS: readonly (readonly [HeadingKey, number])[] = [
  ["constraints", 0.22],
  ["request", 0.25],
  ["errors", 0.1],
  ["todos", 0.1],
  ["files", 0.14],
  ["commands", 0.1],
  ["firstRequest", 0.08],
  ["inheritedRules", 0.06],
  ["identifiers", 0.05],
];
const BRIEF: ReadonlySet<HeadingKey> = new Set(["request", "constraints", "inheritedRules"]);
const REQUESTS: ReadonlySet<HeadingKey> = new Set(["request", "firstRequest"]);
const MOST_ROUNDS = 3;

/** Reads the facts once; cheap to lay out again for another room. */
export function factsBlock(
  messages: readonly Message[],
  previous: string | undefined,
  {
    strategy,
    requests,
    countText,
  }: { readonly strategy: SummaryStrategy; readonly requests: boolean; readonly countText: Count },
): FactsBlock {
  const state = readState(readSurroundings(messages, undefined), previous);
  const identifiers = workedWith(state.conversation, [], state.identifiers);
  const sections = SECTIONS.filter(([heading]) => strategy !== "brief" || BRIEF.has(heading))
    .filter(([heading]) => requests || !REQUESTS.has(heading))
    .map(([heading, share]) => buildSection(heading, share, state, identifiers))
    .filter((section) => section.blocks.length > 0);
  return { lines: (room) => layOut(sections, room, countText) };
}

interface Laid {
  readonly lines: readonly string[];
  readonly tokens: number;
  readonly room: number;
}

const NOTHING: Laid = { lines: [], tokens: 0, room: 0 };

/** Every section gets its share; what some leave over goes to those that need more, half of it to each in turn. */
function layOut(sections: readonly Section[], room: number, countText: Count): string[] {
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

function layOne(section: Section, room: number, countText: Count): Laid {
  const lines = shown(sectionLines(section, room, countText));
  return { lines, tokens: lines.length === 0 ? 0 : countText(`${lines.join("\n")}\n`), room };
}

const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(LEDGER_HEADINGS).map(([key, name]) => [`## ${HEADINGS[key as HeadingKey]}`, `## ${name}`]),
);

function shown(lines: string[]): string[] {
  const [heading, ...rest] = lines;
  return heading === undefined ? [] : [NAMES.get(heading) ?? heading, ...rest];
}
