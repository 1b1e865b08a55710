/** What an edit changed, told by the names of the code, keys and headings that it touched. */

/** Some consecutive lines of a file as they were and as they are. */
export interface Hunk {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What a patch does to one file. */
export interface FilePatch {
  readonly path: string;
  readonly effect: "edited" | "created" | "deleted";
  readonly movedTo: string | undefined;
  readonly hunks: readonly Hunk[];
}

const LONGEST = 240;
const MOST_NAMES = 8;
const READ_OF_LINE = 300;
const QUOTED = 90;

/** The change in words, such as `renamed parse() to read(); added class Cache`; empty where nothing can be named. */
export function describeChange(path: string, hunks: readonly Hunk[]): string {
  const rules = rulesFor(path);
  const sides = hunks.map((hunk) => compareSides(hunk, rules));
  const removed = new Map(sides.flatMap((side) => side.removed.map((found) => [found.label, found])));
  const added = new Map(sides.flatMap((side) => side.added.map((found) => [found.label, found])));
  const changed = new Set(sides.flatMap((side) => side.touched));
  for (const label of removed.keys()) if (added.has(label)) changed.add(label);
  for (const label of changed) {
    removed.delete(label);
    added.delete(label);
  }
  const renamed = takeRenames(removed, added);
  const small = smallChange(sides);
  const named = [...changed].filter((label) => !renamed.some((phrase) => phrase.endsWith(` ${label}`)));
  const detail = small !== "" && named.length === 1 ? `: ${small}` : "";
  const phrases = [
    renamed.length > 0 ? `renamed ${listed(renamed)}` : "",
    added.size > 0 ? `added ${listed([...added.keys()])}` : "",
    removed.size > 0 ? `removed ${listed([...removed.keys()])}` : "",
    named.length > 0 ? `changed ${listed(named)}${detail}` : "",
  ].filter((phrase) => phrase !== "");
  return clip(phrases.length > 0 ? phrases.join("; ") : small || firstLineOf(sides));
}

/** Lines that are in a file after an edit and were not before, trimmed. */
export function addedLines(hunks: readonly Hunk[]): string[] {
  return hunks.flatMap(({ before, after }) => {
    const known = new Set(before.map((line) => line.trim()));
    return after.map((line) => line.trim()).filter((line) => line !== "" && !known.has(line));
  });
}

/** The names that a new file defines at its outermost level, or its headings. */
export function describeContent(path: string, content: string): string {
  const lines = content.split("\n");
  const rules = rulesFor(path);
  const owned = ownersOf(lines, rules);
  const names = new Set(owned.filter((one) => one.own !== undefined && one.owner === undefined).map(labelOf));
  if (names.size > 0) return clip(listed([...names]));
  const telling = lines.find((line) => SAYS_SOMETHING.test(line.slice(0, READ_OF_LINE)));
  const first = (telling ?? lines.find((line) => line.trim() !== "") ?? "").trim();
  return first.length > 0 && first.length <= QUOTED ? quoted(first) : "";
}

function labelOf({ own }: Owned): string {
  return own?.label ?? "";
}

function listed(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

// ---- what defines a name, by language

interface Definition {
  /** The name as it is told: `parse()`, `class Cache`, `test "reads"`. */
  readonly label: string;
  readonly name: string;
  readonly line: string;
}

/** How a name is told, and the line that defines it; the name is the last group that matched. */
type Rule = readonly [told: (name: string, keyword: string) => string, line: RegExp];

const MODIFIER =
  "(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|sealed|data|open|partial|pub|inline|readonly|async|override|virtual|unsafe|extern|suspend|fileprivate)\\s{1,4}|pub\\([a-z:]{1,20}\\)\\s){0,6}";

const called = (name: string): string => `${name}()`;
const bare = (name: string): string => name;
const withKeyword = (name: string, keyword: string): string => `${keyword} ${name}`;
const asTest = (name: string): string => `test "${name}"`;
const asHeading = (name: string): string => `heading "${name.trim()}"`;

const CONTAINER: Rule = [
  withKeyword,
  new RegExp(
    `^${MODIFIER}(class|interface|enum|struct|trait|protocol|record|namespace|module|extension|object|union|mod|impl)\\s{1,4}([A-Za-z_$][\\w$.:]{0,80})`,
  ),
];
const TYPE: Rule = [withKeyword, new RegExp(`^${MODIFIER}(type)\\s{1,4}([A-Za-z_]\\w{0,80})\\b(?=[\\s<=])`)];
const FUNCTION: Rule = [
  called,
  new RegExp(
    `^${MODIFIER}(?:function\\s?\\*?|fn|fun|func|def|sub|const fn)\\s{1,4}(?:\\([^()]{0,80}\\)\\s?)?(?:self\\.)?([\\w$?!]{1,80})`,
  ),
];
const ARROW: Rule = [
  called,
  /^(?:export\s)?(?:const|let|var)\s([\w$]{1,80})(?:\s?:[^=]{0,120})?\s?=\s?(?:async\s)?(?:function\b|\([^()]{0,160}\)[^=]{0,60}=>|\($|[\w$]{1,60}\s?=>)/,
];
const METHOD: Rule = [
  called,
  /^(?!(?:return|await|else|throw|new|if|for|while|switch|catch|do|try|with|elseif|using|lock|foreach|super|case)\b)(?:[\w$<>[\],.?*&:@]{1,60}\s){0,6}[*&#]{0,2}(?!(?:if|for|while|switch|catch|function|func|match|describe|it|test)\b)([A-Za-z_$~][\w$:~]{0,80})(?:<[^<>]{0,60}>)?\((?!["'`])(?![^;]{0,250}(?:=>|function))[^;]{0,250}\{$/,
];
const C_FUNCTION: Rule = [
  called,
  /^(?!(?:return|else|throw|new|if|for|while|switch|case|typedef|using)\b)(?:[\w<>,*&:]{1,60}\s[*&]{0,2}){1,5}([A-Za-z_~][\w:~]{0,80})\([^;={}]{0,200}\)$/,
];
const SCRIPT_TEST: Rule = [
  asTest,
  /^(?:describe|it|test|suite|context|t\.Run)(?:\.\w{1,20})?\(\s?["'`]([^"'`]{1,100})["'`]/,
];
const SCRIPT_CONSTANT: Rule = [bare, /^(?:export\s)?(?:const|let|var)\s([\w$]{1,80})/];
const UPPER_CONSTANT: Rule = [
  bare,
  /^(?:[\w<>[\]]{1,40}\s){0,6}([A-Z][A-Z0-9_]{2,60})(?:\s?:\s?[^=]{1,60})?\s?=(?!=)/,
];
const HEADING: Rule = [asHeading, /^#{1,6}\s{1,4}([^#\s].{0,80})/];
const KEY: Rule = [bare, /^(?:-\s)?["']?([\w.$@/-]{1,80})["']?\s{0,8}[:=](?=\s|$|["'[{\d]|true|false)/];
const SECTION: Rule = [bare, /^\[{1,2}(["\w.:\s-]{1,80})\]{1,2}\s{0,4}$/];
const SHELL_FUNCTION: Rule = [called, /^(?:function\s)?([A-Za-z_][\w-]{0,80})\s?\(\)/];
const SQL: Rule = [
  withKeyword,
  /^create\s(?:or\sreplace\s|unique\s|temp\s|temporary\s|materialized\s){0,3}(table|view|index|function|procedure|trigger|type|schema)\s(?:if\snot\sexists\s)?(["\w.`]{1,80})/i,
];
const SQL_COLUMN: Rule = [
  withKeyword,
  /^(?:alter\stable\s["\w.`]{1,80}\s)?add\s(column)\s(?:if\snot\sexists\s)?(["\w`]{1,80})/i,
];
const MAKE_TARGET: Rule = [(name) => `target ${name}`, /^([\w./-]{1,60})\s?:(?!=)/];
const STYLE: Rule = [bare, /^([.#@:]?[A-Za-z][\w\s.:#,>()-]{0,60}?)\s?\{$/];

const SCRIPT: readonly Rule[] = [CONTAINER, TYPE, FUNCTION, ARROW, SCRIPT_TEST, METHOD];
const KEYS: readonly Rule[] = [SECTION, KEY];
const BRACES: readonly Rule[] = [CONTAINER, TYPE, FUNCTION, METHOD, C_FUNCTION, UPPER_CONSTANT];
const WORDS: readonly Rule[] = [CONTAINER, TYPE, FUNCTION, SCRIPT_TEST, UPPER_CONSTANT];

interface Language {
  readonly rules: readonly Rule[];
  /** Rules that count only at the beginning of a line. */
  readonly outermost: readonly Rule[];
  /** Headings own all lines up to the next one, whatever the indentation. */
  readonly flat: boolean;
  readonly comment: RegExp;
}

const HASH = /^#/;
const SLASHES = /^(?:\/\/|\/\*|\*)/;
const NEVER = /^(?!)/;

function language(rules: readonly Rule[], comment: RegExp, outermost: readonly Rule[] = []): Language {
  return { rules, outermost, comment, flat: rules.includes(HEADING) };
}

const GO_VALUE: Rule = [bare, /^(?:const|var)\s([A-Za-z_]\w{0,80})/];
const LANGUAGES: readonly (readonly [extension: RegExp, language: Language])[] = [
  [/\.(?:[cm]?[jt]sx?|vue|svelte|astro)$/i, language(SCRIPT, SLASHES, [SCRIPT_CONSTANT])],
  [/\.(?:pyi?|rb|ex|exs|jl)$/i, language(WORDS, HASH)],
  [/\.(?:go|rs|zig)$/i, language(WORDS, SLASHES, [GO_VALUE])],
  [
    /\.(?:java|kts?|cs|c|h|cc|cpp|cxx|hpp|hh|mm?|swift|php|scala|dart|groovy|gradle)$/i,
    language(BRACES, SLASHES),
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
  for (const [told, pattern] of [...language.rules, ...outer]) {
    const [, first, second] = pattern.exec(text) ?? [];
    const name = second ?? first;
    if (name !== undefined) return { label: told(name, first ?? ""), name, line: text };
  }
  return undefined;
}

// ---- which lines changed, and what they stand in

interface Owned {
  /** What the line itself defines. */
  readonly own: Definition | undefined;
  /** The innermost definition that the line stands in. */
  readonly owner: Definition | undefined;
}

/** Definition and owner of each line; a definition owns the lines after it that are indented deeper. */
function ownersOf(lines: readonly string[], language: Language): Owned[] {
  const open: { readonly indent: number; readonly definition: Definition }[] = [];
  let fenced = false;
  return lines.map((line) => {
    const fence = language.flat && /^\s{0,3}(?:```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    if (line.trim() === "" || fence || fenced) return { own: undefined, owner: open.at(-1)?.definition };
    const own = definitionIn(line, language);
    const indent = language.flat && own === undefined ? 1 : line.search(/\S/);
    while (!/^\s*[){]/.test(line) && (open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const owner = open.at(-1)?.definition;
    if (own !== undefined) open.push({ indent, definition: own });
    return { own, owner };
  });
}

interface Sides {
  readonly removed: readonly Definition[];
  readonly added: readonly Definition[];
  /** Names of definitions that stay, and in which something changed. */
  readonly touched: readonly string[];
  /** The lines that only one side has, without blanks around them. */
  readonly gone: readonly string[];
  readonly fresh: readonly string[];
}

function compareSides({ before, after }: Hunk, language: Language): Sides {
  const gone = onlyIn(before, after);
  const fresh = onlyIn(after, before);
  const old = tell(before, gone, language);
  const now = tell(after, fresh, language);
  const kept = new Set(now.kept);
  const touched = [...old.owners, ...now.owners].filter(
    (label) => kept.has(label) || old.kept.includes(label),
  );
  return {
    removed: old.definitions,
    added: now.definitions,
    touched,
    gone: linesAt(before, gone),
    fresh: linesAt(after, fresh),
  };
}

interface Told {
  /** Definitions on changed lines, without those inside another changed one. */
  readonly definitions: readonly Definition[];
  /** Definitions that changed lines stand in. */
  readonly owners: readonly string[];
  /** Definitions on lines that both sides have. */
  readonly kept: readonly string[];
}

function tell(lines: readonly string[], changed: ReadonlySet<number>, language: Language): Told {
  const owned = ownersOf(lines, language);
  const isChanged = new Set<Definition>();
  const definitions: Definition[] = [];
  const owners = new Set<string>();
  const kept: string[] = [];
  owned.forEach(({ own, owner }, index) => {
    if (!changed.has(index)) {
      if (own !== undefined) kept.push(own.label);
      return;
    }
    const inside = owner !== undefined && isChanged.has(owner);
    if (own !== undefined) isChanged.add(own);
    if (own !== undefined && !inside) definitions.push(own);
    else if (owner !== undefined && !inside && own === undefined) owners.add(owner.label);
  });
  return { definitions, owners: [...owners], kept };
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

function linesAt(lines: readonly string[], indexes: ReadonlySet<number>): string[] {
  return [...indexes].map((index) => (lines[index] ?? "").trim());
}

// ---- renames, and changes too small to have a name

/** Pairs whose lines are the same but for the name; they are taken out of both maps. */
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

/** One line that became another, came or went, in its own words. */
function smallChange(sides: readonly Sides[]): string {
  const gone = sides.flatMap((side) => side.gone);
  const fresh = sides.flatMap((side) => side.fresh);
  if (gone.length > 1 || fresh.length > 1) return "";
  const [old = "", now = ""] = [gone[0], fresh[0]];
  const short = old.length <= 60 && now.length <= 60;
  const pair: [string, string] = short || old === "" || now === "" ? [old, now] : differingWords(old, now);
  return toldPair(...pair);
}

function toldPair(old: string, now: string): string {
  if (old === now || old.length > QUOTED || now.length > QUOTED) return "";
  if (old === "") return `added ${quoted(now)}`;
  return now === "" ? `removed ${quoted(old)}` : `${quoted(old)} → ${quoted(now)}`;
}

/** What is left of two lines without the words that both begin and end with. */
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
function firstLineOf(sides: readonly Sides[]): string {
  const fresh = sides.flatMap((side) => side.fresh);
  const gone = sides.flatMap((side) => side.gone);
  const [lines, verb] = fresh.length > 0 ? [fresh, "added"] : [gone, "removed"];
  const short = lines.filter((text) => text.length <= QUOTED);
  const line = short.find((text) => SAYS_SOMETHING.test(text) && !IMPORT.test(text)) ?? short[0];
  if (line === undefined) return "";
  const rest = lines.length - 1;
  return rest > 0
    ? `${verb} ${quoted(line)} and ${rest} more line${rest > 1 ? "s" : ""}`
    : `${verb} ${quoted(line)}`;
}

function quoted(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.includes("`") ? `"${line}"` : `\`${line}\``;
}

function clip(text: string): string {
  if (text.length <= LONGEST) return text;
  const end = text.lastIndexOf(" ", LONGEST - 2);
  return `${text.slice(0, end < LONGEST / 2 ? LONGEST - 2 : end).replace(/[,;]$/, "")} …`;
}

// ---- patches and search blocks

const PATCH_FILE = /^\*\*\* (Update|Add|Delete) File: (.{1,400})$/;
const MOVE = /^\*\*\* Move to: (.{1,400})$/;
const DIFF_OLD = /^--- (?:a\/)?([^\t]{1,400})/;
const DIFF_NEW = /^\+\+\+ (?:b\/)?([^\t]{1,400})/;
const HUNK = /^@@(?: -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@)?[ \t]?(.{0,200})/;
const EFFECTS = { Update: "edited", Add: "created", Delete: "deleted" } as const;

interface DraftPatch {
  path: string;
  effect: FilePatch["effect"];
  movedTo: string | undefined;
  hunks: { before: string[]; after: string[] }[];
}

/** The files of a patch, in the form of Codex (`*** Update File: …`) or as a unified diff. */
export function readPatch(text: string): FilePatch[] {
  const files: DraftPatch[] = [];
  const lines = text.split(/\r?\n/);
  lines.forEach((line, index) => {
    const opened = openFile(line, lines[index + 1] ?? "");
    if (opened !== undefined) files.push(opened);
    else readPatchLine(line, files.at(-1));
  });
  return files;
}

function openFile(line: string, next: string): DraftPatch | undefined {
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

function readPatchLine(line: string, file: DraftPatch | undefined): void {
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
