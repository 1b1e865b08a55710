import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { requireList, requireText } from "../errors.ts";
import { systemCode } from "../storage/fs/folders.ts";
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
  requireList(folders, "folders", "Pass the paths of the folders as a list.");
  for (const [index, folder] of folders.entries())
    requireText(folder, `folders[${index}]`, "Pass the path of a folder.");
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

/** What is there, or why it cannot be read; nothing of what is not there: a folder without an index file is something else's. */
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
