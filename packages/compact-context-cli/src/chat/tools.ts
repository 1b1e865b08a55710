import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { AgentTool } from "compact-context/agents";
import { CompactError } from "compact-context/internal/errors";
import { formatBytes, formatCount, formatDuration, plural } from "../render/text.ts";
import { recordOf } from "../transcripts/json.ts";

/** The folder that an agent may access. */
export interface Workplace {
  /** Its real path. */
  readonly root: string;
  /**
   * The real path of a file that exists or can be created, with links resolved. Rejects with `InvalidArgument` for a path
   * outside of the folder.
   */
  toRead(path: string): Promise<string>;
  /** The same for writing; also rejects the folders of the agent's records and of git. */
  toWrite(path: string): Promise<string>;
}

const PROTECTED_FOLDERS = [".compact", ".git"];

export async function createWorkplace(base: string): Promise<Workplace> {
  const root = await realpath(base);
  const toRead = async (path: string): Promise<string> => {
    const real = await realOf(resolve(root, path));
    const inside = relative(root, real);
    if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return real;
    const hint = "Only files below the working folder can be accessed.";
    throw refused(path, "is outside of the working folder", hint);
  };
  return {
    root,
    toRead,
    async toWrite(path) {
      const real = await toRead(path);
      const folder = relative(root, real)
        .split(sep)
        .find((part) => PROTECTED_FOLDERS.includes(part.toLowerCase()));
      if (folder === undefined) return real;
      throw refused(path, `is in ${folder}, which tools do not write to`, "Choose a place outside of it.");
    },
  };
}

/** The real path of a file; of a missing one that of its nearest existing folder, with the rest appended. */
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

const MAX_LINES = 2_000;
/** Larger files can be read in parts by `run` with sed, head or grep. */
const MAX_BYTES = 10_000_000;
const MAX_ENTRIES = 500;

const paths = (args: unknown): readonly string[] => [textArgument(args, "path")];

/** Reads a file with line numbers, or lists a folder. */
export function readTool(workplace: Workplace): AgentTool {
  return {
    name: "read",
    description:
      "Reads a text file of the working folder, lines numbered from 1, or lists a folder. Long files come in pieces: continue with offset.",
    schema: objectSchema(
      {
        path: { description: "The file or folder, relative to the working folder." },
        offset: { type: "integer", description: "First line to read; 1 when left out." },
        limit: { type: "integer", description: `Maximum number of lines; ${MAX_LINES} when left out.` },
      },
      ["path"],
    ),
    paths,
    concurrent: true,
    async execute(args) {
      const path = textArgument(args, "path");
      const offset = numberArgument(args, "offset", 1);
      const limit = Math.min(MAX_LINES, numberArgument(args, "limit", MAX_LINES));
      const real = await workplace.toRead(path);
      const stats = await stat(real).catch(missing(path));
      if (stats.isDirectory()) return listed(real, path);
      if (!stats.isFile()) throw unreadable(path, "is not a regular file");
      if (stats.size > MAX_BYTES) {
        throw unreadable(path, `has ${formatBytes(stats.size)}; read parts of it with run`);
      }
      return numbered(await contentOf(real, path), offset, limit);
    },
  };
}

async function listed(folder: string, path: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const left = names.length - MAX_ENTRIES;
  const more = left > 0 ? `\n(${formatCount(left)} more)` : "";
  return names.length === 0 ? `${path} is empty.` : names.slice(0, MAX_ENTRIES).join("\n") + more;
}

async function contentOf(file: string, path: string): Promise<string> {
  const bytes = await readFile(file).catch(missing(path));
  if (!bytes.subarray(0, 8_000).includes(0)) return bytes.toString("utf8");
  throw unreadable(path, `is not a text file (${formatBytes(bytes.length)})`);
}

function numbered(text: string, offset: number, limit: number): string {
  if (text === "") return "The file is empty.";
  const lines = text.replace(/\n$/, "").split("\n");
  if (offset > lines.length) return `The file has only ${formatCount(lines.length)} lines.`;
  const shown = lines.slice(offset - 1, offset - 1 + limit);
  const last = offset - 1 + shown.length;
  const more =
    last < lines.length ? `\n(of ${formatCount(lines.length)} lines; continue with offset ${last + 1})` : "";
  return shown.map((line, index) => `${offset + index}\t${line}`).join("\n") + more;
}

/** The error of a call that cannot be executed, worded for the model. */
function refused(place: string, why: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", `${place} ${why}`, { place, hint });
}

/** A missing file in the path that was asked for: the system's error has the absolute one, and its own call. */
function missing(path: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw error.code === "ENOENT" ? unreadable(path, "does not exist") : error;
  };
}

function unreadable(path: string, why: string): CompactError {
  return refused(path, why, "Choose another file.");
}

const PATH = { description: "The file, relative to the working folder." };

/** Creates a file, or replaces its content. */
export function writeTool(workplace: Workplace): AgentTool {
  return {
    name: "write",
    description: "Writes a whole text file of the working folder; replaces an existing one.",
    schema: objectSchema({ path: PATH, content: { description: "The whole content of the file." } }, [
      "path",
      "content",
    ]),
    paths,
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

/** Replaces one passage of a file. */
export function editTool(workplace: Workplace): AgentTool {
  return {
    name: "edit",
    description:
      "Replaces one passage of a text file of the working folder. The file must contain the old text exactly once, unless all is true.",
    schema: objectSchema(
      {
        path: PATH,
        old: { description: "The passage to replace, with its exact white space." },
        new: { description: "The replacement." },
        all: { type: "boolean", description: "Replaces every occurrence; false when left out." },
      },
      ["path", "old", "new"],
    ),
    paths,
    async execute(args) {
      const path = textArgument(args, "path");
      const [from, to] = [textArgument(args, "old"), textArgument(args, "new")];
      const real = await workplace.toWrite(path);
      const text = textOf(await readFile(real).catch(missing(path)), path);
      const count = from === "" ? 0 : text.split(from).length - 1;
      if (count === 0) throw notEdited(path, "it does not contain the old text");
      const all = recordOf(args).all === true;
      if (count > 1 && !all) throw notEdited(path, `it contains the old text ${count} times`);
      await replaceFile(
        real,
        text.replaceAll(from, () => to),
      );
      return `Changed ${plural(count, "place")} of ${path}.`;
    },
  };
}

/** Decodes UTF-8 strictly: other bytes would be written back changed. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const hint = "Change it with a command that keeps the other bytes, such as sed.";
    throw refused(path, "was not changed: it is not UTF-8 text", hint);
  }
}

function notEdited(path: string, why: string): CompactError {
  const hint = "Read the file again and give a longer passage that occurs only once.";
  return refused(path, `was not changed: ${why}`, hint);
}

/** Replaces the file atomically: a full disk leaves the old one. */
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

/** A string argument; throws `InvalidArgument`, worded for the model. */
function textArgument(args: unknown, name: string): string {
  const value = recordOf(args)[name];
  if (typeof value === "string") return value;
  throw invalid(name, "a string");
}

/** A whole number from 1, possibly as a string. */
function numberArgument(args: unknown, name: string, fallback: number): number {
  const value = recordOf(args)[name] ?? fallback;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 1) return number;
  throw invalid(name, "a whole number from 1");
}

function invalid(name: string, wanted: string): CompactError {
  return refused(name, `must be ${wanted}`, "Call the tool again with corrected arguments.");
}

/** The JSON schema of an object; properties are strings unless they have another type. */
function objectSchema(
  properties: Readonly<Record<string, { readonly type?: string; readonly description: string }>>,
  required: readonly string[],
): object {
  const typed = Object.entries(properties).map(([name, one]) => [name, { type: "string", ...one }]);
  return { type: "object", properties: Object.fromEntries(typed), required, additionalProperties: false };
}

const SECONDS = 120;
const MAX_SECONDS = 600;
/** Bytes of output kept at the beginning and at the end, each. */
const HALF_BYTES = 60_000;
/** Milliseconds from SIGTERM to SIGKILL. */
const GRACE_MS = 2_000;

/** Runs a shell command in the working folder, without input and with a deadline. */
export function runTool(workplace: Workplace, env: NodeJS.ProcessEnv): AgentTool {
  return {
    name: "run",
    description: `Runs a shell command in the working folder and returns its output, including stderr. It has no input and a timeout of ${SECONDS} s; timeout_seconds sets a longer one. Its background processes end with it.`,
    schema: objectSchema(
      {
        command: { description: "The command line." },
        timeout_seconds: {
          type: "integer",
          description: `At most ${MAX_SECONDS}; ${SECONDS} when left out.`,
        },
      },
      ["command"],
    ),
    deadlineMs: (MAX_SECONDS + 10) * 1000,
    execute: (args, { signal }) => {
      const command = textArgument(args, "command");
      const seconds = Math.min(MAX_SECONDS, numberArgument(args, "timeout_seconds", SECONDS));
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

/** Output and exit code as text; rejects only if the shell cannot be started. */
export async function runCommand(
  { command, seconds, cwd, env }: CommandRun,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(command, {
    shell: true,
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // Its own process group, so that its children can be killed too.
    detached: process.platform !== "win32",
  });
  const started = performance.now();
  const output = createOutput();
  child.stdout?.on("data", output.add);
  child.stderr?.on("data", output.add);
  let isTimedOut = false;
  const stop = (): void => {
    kill(child, "SIGTERM");
    setTimeout(() => kill(child, "SIGKILL"), GRACE_MS).unref();
  };
  const timer = setTimeout(() => {
    isTimedOut = true;
    stop();
  }, seconds * 1000);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const status = await exitOf(child);
    return `${output.text()}\n[${isTimedOut ? "timed out" : status}, ${formatDuration(performance.now() - started)}]`.trimStart();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Ends its background processes.
    kill(child, "SIGKILL");
  }
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

/** The exit status; does not wait for output that a background process keeps open. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const status = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const done = (): void => resolve(status);
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
      const room = HALF_BYTES - head.length;
      if (room > 0) head = Buffer.concat([head, piece.subarray(0, room)]);
      const rest = room > 0 ? piece.subarray(room) : piece;
      if (rest.length === 0) return;
      const joined = Buffer.concat([tail, rest.subarray(-HALF_BYTES)]);
      left += tail.length + rest.length - Math.min(joined.length, HALF_BYTES);
      tail = joined.subarray(-HALF_BYTES);
    },
    text() {
      const gap = left === 0 ? "" : `\n[${formatCount(left)} bytes of output were left out]\n`;
      return `${head.toString("utf8")}${gap}${tail.toString("utf8")}`;
    },
  };
}
