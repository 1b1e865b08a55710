import { readArgument, requireOptions, requireText } from "../errors.ts";
import { scanMarkdown } from "./markdown.ts";

/** What a session's working state holds; every list oldest first. */
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
  /** What belongs there; stands in the template as a comment. */
  readonly note: string;
  /** Shown even when empty: what the next turn must know, or know to be unknown. */
  readonly always: boolean;
  /** Which items stay where there are too many: those at the end, unless the first ones matter most. */
  readonly keeps: "first" | "last";
}

/** The sections of SESSION.md in their order. */
export const SESSION_SECTIONS: readonly SessionSection[] = [
  { field: "title", heading: "Session Title", note: "One line.", always: true, keeps: "first" },
  {
    field: "currentState",
    heading: "Current State",
    note: "Where the work stands.",
    always: true,
    keeps: "last",
  },
  { field: "userIntent", heading: "User Intent", note: "What the user wants.", always: true, keeps: "last" },
  {
    field: "activeFiles",
    heading: "Active Files",
    note: "Files being worked on.",
    always: false,
    keeps: "last",
  },
  {
    field: "decisions",
    heading: "Decisions",
    note: "Decided in this session.",
    always: false,
    keeps: "last",
  },
  {
    field: "constraints",
    heading: "Constraints",
    note: "What must not happen.",
    always: false,
    keeps: "first",
  },
  {
    field: "errorsAndCorrections",
    heading: "Errors & Corrections",
    note: "What went wrong and what is right.",
    always: false,
    keeps: "last",
  },
  {
    field: "nextSteps",
    heading: "Next Steps",
    note: "What comes next, in order.",
    always: true,
    keeps: "first",
  },
  {
    field: "worklog",
    heading: "Worklog",
    note: "What was done, oldest first.",
    always: false,
    keeps: "last",
  },
];

export interface SessionMemoryLimits {
  /** Items of a section; 12. */
  readonly maxItems?: number;
  /** Characters of an item; 300. */
  readonly maxItemChars?: number;
  /** Characters of the title; 120. */
  readonly maxTitleChars?: number;
}

const DEFAULTS = { maxItems: 12, maxItemChars: 300, maxTitleChars: 120 };
const UNTITLED = "Untitled session";
const CLIPPED = "…";

/** A state that says nothing yet. */
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
 * The text of SESSION.md: the same for the same state, sections in fixed order, items on one line each and never
 * taken for a heading, sections over their limit cut (the rest is in the archive), empty ones of low value left out.
 */
export function renderSessionMemory(state: SessionMemoryState, limits: SessionMemoryLimits = {}): string {
  requireOptions(limits, "limits");
  return readArgument("state", "Pass a whole state, such as emptySessionMemory() gives.", () =>
    render(state, limits),
  );
}

function render(state: SessionMemoryState, limits: SessionMemoryLimits): string {
  const most = {
    items: limits.maxItems ?? DEFAULTS.maxItems,
    chars: limits.maxItemChars ?? DEFAULTS.maxItemChars,
    title: limits.maxTitleChars ?? DEFAULTS.maxTitleChars,
  };
  const title = clip(oneLine(state.title), most.title) || UNTITLED;
  const blocks = SESSION_SECTIONS.flatMap((section) => {
    if (section.field === "title") return [`# ${section.heading}\n\n${title}`];
    const items = shownItems(state[section.field], section, most);
    if (items.length === 0) return section.always ? [`# ${section.heading}\n\n<!-- ${section.note} -->`] : [];
    return [`# ${section.heading}\n\n${items.map((item) => `- ${item}`).join("\n")}`];
  });
  return `${blocks.join("\n\n")}\n`;
}

function shownItems(
  items: readonly string[],
  { keeps }: SessionSection,
  most: { readonly items: number; readonly chars: number },
): readonly string[] {
  const lines = items.map((item) => clip(oneLine(item), most.chars)).filter((item) => item !== "");
  const distinct = [...new Set(keeps === "last" ? lines.toReversed() : lines)].slice(0, most.items);
  return keeps === "last" ? distinct.toReversed() : distinct;
}

/** One line that a comment mark cannot hide. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("<!--", "&lt;!--").trim();
}

function clip(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  return `${characters
    .slice(0, Math.max(0, most - CLIPPED.length))
    .join("")
    .trimEnd()}${CLIPPED}`;
}

/** Reads SESSION.md, as rendered or as people edited it; sections that it does not know and comments are left out. */
export function parseSessionMemory(text: string): SessionMemoryState {
  requireText(text, "text", "Pass the text of SESSION.md.");
  const lists = new Map<SessionList, string[]>();
  const titles: string[] = [];
  let open: SessionSection["field"] | undefined;
  for (const line of scanMarkdown(text)) {
    if (line.level === 1) open = fieldOf(line.text);
    const item = line.level > 0 ? "" : line.text.replaceAll("&lt;!--", "<!--").trim();
    if (item === "") continue;
    if (open === "title") titles.push(item);
    else if (open !== undefined) addItem(lists, open, item);
  }
  const title = titles.find((name) => name !== UNTITLED) ?? "";
  return { ...emptySessionMemory(), ...Object.fromEntries(lists), title };
}

const BULLET = /^(?:[-*+]|\d{1,9}[.)])\s+/;

/** A line without a bullet goes on with the item before it. */
function addItem(lists: Map<SessionList, string[]>, field: SessionList, item: string): void {
  const items = lists.get(field) ?? [];
  lists.set(field, items);
  const last = items.length - 1;
  if (BULLET.test(item) || last < 0) items.push(item.replace(BULLET, ""));
  else items[last] = `${items[last]} ${item}`;
}

function fieldOf(heading: string): SessionSection["field"] | undefined {
  const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}]+/gu, "");
  const known = SESSION_SECTIONS.find((section) => plain(section.heading) === plain(heading));
  return known?.field ?? (plain(heading) === "title" ? "title" : undefined);
}
