import { readArgument, requireText } from "../errors.ts";
import { clipLine } from "../summarizers/extractive/text.ts";
import { scanMarkdown } from "./markdown.ts";

/** A session's working state; every list is oldest first. */
export interface SessionMemoryState {
  readonly title: string;
  readonly currentState: readonly string[];
  readonly userIntent: readonly string[];
  readonly activeFiles: readonly string[];
  readonly decisions: readonly string[];
  readonly constraints: readonly string[];
  readonly errorsAndCorrections: readonly string[];
  readonly nextSteps: readonly string[];
  readonly worklog: readonly string[];
}

/** The lists of a state. */
export type SessionList = Exclude<keyof SessionMemoryState, "title">;

interface SessionSection {
  readonly field: keyof SessionMemoryState;
  readonly heading: string;
  /** What belongs there; a comment in the template. */
  readonly note: string;
  /** Shown even if empty: the next turn needs to know it, or that it is unknown. */
  readonly always: boolean;
  /** Which items stay if there are too many: the last ones, or the first if those matter most. */
  readonly keeps: "first" | "last";
}

/** The sections of SESSION.md, in order. */
export const SESSION_SECTIONS: readonly SessionSection[] = (
  [
    ["title", "Session Title", "One line.", true, "first"],
    ["currentState", "Current State", "Where the work stands.", true, "last"],
    ["userIntent", "User Intent", "What the user wants.", true, "last"],
    ["activeFiles", "Active Files", "Files being worked on.", false, "last"],
    ["decisions", "Decisions", "Decided in this session.", false, "last"],
    ["constraints", "Constraints", "What must not happen.", false, "first"],
    ["errorsAndCorrections", "Errors & Corrections", "What went wrong and what is right.", false, "last"],
    ["nextSteps", "Next Steps", "What comes next, in order.", true, "first"],
    ["worklog", "Worklog", "What was done, oldest first.", false, "last"],
  ] as const
).map(([field, heading, note, always, keeps]) => ({ field, heading, note, always, keeps }));

const MOST_ITEMS = 12;
const LONGEST_ITEM = 300;
const LONGEST_TITLE = 120;
const UNTITLED = "Untitled session";

/** An empty state. */
export function emptySessionMemory(): SessionMemoryState {
  return {
    title: "",
    currentState: [],
    userIntent: [],
    activeFiles: [],
    decisions: [],
    constraints: [],
    errorsAndCorrections: [],
    nextSteps: [],
    worklog: [],
  };
}

/**
 * The text of SESSION.md. Deterministic: sections in fixed order, one line per item, no item that could be
 * read as a heading. Long sections are truncated (the archive has the rest), and empty ones of low value are
 * omitted.
 */
export function renderSessionMemory(state: SessionMemoryState): string {
  return readArgument("state", "Pass a whole state, such as emptySessionMemory() gives.", () => {
    const title = shownLine(state.title, LONGEST_TITLE) || UNTITLED;
    const blocks = SESSION_SECTIONS.flatMap((section) => {
      if (section.field === "title") return [`# ${section.heading}\n\n${title}`];
      const items = shownItems(state[section.field], section);
      if (items.length === 0 && !section.always) return [];
      const shown = items.map((item) => `- ${item}`).join("\n");
      return [`# ${section.heading}\n\n${shown || `<!-- ${section.note} -->`}`];
    });
    return `${blocks.join("\n\n")}\n`;
  });
}

function shownItems(items: readonly string[], { keeps }: SessionSection): readonly string[] {
  const lines = items.map((item) => shownLine(item, LONGEST_ITEM)).filter((item) => item !== "");
  const distinct = [...new Set(keeps === "last" ? lines.toReversed() : lines)].slice(0, MOST_ITEMS);
  return keeps === "last" ? distinct.toReversed() : distinct;
}

/** One line that cannot open a comment. */
function shownLine(text: string, most: number): string {
  return clipLine(text.replaceAll("<!--", "&lt;!--"), most);
}

/** Parses SESSION.md as rendered or as edited by people; unknown sections and comments are ignored. */
export function parseSessionMemory(text: string): SessionMemoryState {
  requireText(text, "text", "Pass the text of SESSION.md.");
  const lists: Partial<Record<SessionList, string[]>> = {};
  const titles: string[] = [];
  let open: SessionSection["field"] | undefined;
  for (const line of scanMarkdown(text)) {
    if (line.level === 1) open = fieldOf(line.text);
    const item = line.level > 0 ? "" : line.text.replaceAll("&lt;!--", "<!--").trim();
    if (item === "") continue;
    if (open === "title") titles.push(item);
    else if (open !== undefined) {
      const items = lists[open] ?? [];
      lists[open] = items;
      addItem(items, item);
    }
  }
  const title = titles.find((name) => name !== UNTITLED) ?? "";
  return { ...emptySessionMemory(), ...lists, title };
}

const BULLET = /^(?:[-*+]|\d{1,9}[.)])\s+/;

/** A line without a bullet continues the item before it. */
function addItem(items: string[], item: string): void {
  const last = items.length - 1;
  if (BULLET.test(item) || last < 0) items.push(item.replace(BULLET, ""));
  else items[last] = `${items[last]} ${item}`;
}

/** The field of a heading, in any spelling of case and punctuation. */
export function fieldOf(heading: string): SessionSection["field"] | undefined {
  const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}]+/gu, "");
  const known = SESSION_SECTIONS.find((section) => plain(section.heading) === plain(heading));
  return known?.field ?? (plain(heading) === "title" ? "title" : undefined);
}
