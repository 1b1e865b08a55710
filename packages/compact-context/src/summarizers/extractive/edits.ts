/** Describes an edit by the names of the code, keys and headings that it touched. */

import { clipEnd, oneLine, quotedCode } from "./text.ts";

/** Consecutive lines of a file, before and after. */
export interface Hunk {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface FileChange {
  readonly path: string;
  readonly effect: "read" | "edited" | "created" | "rewritten" | "deleted";
  /** The change in words: `renamed parse() to read(); added class Cache`; empty if nothing can be named. */
  readonly what: string;
  /** Added lines, trimmed; those of a new file are covered by `what`. */
  readonly added: readonly string[];
}

interface ToldChange extends Pick<FileChange, "path" | "effect"> {
  readonly what: readonly string[];
}

export function changeWords({ path, effect, what }: ToldChange): string {
  const verb = effect === "edited" ? "" : ` (${effect})`;
  const told = what.filter((words) => words !== "");
  return `${path}${verb}${told.length === 0 ? "" : `: ${told.join("; ")}`}`;
}

export function untold(path: string, effect: FileChange["effect"]): FileChange {
  return { path, effect, what: "", added: [] };
}

/** An edit of a file, told by the names that it touched. */
export function edited(path: string, hunks: readonly Hunk[]): FileChange {
  return { path, effect: "edited", what: describeChange(path, hunks), added: hunks.flatMap(addedLines) };
}

/** A new file, told by the names that it defines at top level, or by its headings. */
export function created(path: string, content: string | undefined): FileChange {
  return { ...untold(path, "created"), what: content === undefined ? "" : describeContent(path, content) };
}

const LONGEST = 240;
const MOST_NAMES = 8;
const READ_OF_LINE = 300;
const QUOTED = 90;

function describeChange(path: string, hunks: readonly Hunk[]): string {
  const rules = rulesFor(path);
  const old = sideOf(hunks, "before", "after", rules);
  const now = sideOf(hunks, "after", "before", rules);
  const kept = [...old.defined.keys()].filter((label) => now.defined.has(label));
  const changed = new Set([...old.touched, ...now.touched, ...kept]);
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
function addedLines({ before, after }: Hunk): string[] {
  const known = new Set(before.map((line) => line.trim()));
  return after.map((line) => line.trim()).filter((line) => line !== "" && !known.has(line));
}

/** The names that code defines, outermost ones only; empty for files that are no code, or whose values say more. */
export function namesIn(path: string, content: string): string {
  if (!rulesFor(path).rules.includes(CODE[0] as Rule)) return "";
  const names = namesOf(path, content.split("\n"));
  return names.split(", ").every((name) => CONSTANT.test(name)) ? "" : names;
}

function namesOf(path: string, lines: readonly string[]): string {
  const language = rulesFor(path);
  const quoted = quotedLines(lines, language);
  const names = new Set<string>();
  /** Indentation of the definition that holds the line. */
  let outer: number | undefined;
  lines.forEach((line, index) => {
    const indent = line.search(/\S/);
    if (indent < 0 || quoted[index] === true) return;
    if (outer !== undefined && (indent > outer || /^\s*[){]/.test(line))) return;
    const own = definitionIn(line, language);
    outer = own === undefined ? undefined : indent;
    if (own !== undefined) names.add(own.label);
  });
  return clipEnd(listed("", [...names]), LONGEST);
}

function describeContent(path: string, content: string): string {
  const lines = content.split("\n");
  const names = namesOf(path, lines);
  if (names !== "") return names;
  const telling = lines.find((line) => SAYS_SOMETHING.test(line.slice(0, READ_OF_LINE)));
  const first = (telling ?? lines.find((line) => line.trim() !== "") ?? "").trim();
  return first.length > 0 && first.length <= QUOTED ? quoted(first) : "";
}

/** Constants say least: they come last. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

function listed(verb: string, all: readonly string[]): string {
  if (all.length === 0) return "";
  const names = all.toSorted((one, other) => Number(CONSTANT.test(one)) - Number(CONSTANT.test(other)));
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

/** How a name is displayed, behind its keyword if the line has one. */
const FORMS = {
  bare: (name: string) => name,
  called: (name: string) => `${name}()`,
  test: (name: string) => `test "${name}"`,
  heading: (name: string) => `heading "${name.trim()}"`,
} as const;

/** Lines that define a `name`, some with a `word` before it. */
type Rule = readonly [form: keyof typeof FORMS, line: RegExp];

const MODIFIER =
  "(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|sealed|data|open|partial|pub|inline|readonly|async|override|virtual|unsafe|extern|suspend|fileprivate)\\s{1,4}|pub\\([a-z:]{1,20}\\)\\s){0,6}";

/** What follows a name that a keyword defines; other words make it a sentence. */
const NAMED =
  "(?=\\s{0,4}(?:$|[{(:<=@;,\\[]|//|/\\*|#|(?:extends|implements|with|where|for|permits|is|in|final)\\b))";

const CODE: readonly Rule[] = [
  [
    "bare",
    new RegExp(
      `^${MODIFIER}(?<word>class|interface|enum|struct|trait|protocol|record|namespace|module|extension|object|union|mod|impl)\\s{1,4}(?<name>[A-Za-z_$](?:[\\w$.:]{0,80}[\\w$])?)${NAMED}`,
    ),
  ],
  [
    "bare",
    new RegExp(
      `^${MODIFIER}(?<word>type)\\s{1,4}(?<name>[A-Za-z_]\\w{0,80})(?=\\s?[<=]|\\s{1,4}(?:struct|interface|func|map|chan|\\[|\\*|u?int\\d*|float\\d*|string|bool|byte|rune|error)|$)`,
    ),
  ],
  [
    "called",
    new RegExp(
      `^${MODIFIER}(?:function\\s?\\*?|fn|fun|func|def|sub|const fn)\\s{1,4}(?:\\([^()]{0,80}\\)\\s?)?(?:self\\.)?(?<name>[\\w$?!]{1,80})`,
    ),
  ],
  [
    "called",
    /^(?:export\s)?(?:const|let|var)\s(?<name>[\w$]{1,80})(?:\s?:[^=]{0,120})?\s?=\s?(?:async\s)?(?:function\b|\([^()]{0,160}\)[^=]{0,60}=>|\($|[\w$]{1,60}\s?=>)/,
  ],
  ["test", /^(?:describe|it|test|suite|context|t\.Run)(?:\.\w{1,20})?\(\s?["'`](?<name>[^"'`]{1,100})["'`]/],
  [
    "called",
    /^(?!(?:return|await|else|throw|new|if|for|while|switch|match|catch|do|try|with|elseif|using|lock|foreach|super|case)\b)(?:[\w$<>[\],.?*&:@]{1,60}\s){0,6}[*&#]{0,2}(?!(?:if|for|while|switch|catch|function|func|match|describe|it|test)\b)(?<name>[A-Za-z_$~][\w$:~]{0,80})(?:<[^<>]{0,60}>)?\((?!["'`])(?![^;]{0,250}(?:=>|function))[^;]{0,250}(?<![(,]\s?)\{$/,
  ],
  ["bare", /^(?:[\w<>[\]]{1,40}\s){0,6}(?<name>[A-Z][A-Z0-9_]{2,60})(?:\s?:\s?[^=]{1,60})?\s?=(?!=)/],
];
const C_FUNCTION: Rule = [
  "called",
  /^(?!(?:return|else|throw|new|if|for|while|switch|case|typedef|using)\b)(?:[\w<>,*&:]{1,60}\s[*&]{0,2}){1,5}(?<name>[A-Za-z_~][\w:~]{0,80})\([^;={}]{0,200}\)$/,
];
const VALUE: Rule = ["bare", /^(?:export\s)?(?:const|let|var)\s(?<name>[\w$]{1,80})/];
const HEADING: Rule = ["heading", /^#{1,6}\s{1,4}(?<name>[^#\s].{0,80})/];
const KEY: Rule = [
  "bare",
  /^(?:-\s)?["']?(?<name>[\w.$@/-]{1,80})["']?\s{0,8}[:=](?=\s|$|["'[{\d]|true|false)/,
];
const SECTION: Rule = ["bare", /^\[{1,2}(?<name>["\w.:\s-]{1,80})\]{1,2}\s{0,4}$/];
const SHELL_FUNCTION: Rule = ["called", /^(?:function\s)?(?<name>[A-Za-z_][\w-]{0,80})\s?\(\)/];
const SHELL_VALUE: Rule = ["bare", /^(?:export\s)?(?<name>[A-Z][A-Z0-9_]{2,60})=/];
const STYLE: Rule = ["bare", /^(?<name>[.#@:]?[A-Za-z][\w\s.:#,>()-]{0,60}?)\s?\{$/];

interface Language {
  readonly rules: readonly Rule[];
  readonly comment: RegExp;
  /** Rules that apply only at the beginning of a line. */
  readonly outermost: readonly Rule[];
}

const HASH = /^#/;
const SLASHES = /^(?:\/\/|\/\*|\*)/;
const NEVER = /^(?!)/;

function language(rules: readonly Rule[], comment: RegExp, outermost: readonly Rule[] = []): Language {
  return { rules, comment, outermost };
}

/** Its headings own all lines up to the next one, regardless of indentation. */
const PROSE = language([HEADING], NEVER);
/** Code between markup and styles. */
const PAGE = language(CODE, SLASHES, [VALUE]);
const LANGUAGES: readonly (readonly [extension: RegExp, language: Language])[] = [
  [/\.(?:[cm]?[jt]sx?|go|rs|zig)$/i, language(CODE, SLASHES, [VALUE])],
  [/\.(?:vue|svelte|astro)$/i, PAGE],
  [/\.(?:pyi?|rb|ex|exs|jl)$/i, language(CODE, HASH)],
  [
    /\.(?:java|kts?|cs|c|h|cc|cpp|cxx|hpp|hh|mm?|swift|php|scala|dart|groovy|gradle)$/i,
    language([...CODE, C_FUNCTION], SLASHES),
  ],
  [/\.(?:md|mdx|markdown|rst|adoc)$/i, PROSE],
  [
    /\.(?:ya?ml|toml|ini|cfg|conf|env|properties)$|(?:^|\/)\.env[\w.]{0,20}$/i,
    language([SECTION, KEY], /^[#;]/),
  ],
  [/\.(?:jsonc?|json5)$/i, language([KEY], SLASHES)],
  [/\.(?:sh|bash|zsh|fish)$/i, language([SHELL_FUNCTION], HASH, [SHELL_VALUE])],
  [/\.(?:css|scss|less)$/i, language([STYLE], SLASHES)],
];
const PLAIN = language([], NEVER);

function rulesFor(path: string): Language {
  return LANGUAGES.find(([extension]) => extension.test(path.slice(-200)))?.[1] ?? PLAIN;
}

function definitionIn(line: string, { rules, comment, outermost }: Language): Definition | undefined {
  const text = line.trim().slice(0, READ_OF_LINE).trimEnd();
  if (text === "" || comment.test(text)) return undefined;
  for (const [form, pattern] of /^\s/.test(line) ? rules : [...rules, ...outermost]) {
    const { word, name } = pattern.exec(text)?.groups ?? {};
    const label = name === undefined ? "" : FORMS[form](name);
    if (name !== undefined)
      return { label: word === undefined ? label : `${word} ${label}`, name, line: text };
  }
  return undefined;
}

// ---- changed lines and their context

/** A line's own definition, and the innermost one that contains it. */
interface Owned {
  readonly own?: Definition | undefined;
  readonly owner?: Definition | undefined;
}

/** Delimiters of multi-line strings and code blocks. */
const QUOTES = /`|"""|'''/g;
const FENCE = /^\s{0,3}(?:```|~~~)/;

/** A string on one line, read from the left; what opens one of several lines is kept. */
const STRING = /("""|''')|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g;

const COMMENT_OPENS = /^\s*\/\*/;
/** The parts of a page that are no code. */
const MARKUP = /^<\/?(?:template|style)\b(?!.*(?:\/>|<\/))/;

/** True for a line that opens such a string or block, or closes the open one. */
function turns(line: string, language: Language, open: boolean): boolean {
  if (language === PROSE) return FENCE.test(line);
  const marks = line.match(QUOTES);
  if (marks === null || open) return marks !== null && marks.length % 2 === 1;
  return (line.replace(STRING, "$1").match(QUOTES) ?? []).length % 2 === 1;
}

/** For each line whether it stands in such a string, block or comment, or in markup; none where a hunk begins or ends within one. */
function quotedLines(lines: readonly string[], language: Language): boolean[] {
  let open = false;
  let isComment = false;
  let isMarkup = false;
  const quoted = lines.map((line) => {
    const within = open || isComment || isMarkup;
    if (language === PAGE && MARKUP.test(line)) isMarkup = !line.startsWith("</");
    const isCode = !isComment && !isMarkup && !language.comment.test(line.trim());
    if (isComment || (!open && language.comment === SLASHES && COMMENT_OPENS.test(line)))
      isComment = !line.includes("*/");
    if (isCode && turns(line, language, open)) open = !open;
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
    const indent = language === PROSE && own === undefined ? 1 : line.search(/\S/);
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

function sideOf(hunks: readonly Hunk[], here: keyof Hunk, there: keyof Hunk, language: Language): Side {
  const side: Side = { defined: new Map(), touched: new Set(), lines: [] };
  for (const hunk of hunks) {
    const lines = hunk[here];
    const owned = ownersOf(lines, language);
    const fresh = new Set<Definition | undefined>();
    for (const index of onlyIn(lines, hunk[there])) {
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

/** Indexes of lines that the other side has not as often, white space aside. */
function onlyIn(lines: readonly string[], others: readonly string[]): Set<number> {
  const left = new Map<string, number>();
  for (const text of others.map(oneLine)) left.set(text, (left.get(text) ?? 0) + 1);
  const only = new Set<number>();
  lines.forEach((line, index) => {
    const text = oneLine(line);
    const count = left.get(text) ?? 0;
    if (count > 0) left.set(text, count - 1);
    else if (!MARKS_ONLY.test(text.slice(0, READ_OF_LINE))) only.add(index);
  });
  return only;
}

// ---- renames, and changes without a name

/** Pairs whose lines differ only in the name; removed from both maps. */
function takeRenames(removed: Map<string, Definition>, added: Map<string, Definition>): string[] {
  const shapeOf = ({ line, name }: Definition): string => line.replace(name, () => "\u0000");
  const shapes = new Map([...added.values()].map((definition) => [shapeOf(definition), definition]));
  return [...removed.values()].flatMap((old) => {
    const now = shapes.get(shapeOf(old));
    if (now === undefined || !added.delete(now.label)) return [];
    removed.delete(old.label);
    return [`${old.label} to ${now.label}`];
  });
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
  const line =
    short.find((text) => SAYS_SOMETHING.test(text) && !IMPORT.test(text)) ??
    short[0] ??
    clipEnd(lines[0] ?? "", QUOTED);
  if (line === "") return "";
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

/** The changes of a patch in the format of Codex, `*** Update File: …`, or as a unified diff. */
export function readPatch(text: string): FileChange[] {
  const files: { path: string; verb: string; moved: string; hunks: MutableHunk[] }[] = [];
  const lines = text.split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const opened = fileOf(line, lines[index + 1] ?? "");
    const file = files.at(-1);
    if (opened !== undefined) files.push({ ...opened, moved: "", hunks: [] });
    else if (line.startsWith("*** ") && file?.moved === "") file.moved = MOVE.exec(line)?.[1]?.trim() ?? "";
    else if (file !== undefined && !/^(?:\*{3}|\+{3}) /.test(line)) readPatchLine(line, file.hunks);
  }
  return files.map(({ path, verb, moved, hunks }) => {
    if (verb === "Delete") return { ...edited(path, hunks), effect: "deleted", added: [] };
    const content = hunks.flatMap(({ after }) => after).join("\n");
    const change = verb === "Add" ? created(path, content) : edited(path, hunks);
    const told = [moved === "" ? "" : `moved to ${moved}`, change.what].filter((part) => part !== "");
    return { ...change, what: told.join("; ") };
  });
}

/** The file that a line opens; in a unified diff, with the line below it. */
function fileOf(line: string, next: string): { path: string; verb: string } | undefined {
  const [, verb, path = ""] = PATCH_FILE.exec(line) ?? [];
  if (verb !== undefined) return { path: path.trim(), verb };
  const old = DIFF_OLD.exec(line)?.[1]?.trim();
  const now = DIFF_NEW.exec(next)?.[1]?.trim();
  if (old === undefined || now === undefined) return undefined;
  if (now === "/dev/null") return { path: old, verb: "Delete" };
  return { path: now, verb: old === "/dev/null" ? "Add" : "Update" };
}

interface MutableHunk {
  readonly before: string[];
  readonly after: string[];
}

function readPatchLine(line: string, hunks: MutableHunk[]): void {
  const above = HUNK.exec(line)?.[1]?.trim();
  // What the header names stands above the hunk, outside of it.
  const context = above === undefined || above === "" ? [] : [above];
  if (above !== undefined || hunks.length === 0) hunks.push({ before: [...context], after: [...context] });
  if (above !== undefined) return;
  if (!line.startsWith("+")) hunks.at(-1)?.before.push(line.slice(1));
  if (!line.startsWith("-")) hunks.at(-1)?.after.push(line.slice(1));
}

/** The pairs of `<<<<<<< SEARCH … ======= … >>>>>>> REPLACE` blocks. */
export function readSearchBlocks(text: string): Hunk[] {
  const blocks = text.split(/^(?:<{5,9}|-{5,9}) ?SEARCH.*$/m).slice(1);
  return blocks.map((block) => {
    const middle = /^={5,9}\s*$/m.exec(block);
    const before = block.slice(0, middle?.index);
    // Only the first such line separates: headings may be underlined like it.
    const rest = middle === null ? "" : block.slice(middle.index + middle[0].length);
    const [after = ""] = rest.split(/^(?:>{5,9}|\+{5,9}) ?REPLACE/m);
    const linesOf = (side: string): string[] =>
      side.split(/\r?\n/).filter((line) => line !== "" && !/^:(?:start|end)_line:|^-{5,9}$/.test(line));
    return { before: linesOf(before), after: linesOf(after) };
  });
}
