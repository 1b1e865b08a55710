/** Describes an edit by the names of the code, keys and headings that it touched. */

import { clipEnd, oneLine, quotedCode } from "./text.ts";

/** Consecutive lines of a file, before and after. */
export interface Hunk {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The changes of a patch to one file. */
export interface FilePatch {
  readonly path: string;
  readonly effect: "edited" | "created" | "deleted";
  movedTo: string | undefined;
  readonly hunks: { readonly before: string[]; readonly after: string[] }[];
}

const LONGEST = 240;
const MOST_NAMES = 8;
const READ_OF_LINE = 300;
const QUOTED = 90;

/**
 * The change in words, such as `renamed parse() to read(); added class Cache`; empty if nothing can be named.
 */
export function describeChange(path: string, hunks: readonly Hunk[]): string {
  const rules = rulesFor(path);
  const old = sideOf(
    hunks.map(({ before, after }) => [before, after]),
    rules,
  );
  const now = sideOf(
    hunks.map(({ before, after }) => [after, before]),
    rules,
  );
  const changed = new Set([...old.touched, ...now.touched]);
  for (const label of old.defined.keys()) if (now.defined.has(label)) changed.add(label);
  for (const label of changed) {
    old.defined.delete(label);
    now.defined.delete(label);
  }
  const renamed = takeRenames(old.defined, now.defined);
  const small = smallChange(old.lines, now.lines);
  const named = [...changed].filter((label) => !renamed.some((phrase) => phrase.endsWith(` ${label}`)));
  const detail = small !== "" && named.length === 1 ? `: ${small}` : "";
  const phrases = [
    listed("renamed", renamed),
    listed("added", [...now.defined.keys()]),
    listed("removed", [...old.defined.keys()]),
    `${listed("changed", named)}${detail}`,
  ].filter((phrase) => phrase !== "");
  return clipEnd(phrases.join("; ") || small || firstLineOf(old.lines, now.lines), LONGEST);
}

/** Lines present after an edit and not before, trimmed. */
export function addedLines(hunks: readonly Hunk[]): string[] {
  return hunks.flatMap(({ before, after }) => {
    const known = new Set(before.map((line) => line.trim()));
    return after.map((line) => line.trim()).filter((line) => line !== "" && !known.has(line));
  });
}

/** The names that a new file defines at top level, or its headings. */
export function describeContent(path: string, content: string): string {
  const lines = content.split("\n");
  const owned = ownersOf(lines, rulesFor(path));
  const names = new Set(owned.flatMap(({ own, owner }) => (owner === undefined ? (own?.label ?? []) : [])));
  if (names.size > 0) return clipEnd(listed("", [...names]), LONGEST);
  const telling = lines.find((line) => SAYS_SOMETHING.test(line.slice(0, READ_OF_LINE)));
  const first = (telling ?? lines.find((line) => line.trim() !== "") ?? "").trim();
  return first.length > 0 && first.length <= QUOTED ? quoted(first) : "";
}

function listed(verb: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const rest = names.length - MOST_NAMES;
  const more = rest > 0 ? ` and ${rest} more` : "";
  return `${verb} ${names.slice(0, MOST_NAMES).join(", ")}${more}`.trim();
}

// ---- definitions, by language

interface Definition {
  /** The name as displayed: `parse()`, `class Cache`, `test "reads"`. */
  readonly label: string;
  readonly name: string;
  readonly line: string;
}

/** A line that defines a name, its last group that matched, and how that is told. */
interface Rule {
  readonly line: RegExp;
  readonly told: (name: string, keyword: string) => string;
}

const ruleTold =
  (told: Rule["told"]) =>
  (line: RegExp): Rule => ({ line, told });
const called = ruleTold((name) => `${name}()`);
const bare = ruleTold((name) => name);
const withKeyword = ruleTold((name, keyword) => `${keyword} ${name}`);
const asTest = ruleTold((name) => `test "${name}"`);
const asHeading = ruleTold((name) => `heading "${name.trim()}"`);
const asTarget = ruleTold((name) => `target ${name}`);

const MODIFIER =
  "(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|sealed|data|open|partial|pub|inline|readonly|async|override|virtual|unsafe|extern|suspend|fileprivate)\\s{1,4}|pub\\([a-z:]{1,20}\\)\\s){0,6}";

const CONTAINER = withKeyword(
  new RegExp(
    `^${MODIFIER}(class|interface|enum|struct|trait|protocol|record|namespace|module|extension|object|union|mod|impl)\\s{1,4}([A-Za-z_$][\\w$.:]{0,80})`,
  ),
);
const TYPE = withKeyword(new RegExp(`^${MODIFIER}(type)\\s{1,4}([A-Za-z_]\\w{0,80})\\b(?=[\\s<=])`));
const FUNCTION = called(
  new RegExp(
    `^${MODIFIER}(?:function\\s?\\*?|fn|fun|func|def|sub|const fn)\\s{1,4}(?:\\([^()]{0,80}\\)\\s?)?(?:self\\.)?([\\w$?!]{1,80})`,
  ),
);
const ARROW = called(
  /^(?:export\s)?(?:const|let|var)\s([\w$]{1,80})(?:\s?:[^=]{0,120})?\s?=\s?(?:async\s)?(?:function\b|\([^()]{0,160}\)[^=]{0,60}=>|\($|[\w$]{1,60}\s?=>)/,
);
const METHOD = called(
  /^(?!(?:return|await|else|throw|new|if|for|while|switch|catch|do|try|with|elseif|using|lock|foreach|super|case)\b)(?:[\w$<>[\],.?*&:@]{1,60}\s){0,6}[*&#]{0,2}(?!(?:if|for|while|switch|catch|function|func|match|describe|it|test)\b)([A-Za-z_$~][\w$:~]{0,80})(?:<[^<>]{0,60}>)?\((?!["'`])(?![^;]{0,250}(?:=>|function))[^;]{0,250}\{$/,
);
const C_FUNCTION = called(
  /^(?!(?:return|else|throw|new|if|for|while|switch|case|typedef|using)\b)(?:[\w<>,*&:]{1,60}\s[*&]{0,2}){1,5}([A-Za-z_~][\w:~]{0,80})\([^;={}]{0,200}\)$/,
);
const SCRIPT_TEST = asTest(
  /^(?:describe|it|test|suite|context|t\.Run)(?:\.\w{1,20})?\(\s?["'`]([^"'`]{1,100})["'`]/,
);
const VALUE = bare(/^(?:export\s)?(?:const|let|var)\s([\w$]{1,80})/);
const UPPER_CONSTANT = bare(
  /^(?:[\w<>[\]]{1,40}\s){0,6}([A-Z][A-Z0-9_]{2,60})(?:\s?:\s?[^=]{1,60})?\s?=(?!=)/,
);
const HEADING = asHeading(/^#{1,6}\s{1,4}([^#\s].{0,80})/);
const KEY = bare(/^(?:-\s)?["']?([\w.$@/-]{1,80})["']?\s{0,8}[:=](?=\s|$|["'[{\d]|true|false)/);
const SECTION = bare(/^\[{1,2}(["\w.:\s-]{1,80})\]{1,2}\s{0,4}$/);
const SHELL_FUNCTION = called(/^(?:function\s)?([A-Za-z_][\w-]{0,80})\s?\(\)/);
const SQL = withKeyword(
  /^create\s(?:or\sreplace\s|unique\s|temp\s|temporary\s|materialized\s){0,3}(table|view|index|function|procedure|trigger|type|schema)\s(?:if\snot\sexists\s)?(["\w.`]{1,80})/i,
);
const SQL_COLUMN = withKeyword(
  /^(?:alter\stable\s["\w.`]{1,80}\s)?add\s(column)\s(?:if\snot\sexists\s)?(["\w`]{1,80})/i,
);
const MAKE_TARGET = asTarget(/^([\w./-]{1,60})\s?:(?!=)/);
const STYLE = bare(/^([.#@:]?[A-Za-z][\w\s.:#,>()-]{0,60}?)\s?\{$/);

const KEYS: readonly Rule[] = [SECTION, KEY];
const CODE: readonly Rule[] = [CONTAINER, TYPE, FUNCTION, ARROW, SCRIPT_TEST, METHOD, UPPER_CONSTANT];

interface Language {
  readonly rules: readonly Rule[];
  /** Rules that apply only at the beginning of a line. */
  readonly outermost: readonly Rule[];
  /** A heading owns all lines up to the next one, regardless of indentation. */
  readonly flat: boolean;
  readonly comment: RegExp;
}

const HASH = /^#/;
const SLASHES = /^(?:\/\/|\/\*|\*)/;
const NEVER = /^(?!)/;

function language(rules: readonly Rule[], comment: RegExp, outermost: readonly Rule[] = []): Language {
  return { rules, outermost, comment, flat: rules.includes(HEADING) };
}

const LANGUAGES: readonly (readonly [extension: RegExp, language: Language])[] = [
  [/\.(?:[cm]?[jt]sx?|vue|svelte|astro|go|rs|zig)$/i, language(CODE, SLASHES, [VALUE])],
  [/\.(?:pyi?|rb|ex|exs|jl)$/i, language(CODE, HASH)],
  [
    /\.(?:java|kts?|cs|c|h|cc|cpp|cxx|hpp|hh|mm?|swift|php|scala|dart|groovy|gradle)$/i,
    language([...CODE, C_FUNCTION], SLASHES),
  ],
  [/\.(?:md|mdx|markdown|rst|adoc)$/i, language([HEADING], NEVER)],
  [/\.(?:ya?ml|toml|ini|cfg|conf|env|properties)$|(?:^|\/)\.env[\w.]{0,20}$/i, language(KEYS, /^[#;]/)],
  [/\.(?:jsonc?|json5)$/i, language([KEY], SLASHES)],
  [/\.(?:sh|bash|zsh|fish)$/i, language([SHELL_FUNCTION], HASH, [UPPER_CONSTANT])],
  [/\.sql$/i, language([SQL, SQL_COLUMN], /^--/)],
  [/\.(?:css|scss|less)$/i, language([STYLE], SLASHES)],
  [/(?:^|\/)(?:GNU)?makefile$|\.mk$/i, language([], HASH, [MAKE_TARGET])],
];
const PLAIN = language([], NEVER);

function rulesFor(path: string): Language {
  return LANGUAGES.find(([extension]) => extension.test(path.slice(-200)))?.[1] ?? PLAIN;
}

function definitionIn(line: string, language: Language): Definition | undefined {
  const text = line.trim().slice(0, READ_OF_LINE).trimEnd();
  if (text === "" || language.comment.test(text)) return undefined;
  const outer = /^\s/.test(line) ? [] : language.outermost;
  for (const { told, line: pattern } of [...language.rules, ...outer]) {
    const [, first, second] = pattern.exec(text) ?? [];
    const name = second ?? first;
    if (name !== undefined) return { label: told(name, first ?? ""), name, line: text };
  }
  return undefined;
}

// ---- changed lines and their context

interface Owned {
  /** The definition on the line itself. */
  readonly own?: Definition | undefined;
  /** The innermost definition that contains the line. */
  readonly owner?: Definition | undefined;
}

/** Delimiters of multi-line strings and code blocks. */
const QUOTES = /`|"""|'''/g;
const FENCES = /^\s{0,3}(?:```|~~~)/g;

/** For each line whether it stands in such a string or block; none where a hunk begins or ends within one. */
function quotedLines(lines: readonly string[], { flat, comment }: Language): boolean[] {
  let open = false;
  const quoted = lines.map((line) => {
    const within = open;
    const marks = comment.test(line.trim()) ? [] : (line.match(flat ? FENCES : QUOTES) ?? []);
    if (marks.length % 2 === 1) open = !open;
    return within;
  });
  return open ? [] : quoted;
}

/** Definition and owner of each line, none on quoted ones; a definition owns the lines after it that are indented deeper. */
function ownersOf(lines: readonly string[], language: Language): Owned[] {
  const open: { readonly indent: number; readonly definition: Definition }[] = [];
  const quoted = quotedLines(lines, language);
  return lines.map((line, index) => {
    if (line.trim() === "" || quoted[index] === true) return { owner: open.at(-1)?.definition };
    const own = definitionIn(line, language);
    const indent = language.flat && own === undefined ? 1 : line.search(/\S/);
    while (!/^\s*[){]/.test(line) && (open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const owner = open.at(-1)?.definition;
    if (own !== undefined) open.push({ indent, definition: own });
    return { own, owner };
  });
}

/** One side of an edit's hunks. */
interface Side {
  /** Definitions on changed lines, except those inside another changed one. */
  readonly defined: Map<string, Definition>;
  /** Remaining definitions with changes inside. */
  readonly touched: Set<string>;
  /** Lines missing on the other side. */
  readonly lines: string[];
}

function sideOf(
  pairs: readonly (readonly [lines: readonly string[], others: readonly string[]])[],
  language: Language,
): Side {
  const side: Side = { defined: new Map(), touched: new Set(), lines: [] };
  for (const [lines, others] of pairs) {
    const owned = ownersOf(lines, language);
    const fresh = new Set<Definition | undefined>();
    for (const index of onlyIn(lines, others)) {
      const { own, owner }: Owned = owned[index] ?? {};
      side.lines.push((lines[index] ?? "").trim());
      const inside = owner !== undefined && fresh.has(owner);
      fresh.add(own);
      if (own !== undefined && !inside) side.defined.set(own.label, own);
      else if (owner !== undefined && !inside && own === undefined) side.touched.add(owner.label);
    }
  }
  return side;
}

const MARKS_ONLY = /^[\s{}()[\];,]*$/;

/** Indexes of lines that the other side has not as often, indentation aside. */
function onlyIn(lines: readonly string[], others: readonly string[]): Set<number> {
  const left = new Map<string, number>();
  for (const line of others) left.set(line.trim(), (left.get(line.trim()) ?? 0) + 1);
  const only = new Set<number>();
  lines.forEach((line, index) => {
    const text = line.trim();
    const count = left.get(text) ?? 0;
    if (count > 0) left.set(text, count - 1);
    else if (!MARKS_ONLY.test(text.slice(0, READ_OF_LINE))) only.add(index);
  });
  return only;
}

// ---- renames, and changes without a name

/** Pairs whose lines differ only in the name; removed from both maps. */
function takeRenames(removed: Map<string, Definition>, added: Map<string, Definition>): string[] {
  const shapes = new Map([...added.values()].map((definition) => [shapeOf(definition), definition]));
  const renames: string[] = [];
  for (const old of [...removed.values()]) {
    const now = shapes.get(shapeOf(old));
    if (now === undefined || !added.has(now.label)) continue;
    removed.delete(old.label);
    added.delete(now.label);
    renames.push(`${old.label} to ${now.label}`);
  }
  return renames;
}

function shapeOf({ line, name }: Definition): string {
  return line.replace(name, () => "\u0000");
}

/** One line replaced, added or removed, quoted. */
function smallChange(gone: readonly string[], fresh: readonly string[]): string {
  if (gone.length > 1 || fresh.length > 1) return "";
  const [whole = "", other = ""] = [gone[0], fresh[0]];
  const short = (whole.length <= 60 && other.length <= 60) || whole === "" || other === "";
  const [old, now] = short ? [whole, other] : differingWords(whole, other);
  if (old === now || old.length > QUOTED || now.length > QUOTED) return "";
  if (old === "") return `added ${quoted(now)}`;
  return now === "" ? `removed ${quoted(old)}` : `${quoted(old)} → ${quoted(now)}`;
}

/** Two lines without their common first and last words. */
function differingWords(old: string, now: string): [string, string] {
  const [a, b] = [old.split(/\s+/), now.split(/\s+/)];
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  return [a.slice(start, a.length - end).join(" "), b.slice(start, b.length - end).join(" ")];
}

/** Two words of letters: no lone bracket, tag or string. */
const SAYS_SOMETHING = /[\p{L}_]{2,}[^\p{L}_]{1,40}[\p{L}_]{2,}/u;
const IMPORT = /^(?:import|from|use|using|require|include|#include|package)\b/;

/** The first new line that says something, with the number of the others. */
function firstLineOf(gone: readonly string[], fresh: readonly string[]): string {
  const [lines, verb] = fresh.length > 0 ? [fresh, "added"] : [gone, "removed"];
  const short = lines.filter((text) => text.length <= QUOTED);
  const line = short.find((text) => SAYS_SOMETHING.test(text) && !IMPORT.test(text)) ?? short[0];
  if (line === undefined) return "";
  const rest = lines.length - 1;
  const more = rest > 0 ? ` and ${rest} more line${rest > 1 ? "s" : ""}` : "";
  return `${verb} ${quoted(line)}${more}`;
}

function quoted(text: string): string {
  return quotedCode(oneLine(text));
}

// ---- patches and search blocks

const PATCH_FILE = /^\*\*\* (Update|Add|Delete) File: (.{1,400})$/;
const MOVE = /^\*\*\* Move to: (.{1,400})$/;
const DIFF_OLD = /^--- (?:a\/)?([^\t]{1,400})/;
const DIFF_NEW = /^\+\+\+ (?:b\/)?([^\t]{1,400})/;
const HUNK = /^@@(?: -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@)?[ \t]?(.{0,200})/;
const EFFECTS = { Update: "edited", Add: "created", Delete: "deleted" } as const;

/** The files of a patch, in Codex format (`*** Update File: …`) or as a unified diff. */
export function readPatch(text: string): FilePatch[] {
  const files: FilePatch[] = [];
  const lines = text.split(/\r?\n/);
  lines.forEach((line, index) => {
    const opened = openFile(line, lines[index + 1] ?? "");
    if (opened !== undefined) files.push(opened);
    else readPatchLine(line, files.at(-1));
  });
  return files;
}

function openFile(line: string, next: string): FilePatch | undefined {
  const [, verb, path = ""] = PATCH_FILE.exec(line) ?? [];
  if (verb !== undefined) {
    const effect = EFFECTS[verb as keyof typeof EFFECTS];
    return { path: path.trim(), effect, movedTo: undefined, hunks: [] };
  }
  const old = DIFF_OLD.exec(line)?.[1]?.trim();
  const now = DIFF_NEW.exec(next)?.[1]?.trim();
  if (old === undefined || now === undefined) return undefined;
  const effect = old === "/dev/null" ? "created" : now === "/dev/null" ? "deleted" : "edited";
  return { path: effect === "deleted" ? old : now, effect, movedTo: undefined, hunks: [] };
}

function readPatchLine(line: string, file: FilePatch | undefined): void {
  if (file === undefined || line.startsWith("+++ ")) return;
  if (line.startsWith("*** ")) {
    file.movedTo ??= MOVE.exec(line)?.[1]?.trim();
    return;
  }
  const above = HUNK.exec(line)?.[1]?.trim();
  if (above !== undefined) {
    // What the header names stands above the hunk, outside of it.
    const context = above === "" ? [] : [above];
    file.hunks.push({ before: [...context], after: [...context] });
    return;
  }
  if (file.hunks.length === 0) file.hunks.push({ before: [], after: [] });
  const hunk = file.hunks.at(-1);
  if (!line.startsWith("+")) hunk?.before.push(line.slice(1));
  if (!line.startsWith("-")) hunk?.after.push(line.slice(1));
}

/** The pairs of `<<<<<<< SEARCH … ======= … >>>>>>> REPLACE` blocks. */
export function readSearchBlocks(text: string): Hunk[] {
  const hunks: { before: string[]; after: string[] }[] = [];
  let side: "before" | "after" | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^(?:<{5,9}|-{5,9}) ?SEARCH/.test(line)) {
      hunks.push({ before: [], after: [] });
      side = "before";
    } else if (side === "before" && /^={5,9}\s*$/.test(line)) side = "after";
    else if (/^(?:>{5,9}|\+{5,9}) ?REPLACE/.test(line)) side = undefined;
    else if (side !== undefined && !/^:(?:start|end)_line:|^-{5,9}$/.test(line))
      hunks.at(-1)?.[side].push(line);
  }
  return hunks;
}
