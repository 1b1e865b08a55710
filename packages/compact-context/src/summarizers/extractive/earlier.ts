import { isDirective } from "./directives.ts";
import {
  HEADINGS,
  type HeadingKey,
  INTRODUCTION,
  LEDGER_HEADINGS,
  NOT_ALL,
  REPEATED,
  SHORT_INTRODUCTION,
  SHORT_WRITTEN_INTRODUCTION,
  WISH,
  WRITTEN_INTRODUCTION,
} from "./headings.ts";
import type { CommandEntry, ErrorEntry, FileEntry } from "./ledger.ts";
import { clipEnd, oneLine } from "./text.ts";
import type { Todo } from "./todos.ts";

/** The summary so far, taken apart. */
export interface Earlier {
  readonly request: readonly string[];
  readonly answered: boolean;
  readonly firstRequest: string | undefined;
  readonly constraints: readonly string[];
  /** Some of the user's rules had no room in it. */
  readonly rulesLeftOut: boolean;
  readonly inheritedRules: readonly string[];
  readonly todos: readonly Todo[];
  readonly decisions: readonly string[];
  readonly files: readonly FileEntry[];
  readonly commands: readonly CommandEntry[];
  readonly errors: readonly ErrorEntry[];
  /** `label: a, b` lines. */
  readonly identifiers: readonly string[];
  /** Rows of the sections that one strategy alone prints, by heading. */
  readonly rows: ReadonlyMap<HeadingKey, readonly string[]>;
  /** What is no section of ours: prose of another summarizer, and the telling lines of the last round. */
  readonly prose: readonly string[];
}

const KEY_OF: ReadonlyMap<string, HeadingKey> = new Map(
  [...Object.entries(HEADINGS), ...Object.entries(LEDGER_HEADINGS)].map(([key, heading]) => [
    heading,
    key as HeadingKey,
  ]),
);
const INTRODUCTIONS = [INTRODUCTION, SHORT_INTRODUCTION, WRITTEN_INTRODUCTION, SHORT_WRITTEN_INTRODUCTION];
const ROW_SECTIONS: readonly HeadingKey[] = ["decisionLog", "codeDelta", "steps", "requirements"];
const RULE_HEADING = /constraint|preference|rule|instruction|guideline|must/i;
const FOREIGN_HEADING = /^(?:#{1,6}\s+(.+)|\*\*([^*]{2,80})\*\*:?|([A-Z][\w ,/&-]{2,60}):)\s*$/;

/** Reads a summary of ours section by section; of any other text, rules are told from prose by their headings and wording. */
export function readEarlier(text: string): Earlier {
  const own = INTRODUCTIONS.some((introduction) => text.startsWith(introduction));
  return own ? readOwn(text) : readForeign(text);
}

function readOwn(text: string): Earlier {
  const sections = new Map<HeadingKey, string[]>();
  const prose: string[] = [];
  let current = prose;
  for (const line of text.split("\n").slice(1)) {
    if (!line.startsWith("## ")) {
      current.push(line);
      continue;
    }
    const key = KEY_OF.get(line.slice(3)) ?? "timeline";
    current = key === "timeline" ? prose : [];
    if (key !== "timeline") sections.set(key, current);
  }
  return ownSections(
    sections,
    prose.filter((line) => !line.startsWith(WISH) && line !== REPEATED),
  );
}

function ownSections(sections: ReadonlyMap<HeadingKey, string[]>, prose: readonly string[]): Earlier {
  const items = (key: HeadingKey): string[] =>
    (sections.get(key) ?? []).filter((line) => line.startsWith("- ")).map((line) => line.slice(2));
  const request = quotes(sections.get("request") ?? sections.get("answered"));
  return {
    request,
    answered: sections.has("answered"),
    firstRequest: quotes(sections.get("firstRequest"))[0],
    constraints: items("constraints"),
    rulesLeftOut: sections.get("constraints")?.includes(NOT_ALL) === true,
    inheritedRules: items("inheritedRules"),
    todos: items("todos").map(readTodo),
    decisions: items("decisions"),
    files: readFiles(items("files")),
    commands: items("commands").flatMap(readCommand),
    errors: items("errors").map(readError),
    identifiers: items("identifiers"),
    rows: new Map(ROW_SECTIONS.map((key) => [key, items(key)])),
    prose,
  };
}

// Quoted texts are separated by a bare `>`; a blank line inside one is `> `.
function quotes(lines: readonly string[] | undefined): string[] {
  const found: string[][] = [[]];
  for (const line of lines ?? []) {
    if (line === ">") found.push([]);
    else if (line.startsWith("> ")) found.at(-1)?.push(line.slice(2));
  }
  return found.map((quote) => quote.join("\n")).filter((quote) => quote !== "");
}

function readTodo(item: string): Todo {
  const match = /^\[([^\]]{0,40})\] (.+)$/.exec(item);
  return match === null ? { text: item, status: "" } : { text: match[2] ?? "", status: match[1] ?? "" };
}

function readFiles(items: readonly string[]): FileEntry[] {
  const pairs = items.map((item) => cut(item, ": "));
  const root = pairs.find(([label]) => label === "root")?.[1] ?? "";
  return pairs.flatMap(([effect, rest]) => {
    if (effect !== "edited" && effect !== "created" && effect !== "deleted" && effect !== "read") return [];
    return rest.split(", ").map((path) => ({ path: path.startsWith("/") ? path : `${root}${path}`, effect }));
  });
}

function readCommand(item: string): CommandEntry[] {
  const at = item.lastIndexOf("` -> ");
  return item.startsWith("`") && at > 0 ? [{ command: item.slice(1, at), outcome: item.slice(at + 5) }] : [];
}

const PASSED = "; passed later";

function readError(item: string): ErrorEntry {
  const at = item.lastIndexOf(" (from `");
  if (at < 0) return { text: item, from: "", resolved: false };
  const tail = item.slice(at + 8);
  const end = tail.lastIndexOf("`");
  return {
    text: item.slice(0, at),
    from: tail.slice(0, Math.max(0, end)),
    resolved: tail.includes(PASSED, end),
  };
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

function readForeign(text: string): Earlier {
  const prose: string[] = [];
  const rules: string[] = [];
  let underRules = false;
  for (const line of text.split("\n")) {
    const heading = FOREIGN_HEADING.exec(line.trim().slice(0, 200));
    if (heading !== null) underRules = RULE_HEADING.test(heading[1] ?? heading[2] ?? heading[3] ?? "");
    else if (underRules && /^\s{0,8}(?:[-*]|\d{1,3}[.)])\s/.test(line) && isDirective(line)) {
      rules.push(clipEnd(oneLine(line.replace(/^\s{0,8}(?:[-*]|\d{1,3}[.)])\s+/, "")), 300));
    } else prose.push(line);
  }
  return { ...ownSections(new Map(), prose), inheritedRules: rules };
}
