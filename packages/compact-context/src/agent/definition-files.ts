import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { systemCode } from "../storage/fs/folders.ts";
import { type Diagnostic, diagnosticOf } from "./event.ts";

// Folders of markdown files with YAML frontmatter, and the fields of one such file.

/** Definitions read from folders. */
export interface Loaded<T> {
  readonly found: readonly T[];
  readonly problems: readonly Diagnostic[];
}

/** How one kind of definition is read. */
export interface DefinitionKind<T> {
  /** A definition can also be a folder with a file of this name. */
  readonly index?: string;
  /** Our name of a field that other programs spell differently. */
  readonly spelled?: (field: string) => string;
  /** The definition; not used if a field is wrong. */
  read(file: Frontmatter, path: string): T;
}

/**
 * Reads every `name.md` of the folders, and `name/<index>` if there is one; for duplicate names, the later
 * folder wins. A missing folder is treated as empty.
 */
export async function readDefinitions<T extends { readonly name: string }>(
  folders: readonly string[],
  { index, spelled, read }: DefinitionKind<T>,
): Promise<Loaded<T>> {
  const found = new Map<string, T>();
  const problems: Diagnostic[] = [];
  /** Undefined if it cannot be read; a missing file is no problem: its folder belongs to something else. */
  const orProblem = async <R>(place: string, work: () => Promise<R>): Promise<R | undefined> => {
    try {
      return await work();
    } catch (error) {
      const hint = "Make it something that can be read, or take it away.";
      if (!["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? ""))
        problems.push({ ...diagnosticOf(error, "unreadable"), place, hint });
      return undefined;
    }
  };
  for (const folder of folders) {
    const places = new Map<string, string>();
    for (const path of (await orProblem(folder, () => filesIn(folder, index))) ?? []) {
      const made = await orProblem(path, async () => {
        const file = new Frontmatter(await readFile(path, "utf8"), path, spelled);
        return { file, definition: read(file, path) };
      });
      if (made === undefined) continue;
      const { file, definition } = made;
      problems.push(...file.problems);
      if (file.problems.some(({ code }) => code === BAD || code === NONE)) continue;
      const { name } = definition;
      const before = places.get(name);
      const message = `name: "${name}" stands in ${before} as well, which is not used`;
      const hint = "Give each definition of a folder a name of its own.";
      if (before !== undefined) problems.push({ code: "same-name", message, place: path, hint });
      places.set(name, path);
      found.set(name, definition);
    }
  }
  return { found: [...found.values()], problems };
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

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** True for a valid name: a letter or digit, then letters, digits, `_`, `.` and `-`. */
export function isDefinitionName(name: string): boolean {
  return NAME.test(name);
}

/** Codes of problems that make a definition unusable. */
const BAD = "bad-frontmatter";
const NONE = "no-frontmatter";
const FENCE = /^---[ \t]*$/;
/** A field on one line: a list of plain texts, such as globs with braces, or a text. */
const PLAIN_FIELD = /^([A-Za-z_][\w-]*[ \t]*:[ \t]+)(?:\[([^"']*)\]|(?!["'[{|>&*!#])(.*\S))[ \t]*$/;

/** A markdown file with YAML frontmatter; collects the problems of its fields. */
export class Frontmatter {
  /** The markdown after the frontmatter, trimmed. */
  readonly body: string;
  readonly problems: Diagnostic[] = [];
  /** True if the YAML is invalid, and was read once more with its plain values in quotes. */
  isBroken = false;
  /** A field without a value is left out. */
  readonly fields: Map<string, unknown> = new Map();
  readonly #path: string;
  readonly #lines = new Map<string, number>();
  readonly #spelled: (field: string) => string;

  constructor(text: string, path: string, spelled: (field: string) => string = (field) => field) {
    this.#path = path;
    this.#spelled = spelled;
    const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
    const opens = FENCE.test(lines[0] ?? "");
    const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
    const isWhole = opens && end > 0;
    this.body = (isWhole ? lines.slice(end + 1).join("\n") : text).trim();
    if (isWhole) this.#readYaml(lines.slice(1, end));
    else {
      const message = opens ? "the frontmatter is not closed" : "the file has no frontmatter";
      const hint = opens
        ? "End it with a line of three dashes."
        : "Begin the file with a line ---, then name: and description:, then a line ---.";
      this.problems.push({ code: NONE, message, place: `${path}:1`, hint });
    }
  }

  #readYaml(source: readonly string[]): void {
    const counter = new LineCounter();
    const document = parseDocument(source.join("\n"), { lineCounter: counter, prettyErrors: false });
    const lineAt = (offset = 0): number => counter.linePos(offset).line + 1;
    const [error] = document.errors;
    const { contents } = document;
    const isFields = contents === null || isMap(contents);
    if (error !== undefined || !isFields) {
      this.#readQuoted(source, lineAt(error?.pos[0]), error?.message ?? "it is no list of fields");
      return;
    }
    for (const { key } of contents?.items ?? [])
      if (isScalar(key)) this.#lines.set(this.#spelled(String(key.value)), lineAt(key.range?.[0]));
    const values = (document.toJS({ maxAliasCount: 0 }) ?? {}) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(values)) {
      const own = this.#spelled(name);
      if (this.fields.has(own)) this.wrong(own, "stands there twice, in two spellings", "Keep one of them.");
      if (value !== null) this.fields.set(own, value);
    }
  }

  /** Fields that cannot be read this way either are missing: what needs them is not used. */
  #readQuoted(source: readonly string[], line: number, said: string): void {
    if (this.isBroken) return;
    this.isBroken = true;
    this.problems.push({
      code: "bad-yaml",
      message: `the frontmatter is no valid YAML: ${said.split("\n", 1)[0]}`,
      place: `${this.#path}:${line}`,
      hint: "It was read with its values in quotes. Put values with colons, brackets or # in double quotes.",
    });
    const quoted = (_: string, field: string, list?: string, text?: string): string =>
      `${field}${JSON.stringify(list ?? text)}`;
    this.#readYaml(source.map((one) => one.replace(PLAIN_FIELD, quoted)));
  }

  /** `file:line` of a field, or of the file if the field is missing. */
  placeOf(field: string): string {
    return `${this.#path}:${this.#lines.get(field) ?? 1}`;
  }

  /** Makes the definition unusable, unless the code says otherwise. */
  wrong(field: string, message: string, hint: string, code: string = BAD): void {
    this.problems.push({ code, message: `${field}: ${message}`, place: this.placeOf(field), hint });
  }

  /** Reports something that has no effect on the result. */
  remark(field: string, message: string, hint: string): void {
    this.wrong(field, message, hint, "remark");
  }

  /** Reports unknown fields; they have no effect. */
  tellOthers(known: readonly string[]): void {
    for (const field of this.fields.keys())
      if (!known.includes(field))
        this.remark(field, "is no field that is known here", `The fields are ${known.join(", ")}.`);
  }

  /** Name and description, required in every definition; `hint` is shown if the description is missing. */
  identity(hint: string): { readonly name: string; readonly description: string } {
    const name = this.text("name") ?? "";
    const description = this.text("description") ?? "";
    const problem = name === "" ? "is missing" : `"${name}" is no name`;
    if (!isDefinitionName(name)) this.wrong("name", problem, "Use letters, digits, - and _.");
    if (description === "") this.wrong("description", "is missing", hint);
    return { name, description };
  }

  /** Text of a field; undefined if missing. */
  text(field: string): string | undefined {
    const value = this.fields.get(field);
    if (typeof value === "string" || typeof value === "number") return String(value).trim();
    if (value !== undefined) this.wrong(field, "a text is expected", "Write it on one line.");
    return undefined;
  }

  /** A list of texts, or one comma-separated text; commas in the braces of a glob do not separate. */
  list(field: string): readonly string[] | undefined {
    const value = this.fields.get(field);
    if (typeof value === "string") {
      const items = value.split(/,(?![^{}]*\})/).map((one) => one.trim());
      return items.filter((one) => one !== "");
    }
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
      if (value.some((one) => one.trim() === ""))
        this.wrong(field, "an entry is empty", `Take it out, or leave ${field} out if nothing is meant.`);
      return value;
    }
    if (value !== undefined) this.wrong(field, "a list of texts is expected", `Write ${field}: [one, two].`);
    return undefined;
  }

  choice<T extends string>(field: string, choices: readonly T[]): T | undefined {
    const value = this.fields.get(field);
    const known = choices.find((choice) => choice === value);
    const all = choices.join(", ");
    if (value !== undefined && known === undefined)
      this.wrong(field, `"${String(value)}" is none of ${all}`, `Use one of ${all}.`);
    return known;
  }

  /** A positive number, at most `most`. */
  amount(field: string, most: number): number | undefined {
    const given = this.fields.get(field);
    if (given === undefined) return undefined;
    const value = Number(given);
    if (Number.isFinite(value) && value > 0 && value <= most) return value;
    const problem = `"${String(given)}" is no number over 0, up to ${most}`;
    this.wrong(field, problem, `Leave ${field} out for its default.`);
    return undefined;
  }
}
