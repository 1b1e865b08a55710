import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AgentTool } from "compact-context/agents";
import { CompactError } from "compact-context/internal/errors";
import { formatBytes, formatCount, plural } from "../../render/numbers.ts";
import { recordOf } from "../../transcripts/json.ts";
import type { Workplace } from "../workplace.ts";

const LINES = 2_000;
/** Larger files are for `run` with sed, head or grep. */
const MOST_BYTES = 10_000_000;
const MOST_ENTRIES = 500;

/** Reads a file with line numbers, or lists a folder. */
export function readTool(workplace: Workplace): AgentTool {
  return {
    name: "read",
    description:
      "Reads a text file of the working folder, lines numbered from 1, or lists a folder. Long files come in pieces: go on with offset.",
    schema: objectSchema(
      {
        path: { description: "The file or folder, relative to the working folder." },
        offset: { type: "integer", description: "First line to read; 1 when left out." },
        limit: { type: "integer", description: `Most lines; ${LINES} when left out.` },
      },
      ["path"],
    ),
    paths: (args) => [textArgument(args, "path")],
    concurrent: true,
    async execute(args) {
      const path = textArgument(args, "path");
      const offset = numberArgument(args, "offset", 1);
      const limit = Math.min(LINES, numberArgument(args, "limit", LINES));
      const real = await workplace.toRead(path);
      const stats = await stat(real);
      if (stats.isDirectory()) return listed(real, path);
      if (!stats.isFile()) throw unreadable(path, "is no regular file");
      if (stats.size > MOST_BYTES) {
        throw unreadable(path, `has ${formatBytes(stats.size)}; read parts of it with run`);
      }
      return numbered(await contentOf(real, path), offset, limit);
    },
  };
}

async function listed(folder: string, path: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const left = names.length - MOST_ENTRIES;
  const more = left > 0 ? `\n(${formatCount(left)} more)` : "";
  return names.length === 0 ? `${path} is empty.` : names.slice(0, MOST_ENTRIES).join("\n") + more;
}

async function contentOf(file: string, path: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const bytes = await handle.readFile();
    if (bytes.subarray(0, 8_000).includes(0)) {
      throw unreadable(path, `is no text (${formatBytes(bytes.length)})`);
    }
    return bytes.toString("utf8");
  } finally {
    await handle.close();
  }
}

function numbered(text: string, offset: number, limit: number): string {
  if (text === "") return "The file is empty.";
  const lines = text.replace(/\n$/, "").split("\n");
  if (offset > lines.length) return `The file has only ${formatCount(lines.length)} lines.`;
  const shown = lines.slice(offset - 1, offset - 1 + limit);
  const last = offset - 1 + shown.length;
  const more =
    last < lines.length ? `\n(of ${formatCount(lines.length)} lines; go on with offset ${last + 1})` : "";
  return shown.map((line, index) => `${offset + index}\t${line}`).join("\n") + more;
}

/** Words for the model about a call that cannot be done. */
function refused(place: string, why: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", `${place} ${why}`, { place, hint });
}

function unreadable(path: string, why: string): CompactError {
  return refused(path, why, "Choose another file.");
}

const PATH = { description: "The file, relative to the working folder." };

/** Makes a file, or replaces all of one. */
export function writeTool(workplace: Workplace): AgentTool {
  return {
    name: "write",
    description: "Writes a whole text file of the working folder, new or in place of the one there.",
    schema: objectSchema({ path: PATH, content: { description: "All of the file." } }, ["path", "content"]),
    paths: (args) => [textArgument(args, "path")],
    async execute(args) {
      const path = textArgument(args, "path");
      const content = textArgument(args, "content");
      const real = await workplace.toWrite(path);
      await mkdir(dirname(real), { recursive: true });
      await replaceFile(real, content);
      return `Wrote ${plural(lineCount(content), "line")} to ${path}.`;
    },
  };
}

/** Changes one passage of a file. */
export function editTool(workplace: Workplace): AgentTool {
  return {
    name: "edit",
    description:
      "Replaces one passage of a text file of the working folder. The old text must stand there exactly once, unless all is true.",
    schema: objectSchema(
      {
        path: PATH,
        old: { description: "The passage as it stands, white space included." },
        new: { description: "What takes its place." },
        all: { type: "boolean", description: "Replaces every occurrence; false when left out." },
      },
      ["path", "old", "new"],
    ),
    paths: (args) => [textArgument(args, "path")],
    async execute(args) {
      const path = textArgument(args, "path");
      const [from, to] = [textArgument(args, "old"), textArgument(args, "new")];
      const real = await workplace.toWrite(path);
      const text = textOf(await readFile(real), path);
      const count = from === "" ? 0 : text.split(from).length - 1;
      if (count === 0) throw noPlace(path, "the old text does not stand in it");
      const all = recordOf(args).all === true;
      if (count > 1 && !all) throw noPlace(path, `the old text stands in it ${count} times`);
      await replaceFile(
        real,
        text.replaceAll(from, () => to),
      );
      return `Changed ${plural(count, "place")} of ${path}.`;
    },
  };
}

/** The text of the bytes; what is no UTF-8 would be written back as something else. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const hint = "Change it with a command that leaves the other bytes alone, such as sed.";
    throw refused(path, "was not changed: it is no UTF-8 text", hint);
  }
}

function noPlace(path: string, why: string): CompactError {
  const hint = "Read the file again and give the passage with enough around it to be the only one.";
  return refused(path, `was not changed: ${why}`, hint);
}

/** Whole or not at all: a full disk leaves the old file as it was. */
async function replaceFile(file: string, content: string): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString("hex")}.tmp`);
  const before = await stat(file).catch(() => undefined);
  try {
    await writeFile(temporary, content, { flag: "wx" });
    if (before !== undefined) await chmod(temporary, before.mode);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export function lineCount(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

/** A text among a call's arguments; throws `InvalidArgument`, in words for the model. */
export function textArgument(args: unknown, name: string): string {
  const value = recordOf(args)[name];
  if (typeof value === "string") return value;
  throw wrong(name, "a text");
}

/** A whole number from 1, also where it is given as text. */
export function numberArgument(args: unknown, name: string, otherwise: number): number {
  const value = recordOf(args)[name] ?? otherwise;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 1) return number;
  throw wrong(name, "a whole number from 1");
}

function wrong(name: string, wanted: string): CompactError {
  return refused(name, `must be ${wanted}`, "Call the tool again with corrected arguments.");
}

/** The JSON schema of an object; every property is a text unless it says otherwise. */
export function objectSchema(
  properties: Readonly<Record<string, { readonly type?: string; readonly description: string }>>,
  required: readonly string[],
): object {
  const typed = Object.entries(properties).map(([name, one]) => [name, { type: "string", ...one }]);
  return { type: "object", properties: Object.fromEntries(typed), required, additionalProperties: false };
}
