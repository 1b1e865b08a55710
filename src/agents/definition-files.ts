import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../storage/drivers/fs-errors.ts";
import { type Diagnostic, diagnosticOf } from "./diagnostic.ts";
import type { FieldReader } from "./fields.ts";

/** What was read from folders of definitions; of two with one name the later folder's is taken. */
export interface Loaded<T> {
  readonly found: readonly T[];
  readonly problems: readonly Diagnostic[];
}

/** What one file came to; undefined where it defines nothing that could be used. */
export interface Read<T> {
  readonly made: T | undefined;
  readonly problems: readonly Diagnostic[];
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Reads every `name.md` of the folders, and `name/<index>` where an index file is named. A missing folder holds none. */
export async function loadDefinitions<T extends { readonly name: string }>(
  folders: readonly string[],
  read: (text: string, path: string) => Read<T>,
  index?: string,
): Promise<Loaded<T>> {
  const found = new Map<string, T>();
  const problems: Diagnostic[] = [];
  for (const folder of folders) {
    for (const path of await filesIn(folder, index)) {
      const { made, problems: more } = await readFrom(path, read);
      problems.push(...more);
      if (made !== undefined) found.set(made.name, made);
    }
  }
  return { found: [...found.values()], problems };
}

async function readFrom<T>(path: string, read: (text: string, path: string) => Read<T>): Promise<Read<T>> {
  try {
    return read(await readFile(path, "utf8"), path);
  } catch (error) {
    // A folder without an index file is a folder of something else.
    const isAbsent = ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "");
    const problem = { ...diagnosticOf(error, "unreadable"), place: path };
    return { made: undefined, problems: isAbsent ? [] : [problem] };
  }
}

async function filesIn(folder: string, index: string | undefined): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sorted = entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return sorted.flatMap((entry) => {
    if (entry.name.startsWith(".")) return [];
    if (entry.name.endsWith(".md")) return [join(folder, entry.name)];
    return index !== undefined && !entry.isFile() ? [join(folder, entry.name, index)] : [];
  });
}

/** True for a name that can be called by: a letter or digit, then letters, digits, `_`, `.` and `-`. */
export function isDefinitionName(name: string): boolean {
  return NAME.test(name);
}

/** Name and description, which every definition has; `hint` says what to write where the description lacks. */
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
