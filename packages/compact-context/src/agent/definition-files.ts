import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { systemCode } from "../storage/fs/folders.ts";
import { type Diagnostic, diagnosticOf } from "./event.ts";

/** Definitions read from folders; for duplicate names, the later folder wins. */
export interface Loaded<T> {
  readonly found: readonly T[];
  readonly problems: readonly Diagnostic[];
}

/** Result of reading one file; `made` is undefined if it defines nothing usable. */
export interface Read<T> {
  readonly made: T | undefined;
  readonly problems: readonly Diagnostic[];
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/**
 * Reads every `name.md` of the folders, and `name/<index>` if `index` is given. A missing folder is treated
 * as empty.
 */
export async function readDefinitions<T extends { readonly name: string }>(
  folders: readonly string[],
  read: (text: string, path: string) => Read<T>,
  index?: string,
): Promise<Loaded<T>> {
  const found = new Map<string, T>();
  const problems: Diagnostic[] = [];
  for (const folder of folders) {
    const { made: paths = [], problems: unlisted } = await orProblem(folder, () => filesIn(folder, index));
    problems.push(...unlisted);
    const places = new Map<string, string>();
    for (const path of paths) {
      const { made, problems: more } = await readFrom(path, read);
      problems.push(...more);
      if (made === undefined) continue;
      const before = places.get(made.name);
      if (before !== undefined) problems.push(sameName(made.name, path, before));
      places.set(made.name, path);
      found.set(made.name, made);
    }
  }
  return { found: [...found.values()], problems };
}

function sameName(name: string, place: string, before: string): Diagnostic {
  const message = `name: "${name}" stands in ${before} as well, which is not used`;
  return { code: "same-name", message, place, hint: "Give each definition of a folder a name of its own." };
}

async function readFrom<T>(path: string, read: (text: string, path: string) => Read<T>): Promise<Read<T>> {
  const { made, problems } = await orProblem(path, async () => read(await readFile(path, "utf8"), path));
  return made ?? { made: undefined, problems };
}

/**
 * The result, or why it cannot be read; nothing if the file is missing: a folder without an index file
 * belongs to something else.
 */
async function orProblem<T>(path: string, work: () => Promise<T>): Promise<Read<T>> {
  try {
    return { made: await work(), problems: [] };
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return { made: undefined, problems: [] };
    const hint = "Make it something that can be read, or take it away.";
    return { made: undefined, problems: [{ ...diagnosticOf(error, "unreadable"), place: path, hint }] };
  }
}

async function filesIn(folder: string, index: string | undefined): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sorted = entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return sorted.flatMap((entry) => {
    if (entry.name.startsWith(".")) return [];
    if (entry.name.endsWith(".md")) return [join(folder, entry.name)];
    return index !== undefined && !entry.isFile() ? [join(folder, entry.name, index)] : [];
  });
}

/** True for a valid name: a letter or digit, then letters, digits, `_`, `.` and `-`. */
export function isDefinitionName(name: string): boolean {
  return NAME.test(name);
}

/** Name and description, required in every definition; `hint` is shown if the description is missing. */
export function readIdentity(
  fields: FieldReader,
  hint: string,
): { readonly name: string; readonly description: string } {
  const name = fields.text("name") ?? "";
  const description = fields.text("description") ?? "";
  if (!isDefinitionName(name)) {
    const problem = name === "" ? "is missing" : `"${name}" is no name`;
    fields.wrong("name", problem, "Use letters, digits, - and _.");
  }
  if (description === "") fields.wrong("description", "is missing", hint);
  return { name, description };
}

/** A markdown file with YAML frontmatter. */
export interface FrontmatterFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The markdown after the frontmatter, trimmed. */
  readonly body: string;
  readonly problems: readonly Diagnostic[];
  /** True if YAML failed and the lines were read individually. */
  readonly lenient: boolean;
  /** `file:line` of a field, or of the frontmatter if the field is missing. */
  placeOf(field: string): string;
}

const FENCE = /^---[ \t]*$/;
const FIELD = /^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$/;
const LARGEST = 64 * 1024;

/**
 * Reads frontmatter strictly. If YAML fails, reports the line and falls back to line-by-line reading: `name:
 * value`, lists in brackets or with dashes.
 */
export function readFrontmatter(text: string, path: string): FrontmatterFile {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const none = (message: string, hint: string, line: number): FrontmatterFile => ({
    fields: {},
    body: text.trim(),
    problems: [{ code: "no-frontmatter", message, place: `${path}:${line}`, hint }],
    lenient: false,
    placeOf: () => `${path}:1`,
  });
  const hint = "Begin the file with a line ---, then name: and description:, then a line ---.";
  if (!FENCE.test(lines[0] ?? "")) return none("the file has no frontmatter", hint, 1);
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) return none("the frontmatter is not closed", "End it with a line of three dashes.", 1);
  const source = lines.slice(1, end);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  const yaml = source.join("\n");
  if (yaml.length > LARGEST) return none("the frontmatter is over 64 KB", "Move text behind it.", 1);
  return { body, ...readYaml(yaml, source, path) };
}

type Fields = Omit<FrontmatterFile, "body">;

function readYaml(yaml: string, source: readonly string[], path: string): Fields {
  const counter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: counter, prettyErrors: false, uniqueKeys: true });
  const lineAt = (offset: number): number => counter.linePos(offset).line + 1;
  const [error] = document.errors;
  const { contents } = document;
  if (error !== undefined) {
    const said = error.message.split("\n", 1)[0] ?? "";
    return readLeniently(source, path, { line: lineAt(error.pos[0]), said });
  }
  if (contents !== null && !isMap(contents)) {
    return readLeniently(source, path, { line: 2, said: "it is no list of fields" });
  }
  const places = new Map(
    (contents?.items ?? []).flatMap(({ key }) =>
      isScalar(key) ? [[String(key.value), lineAt(key.range?.[0] ?? 0)] as const] : [],
    ),
  );
  const fields = (document.toJS({ maxAliasCount: 0 }) ?? {}) as Record<string, unknown>;
  return { fields, problems: [], lenient: false, placeOf: (field) => `${path}:${places.get(field) ?? 1}` };
}

function readLeniently(
  source: readonly string[],
  path: string,
  { line, said }: { readonly line: number; readonly said: string },
): Fields {
  const { fields, places } = readLines(source);
  const problem: Diagnostic = {
    code: "bad-yaml",
    message: `the frontmatter is no valid YAML: ${said}`,
    place: `${path}:${line}`,
    hint: "It was read line by line instead. Put values with colons, brackets or # in double quotes.",
  };
  return {
    fields,
    problems: [problem],
    lenient: true,
    placeOf: (field) => `${path}:${places.get(field) ?? 1}`,
  };
}

interface ReadLines {
  readonly fields: Record<string, unknown>;
  readonly places: ReadonlyMap<string, number>;
}

/** One-line fields, and lists below a field without a value. No nesting. */
function readLines(source: readonly string[]): ReadLines {
  const fields: Record<string, unknown> = {};
  const places = new Map<string, number>();
  let open: string[] = [];
  source.forEach((line, index) => {
    const item = /^[ \t]*-[ \t]+(.*)$/.exec(line)?.[1];
    if (item !== undefined) {
      open.push(plain(item));
      return;
    }
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    if (name === undefined) return;
    open = [];
    fields[name] = value === "" ? open : listOrPlain(value);
    places.set(name, index + 2);
  });
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value) && value.length === 0) fields[name] = undefined;
  }
  return { fields, places };
}

function listOrPlain(value: string): unknown {
  const inner = /^\[(.*)\]$/.exec(value.trim())?.[1];
  return inner === undefined ? plain(value) : splitList(inner).map(plain);
}

/** Splits at commas, except those in the braces of a glob. */
function splitList(text: string): string[] {
  return text
    .split(/,(?![^{}]*\})/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function plain(value: string): string {
  const text = value.trim();
  return /^(["'])(.*)\1$/.exec(text)?.[2] ?? text;
}

/** Reads frontmatter fields and collects their problems. */
export interface FieldReader {
  readonly problems: Diagnostic[];
  readonly raw: FrontmatterFile["fields"];
  placeOf(field: string): string;
  /** Text of a field; undefined if missing. */
  text(field: string): string | undefined;
  /** A list of texts, or one comma-separated text. */
  list(field: string): readonly string[] | undefined;
  choice<T extends string>(field: string, choices: readonly T[]): T | undefined;
  /** A positive number, at most `most`. */
  amount(field: string, most: number): number | undefined;
  wrong(field: string, message: string, hint: string): void;
  /** Reports something that has no effect on the result. */
  remark(field: string, message: string, hint: string): void;
  /** Reports unknown fields; they have no effect. */
  tellOthers(known: readonly string[]): void;
}

export function readFields({ fields, placeOf, problems: found, lenient }: FrontmatterFile): FieldReader {
  const problems: Diagnostic[] = [...found];
  const telling =
    (code: string) =>
    (field: string, message: string, hint: string): void => {
      problems.push({ code, message: `${field}: ${message}`, place: placeOf(field), hint });
    };
  const wrong = telling("bad-frontmatter");
  const remark = telling("remark");
  /** A field that is present but unreadable is not treated as omitted: its value is unknown. */
  const isSet = (field: string): boolean => {
    const value = fields[field];
    if (lenient && field in fields && value === undefined)
      wrong(field, "cannot be read", "Write it on one line, a list in brackets.");
    return value !== undefined && value !== null;
  };
  return {
    problems,
    raw: fields,
    placeOf,
    wrong,
    remark,
    text(field) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      if (typeof value === "string" || typeof value === "number") return String(value).trim();
      wrong(field, "a text is expected", "Write it on one line.");
      return undefined;
    },
    list(field) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      if (typeof value === "string") return splitList(value);
      if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value as string[];
      wrong(field, "a list of texts is expected", `Write ${field}: [one, two].`);
      return undefined;
    },
    choice(field, choices) {
      const value = fields[field];
      if (!isSet(field)) return undefined;
      const known = choices.find((choice) => choice === value);
      const all = choices.join(", ");
      if (known === undefined) wrong(field, `"${String(value)}" is none of ${all}`, `Use one of ${all}.`);
      return known;
    },
    amount(field, most) {
      if (!isSet(field)) return undefined;
      const value = Number(fields[field]);
      if (Number.isFinite(value) && value > 0 && value <= most) return value;
      const problem = `"${String(fields[field])}" is no number over 0, up to ${most}`;
      wrong(field, problem, `Leave ${field} out for its default.`);
      return undefined;
    },
    tellOthers(known) {
      for (const field of Object.keys(fields)) {
        if (!known.includes(field))
          remark(field, "is no field that is known here", `The fields are ${known.join(", ")}.`);
      }
    },
  };
}
