import { lstat, mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError, hasCode } from "../../errors.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { appendDurably } from "../../storage/fs/files.ts";
import { sweepTemps } from "../../storage/fs/temps.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";
import { checkUser, isInside, leadsTo, outside } from "../files/folders.ts";
import {
  claimed,
  type MemoryFile,
  readMemoryFile,
  versionOrNull,
  writeMemoryFile,
} from "../files/write-file.ts";
import { type Hunk, hunksBetween, patch } from "../markdown.ts";
import {
  CHANGED_FILES,
  type ChangedFile,
  type MemoryAuthor,
  type MemoryOperation,
  type RefusalReason,
  type Texts,
} from "./document.ts";

// How a change reaches the disk. Only one process at a time holds the channel's lock. It writes the planned
// change to `.memory/pending.json` by an atomic rename: from then on the change will be applied. It then
// overwrites each file, provided the text is the one that was read, appends one line to the log and deletes
// the pending file. The next holder of the lock finishes a change that a killed process left pending.

/** The folder in a channel for the runtime's lock and pending work. */
export const WORK_FOLDER = ".memory";

export interface ChannelFolder {
  /** The folder of one channel; nothing outside it is written. */
  readonly channelDir: string;
  /** Links in the channel may point into the workspace but not out of it; the channel must be inside. */
  readonly workspaceDir?: string;
  /** The requesting user; a channel that names its users rejects any other with `NotFound`. */
  readonly user?: string;
}

/** Resolved locations of a channel's files. */
export interface ChannelPlace {
  readonly channelDir: string;
  readonly work: string;
  /** The path of a file, links followed. Throws `NotFound` if a link leads outside. */
  path(file: ChangedFile | typeof LOG_FILE): Promise<string>;
}

/** Finds a channel's folder. Throws `NotFound` if it is outside the workspace or not for this user. */
export async function findChannel({ channelDir, workspaceDir, user }: ChannelFolder): Promise<ChannelPlace> {
  await checkUser(channelDir, user);
  const channel = await leadsTo(resolve(channelDir));
  const root = workspaceDir === undefined ? channel : await leadsTo(resolve(workspaceDir));
  if (!isInside(root, channel)) throw outside(channelDir);
  return {
    channelDir: channel,
    work: join(channel, WORK_FOLDER),
    async path(file) {
      const path = join(channel, file);
      const real = await leadsTo(path);
      if (!isInside(root, real)) throw outside(path);
      return real;
    },
  };
}

/** A file's text; undefined if there is no file. */
export async function readText(place: ChannelPlace, file: ChangedFile): Promise<string | undefined> {
  return (await readMemoryFile(await place.path(file)))?.text;
}

export async function readTexts(place: ChannelPlace): Promise<Texts> {
  const read = CHANGED_FILES.map(async (file) => [file, await readText(place, file)] as const);
  return Object.fromEntries(await Promise.all(read));
}

/** False if the channel has never been changed. */
export async function hasWork({ work }: ChannelPlace): Promise<boolean> {
  return lstat(work).then(
    () => true,
    () => false,
  );
}

/** Maximum wait for the lock. */
const WAIT_MS = 30_000;

/**
 * Runs `work` with the channel's lock, after finishing what a killed process left pending. The lock of a
 * process that has ended is taken over at once. Rejects with `Conflict` after 30 seconds without the lock.
 */
export async function withChannel<T>(
  folder: ChannelFolder,
  work: (place: ChannelPlace) => Promise<T>,
): Promise<T> {
  await findChannel(folder);
  await mkdir(folder.channelDir, { recursive: true });
  const place = await findChannel(folder);
  await checkLog(place);
  await mkdir(place.work, { recursive: true, mode: 0o700 });
  if (!(await lstat(place.work)).isDirectory()) throw outside(place.work);
  const path = join(place.work, "lock");
  const start = performance.now();
  for (let round = 0; ; round += 1) {
    const result = await claimed(path, async () => {
      for (const each of [place.work, place.channelDir]) await sweepTemps(each, Date.now());
      await recover(place);
      return work(place);
    });
    if ("done" in result) return result.done;
    if (performance.now() - start > WAIT_MS)
      throw new CompactError("Conflict", `another process (${result.owner.pid}) is changing this memory`, {
        place: path,
        hint: "Try again when it is done; a process that has ended loses the lock by itself.",
      });
    await sleep(2 + ((process.pid + 7 * round) % 20));
  }
}

/** A planned change with each file's text before and after; undefined if there is no file. */
export interface Pending {
  readonly change: Omit<MemoryChange, "files">;
  readonly edits: readonly {
    readonly file: ChangedFile;
    readonly before?: string;
    readonly after?: string;
  }[];
  /** False for a change that cannot be undone. */
  readonly keeps?: boolean;
}

const PENDING = "pending.json";

/** Makes a change durable, then applies it. */
export async function commitChange(place: ChannelPlace, pending: Pending): Promise<MemoryChange> {
  await writeMemoryFile(join(place.work, PENDING), JSON.stringify(pending));
  return finish(place, pending, false);
}

async function recover(place: ChannelPlace): Promise<void> {
  // Before 0.1, whole files were kept there for undo; the log replaced them.
  await rm(join(place.work, "undo"), { recursive: true, force: true });
  const pending = await readPending(place);
  if (pending === undefined) return;
  const { changes } = await readLog(place);
  const isLogged = changes.some(({ id }) => id === pending.change.id);
  await finish(place, pending, isLogged);
}

/** The pending change. It was written atomically: if it cannot be read, its content is unknown. */
export async function readPending(place: ChannelPlace): Promise<Pending | undefined> {
  const path = join(place.work, PENDING);
  const text = (await readMemoryFile(path))?.text;
  if (text === undefined) return undefined;
  const pending = parsedJson(text) as Partial<Pending> | null | undefined;
  if (typeof pending?.change?.id === "string" && Array.isArray(pending.edits)) return pending as Pending;
  throw new CompactError("StorageFailed", "a change that was not finished cannot be read", {
    place: path,
    hint: "Delete that file: the change in it is lost, the files stay as they are.",
  });
}

async function finish(
  place: ChannelPlace,
  { change, edits, keeps = true }: Pending,
  isLogged: boolean,
): Promise<MemoryChange> {
  const files: Partial<Record<ChangedFile, FileChange>> = {};
  const undo: FileEdit[] = [];
  for (const edit of edits.filter(({ file }) => CHANGED_FILES.includes(file))) {
    const done = await writeEdit(place, edit, Date.parse(change.time));
    files[edit.file] = done.change;
    undo.push(done.edit);
  }
  const whole: MemoryChange = { ...change, files };
  if (!isLogged) await appendChange(place, keeps ? { ...whole, edits: undo } : whole);
  await rm(join(place.work, PENDING), { force: true });
  return whole;
}

const MOST_CONFLICTS = 20;

/**
 * Writes over the exact text that was read and sets the file's time to the change's. What a person saved in
 * between is merged, and their lines win.
 */
async function writeEdit(
  place: ChannelPlace,
  { file, before, after }: Pending["edits"][number],
  modified: number,
): Promise<{ readonly change: FileChange; readonly edit: FileEdit }> {
  const path = await place.path(file);
  const planned = hunksBetween(before ?? "", after ?? "");
  for (let attempt = 1; ; attempt += 1) {
    const read = await readMemoryFile(path);
    const isMerged = read?.text !== before && read?.text !== after;
    const merged: { readonly text?: string; readonly left: readonly Hunk[] } = isMerged
      ? patch(read?.text ?? "", planned, false)
      : { text: after, left: [] };
    const { text, left } = merged;
    const isLast = attempt === MOST_CONFLICTS;
    if (!(await isReplaced(path, read, { text, modified, isLast }))) continue;
    const change = {
      before: versionOrNull(isMerged ? read?.text : before),
      after: versionOrNull(text),
      gaveWay: left.length > 0 || undefined,
    };
    const hunks = planned.filter((hunk) => !left.includes(hunk));
    const openEnd = /[^\r\n]$/.test(before ?? "") || undefined;
    return { change, edit: { file, hunks, openEnd, scrubbed: isMerged || undefined } };
  }
}

/** Replaces the text that was read. False after a concurrent change; the last attempt throws `Conflict`. */
async function isReplaced(
  path: string,
  read: MemoryFile | undefined,
  given: { readonly text: string | undefined; readonly modified: number; readonly isLast: boolean },
): Promise<boolean> {
  const { text, modified, isLast } = given;
  try {
    if (text === undefined) await rm(path, { force: true });
    else if (text !== read?.text)
      await writeMemoryFile(path, text, { ifVersion: read?.version ?? null, modified });
    return true;
  } catch (error) {
    if (!hasCode(error, "Conflict") || isLast) throw error;
    return false;
  }
}

/** The log of a channel's changes, one per line, oldest first. The newest ones include their undo data. */
export const LOG_FILE = "memory-log.jsonl";

/** An operation as logged: long texts are replaced by their length. */
export type LoggedOperation = Readonly<Record<string, unknown>> & { readonly op: MemoryOperation["op"] };

export interface FileChange {
  /** Versions; `null` if there was no file. */
  readonly before: string | null;
  readonly after: string | null;
  /** True if someone else changed the same lines at that moment; their text was kept. */
  readonly gaveWay?: boolean;
}

export interface MemoryChange {
  readonly id: string;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly author: MemoryAuthor;
  readonly reason: string;
  readonly sources: readonly string[];
  readonly files: Partial<Readonly<Record<ChangedFile, FileChange>>>;
  readonly operations: readonly LoggedOperation[];
  readonly refused: readonly {
    readonly operation: LoggedOperation;
    readonly reason: RefusalReason;
    readonly message: string;
  }[];
  /** The id of the change that this one undoes. */
  readonly undoes?: string;
}

/** What a change did to a file, for undo. */
export interface FileEdit {
  readonly file: ChangedFile;
  readonly hunks: readonly Hunk[];
  /** The text before did not end with a line break. */
  readonly openEnd?: boolean;
  /** The line numbers are not reliable: the file had other lines, or some of them were forgotten since. */
  readonly scrubbed?: boolean;
}

/** A log line; `edits` is present only while the change can be undone. */
export type LogEntry = MemoryChange & { readonly edits?: readonly FileEdit[] };

export interface ReadLog<Change = MemoryChange> {
  readonly changes: readonly Change[];
  /** Lines that cannot be parsed. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** All changes, oldest first. A change that two processes logged at once is listed once. */
export async function readLog(place: ChannelPlace): Promise<ReadLog<LogEntry>> {
  return readLogText((await readMemoryFile(await place.path(LOG_FILE)))?.text ?? "");
}

export function readLogText(text: string): ReadLog<LogEntry> {
  const changes = new Map<string, LogEntry>();
  const problems: { line: number; message: string }[] = [];
  text.split("\n").forEach((raw, index) => {
    if (raw.trim() === "") return;
    const change = parsedJson(raw) as Partial<LogEntry> | null | undefined;
    if (typeof change?.id !== "string" || !Array.isArray(change.operations))
      problems.push({ line: index + 1, message: "the line is cut off or damaged" });
    else if (!changes.has(change.id)) changes.set(change.id, change as LogEntry);
  });
  return { changes: [...changes.values()], problems };
}

/** Throws for a log that cannot be appended to: a change that is not logged could not be finished. */
async function checkLog(place: ChannelPlace): Promise<void> {
  const path = await place.path(LOG_FILE);
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined || (stats.isFile() && stats.nlink === 1)) return;
  const problem = stats.isFile() ? "has another name (a hard link)" : "is not a file";
  throw new CompactError("StorageFailed", `the log of the memory's changes ${problem}`, {
    place: path,
    hint: "Move it away, or put a copy there; without one the next change starts a new log.",
  });
}

/** Appends a change to the log; durable when it resolves. A line truncated by a crash stays on its own. */
async function appendChange(place: ChannelPlace, entry: LogEntry): Promise<void> {
  const path = await place.path(LOG_FILE);
  await appendDurably({ path, shown: path }, `${JSON.stringify(entry)}\n`, () => undefined);
  const { size } = await lstat(path);
  if (size > LONG_LOG) await rewriteLog(place, shortened((await readLog(place)).changes));
}

/** Above this many bytes the log is cut to this many changes, the newest with this much undo data. */
const LONG_LOG = 2_000_000;
const MOST_CHANGES = 1_000;
const MOST_UNDO = 1_000_000;

function shortened(entries: readonly LogEntry[]): readonly LogEntry[] {
  let whole = 0;
  let written = 0;
  const newest = entries.slice(-MOST_CHANGES).toReversed();
  const kept = newest.flatMap((entry): LogEntry[] => {
    const { edits: _, ...bare } = entry;
    whole += JSON.stringify(entry).length;
    const one = whole <= MOST_UNDO ? entry : bare;
    written += JSON.stringify(one).length;
    return written <= 1.5 * MOST_UNDO ? [one] : [];
  });
  return kept.toReversed();
}

/** Replaces the log's entries; unreadable lines are dropped. */
export async function rewriteLog(place: ChannelPlace, entries: readonly LogEntry[]): Promise<void> {
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  await writeMemoryFile(await place.path(LOG_FILE), text);
}

const LONGEST_LOGGED = 1_000;
/** Operation fields with free text. */
const WORDED: ReadonlySet<string> = new Set(["text", "section", "heading", "why", "source"]);
/** Operation fields that name what is forgotten; never logged. */
const UNTOLD: ReadonlySet<string> = new Set(["topic", "said"]);

/** An operation for the log, with secrets redacted: an item's text in full, other texts as a length. */
export function loggedOperation(
  operation: MemoryOperation,
  { redactText }: Pick<Redactor, "redactText">,
  id?: string,
): LoggedOperation {
  const { op, ...fields } = operation;
  const isItem = op === "add" || op === "supersede";
  const shown = Object.entries(fields).flatMap(([name, value]): (readonly [string, unknown])[] => {
    if (UNTOLD.has(name)) return [];
    if (typeof value !== "string" || !WORDED.has(name)) return [[name, value]];
    if (name === "text" && !isItem) return [["characters", value.length]];
    return [[name, redactText(value).slice(0, LONGEST_LOGGED)]];
  });
  return { op, id, ...Object.fromEntries(shown) };
}
