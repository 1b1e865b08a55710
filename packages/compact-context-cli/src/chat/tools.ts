import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { AgentTool } from "compact-context/agents";
import { CompactError } from "compact-context/internal/errors";
import { formatBytes, formatCount, formatDuration, plural } from "../render/text.ts";
import { recordOf } from "../transcripts/json.ts";

/** The folder that an agent may touch. */
export interface Workplace {
  /** Its real path. */
  readonly root: string;
  /**
   * The real path of a file in it that is to be read, or made: links are followed first. Rejects with
   * `InvalidArgument` for what lies outside.
   */
  toRead(path: string): Promise<string>;
  /** The same for what is to be written; the folders of the agent's own records and of git are left alone. */
  toWrite(path: string): Promise<string>;
}

const OWN_FOLDERS = [".compact", ".git"];

export async function createWorkplace(folder: string): Promise<Workplace> {
  const root = await realpath(folder);
  const toRead = async (path: string): Promise<string> => {
    const real = await realOf(resolve(root, path));
    const inside = relative(root, real);
    if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return real;
    throw new CompactError("InvalidArgument", `${path} is outside of the working folder`, {
      place: path,
      hint: "Only files below the working folder can be touched.",
    });
  };
  return {
    root,
    toRead,
    async toWrite(path) {
      const real = await toRead(path);
      const own = relative(root, real)
        .split(sep)
        .find((part) => OWN_FOLDERS.includes(part.toLowerCase()));
      if (own === undefined) return real;
      throw new CompactError("InvalidArgument", `${path} is in ${own}, which tools do not write to`, {
        place: path,
        hint: "Choose a place outside of it.",
      });
    },
  };
}

/** The real path of a file, or of the nearest folder above one that is not there yet. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path) throw error;
    return join(await realOf(above), basename(path));
  }
}

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
function textArgument(args: unknown, name: string): string {
  const value = recordOf(args)[name];
  if (typeof value === "string") return value;
  throw wrong(name, "a text");
}

/** A whole number from 1, also where it is given as text. */
function numberArgument(args: unknown, name: string, otherwise: number): number {
  const value = recordOf(args)[name] ?? otherwise;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 1) return number;
  throw wrong(name, "a whole number from 1");
}

function wrong(name: string, wanted: string): CompactError {
  return refused(name, `must be ${wanted}`, "Call the tool again with corrected arguments.");
}

/** The JSON schema of an object; every property is a text unless it says otherwise. */
function objectSchema(
  properties: Readonly<Record<string, { readonly type?: string; readonly description: string }>>,
  required: readonly string[],
): object {
  const typed = Object.entries(properties).map(([name, one]) => [name, { type: "string", ...one }]);
  return { type: "object", properties: Object.fromEntries(typed), required, additionalProperties: false };
}

const SECONDS = 120;
const MOST_SECONDS = 600;
/** Of the output, the first and the last so many bytes are kept. */
const HALF = 60_000;
/** Between asking a command to end and ending it. */
const GRACE_MS = 2_000;

/** Runs a command of the shell in the working folder, with nothing to read and a deadline. */
export function runTool(workplace: Workplace, env: NodeJS.ProcessEnv): AgentTool {
  return {
    name: "run",
    description: `Runs a shell command in the working folder and gives its output, errors among it. It has no input and ${SECONDS} s; ask for more with timeout_seconds. Everything it started ends with it.`,
    schema: objectSchema(
      {
        command: { description: "The command line." },
        timeout_seconds: {
          type: "integer",
          description: `At most ${MOST_SECONDS}; ${SECONDS} when left out.`,
        },
      },
      ["command"],
    ),
    deadlineMs: (MOST_SECONDS + 10) * 1000,
    execute: (args, { signal }) => {
      const command = textArgument(args, "command");
      const seconds = Math.min(MOST_SECONDS, numberArgument(args, "timeout_seconds", SECONDS));
      return runCommand({ command, seconds, cwd: workplace.root, env }, signal);
    },
  };
}

interface CommandRun {
  readonly command: string;
  readonly seconds: number;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Output and exit code as text; rejects only where the shell itself cannot be started. */
export async function runCommand(
  { command, seconds, cwd, env }: CommandRun,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(command, {
    shell: true,
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: what the command starts can be ended with it.
    detached: process.platform !== "win32",
  });
  const started = performance.now();
  const output = createOutput();
  child.stdout?.on("data", output.add);
  child.stderr?.on("data", output.add);
  let late = false;
  const stop = (): void => end(child);
  const timer = setTimeout(() => {
    late = true;
    stop();
  }, seconds * 1000);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const status = await exitOf(child);
    const how = late ? "given up" : status;
    return `${output.text()}\n[${how}, ${formatDuration(performance.now() - started)}]`.trimStart();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Whatever it left running in the background.
    kill(child, "SIGKILL");
  }
}

function end(child: ChildProcess): void {
  kill(child, "SIGTERM");
  setTimeout(() => kill(child, "SIGKILL"), GRACE_MS).unref();
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

/** How it ended; output that a background process still holds is not waited for. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const done = (): void => resolve(how);
      child.once("close", done);
      setTimeout(done, 200).unref();
    });
  });
}

function createOutput(): { add(piece: Buffer): void; text(): string } {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let left = 0;
  return {
    add(piece) {
      const room = HALF - head.length;
      if (room > 0) head = Buffer.concat([head, piece.subarray(0, room)]);
      const rest = room > 0 ? piece.subarray(room) : piece;
      if (rest.length === 0) return;
      const joined = Buffer.concat([tail, rest.subarray(-HALF)]);
      left += tail.length + rest.length - Math.min(joined.length, HALF);
      tail = joined.subarray(-HALF);
    },
    text() {
      const gap = left === 0 ? "" : `\n[${formatCount(left)} bytes of output were left out]\n`;
      return `${head.toString("utf8")}${gap}${tail.toString("utf8")}`;
    },
  };
}
