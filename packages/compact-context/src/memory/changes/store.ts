import { lstat, mkdir, realpath, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError, hasCode } from "../../errors.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { appendDurably } from "../../storage/fs/files.ts";
import { sweepTemps } from "../../storage/fs/temps.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";
import { checkUser, isInside, leadsTo, outside } from "../files/folders.ts";
import {
  type MemoryFile,
  readMemoryFile,
  takeClaim,
  versionOrNull,
  writeMemoryFile,
} from "../files/write-file.ts";
import type { MemoryAuthor, MemoryOperation, RefusalReason } from "./document.ts";
import { type Hunk, hunksBetween, patch } from "./patch.ts";
import { CHANGED_FILES, type ChangedFile, type Texts } from "./plan.ts";

// How a change gets to the disk. One process at a time holds the channel's lock. It writes down what it is about to do
// (`.memory/pending.json`, put in its place by a rename: from then on the change happens), writes each file over the very
// text that was read, adds one line to the log and removes what it wrote down. Who takes the lock next does the same with
// what a process left that was killed in between.

/** The folder in a channel where the runtime keeps its lock and what waits. */
export const WORK_FOLDER = ".memory";

export interface ChannelFolder {
  /** The folder of one channel; nothing outside it is written. */
  readonly channelDir: string;
  /** Links in the channel may lead into the workspace, not out of it; the channel must be inside. */
  readonly workspaceDir?: string;
  /** Who asks; a channel that names its users gives `NotFound` to anybody else. */
  readonly user?: string;
}

/** Where a channel's files really are. */
export interface ChannelPlace {
  readonly channelDir: string;
  readonly work: string;
  /** The file itself, links followed. Throws `NotFound` for one that a link puts elsewhere. */
  path(file: ChangedFile): Promise<string>;
}

/** Finds a channel's folder; `NotFound` when it is not inside the workspace, links followed, or for other users. */
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
      const real = await realpath(path).catch(() => path);
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

/** False for a channel that nothing has changed yet. */
export async function hasWork({ work }: ChannelPlace): Promise<boolean> {
  return lstat(work).then(
    () => true,
    () => false,
  );
}

/** How long a change waits for the lock. */
const WAIT_MS = 30_000;

/**
 * Runs work as the only process that changes the channel, after what another one left half-way is finished. An owner that
 * has ended is taken over at once. Rejects with `Conflict` when the lock is not got in 30 seconds.
 */
export async function withChannel<T>(
  folder: ChannelFolder,
  work: (place: ChannelPlace) => Promise<T>,
): Promise<T> {
  await findChannel(folder);
  await mkdir(folder.channelDir, { recursive: true });
  const place = await findChannel(folder);
  await mkdir(place.work, { recursive: true, mode: 0o700 });
  if (!(await lstat(place.work)).isDirectory()) throw outside(place.work);
  const path = join(place.work, "lock");
  const start = performance.now();
  for (let round = 0; ; round += 1) {
    const taken = await takeClaim(path, { fromItself: false });
    if ("claim" in taken) {
      const stopKeeping = taken.claim.keep();
      try {
        for (const each of [place.work, place.channelDir]) await sweepTemps(each, Date.now());
        await recover(place);
        return await work(place);
      } finally {
        stopKeeping();
        await taken.claim.release();
      }
    }
    if (performance.now() - start > WAIT_MS)
      throw new CompactError("Conflict", `another process (${taken.owner.pid}) is changing this memory`, {
        place: path,
        hint: "Try again when it is done; a process that has ended loses the lock by itself.",
      });
    await sleep(2 + ((process.pid + 7 * round) % 20));
  }
}

/** A change that is decided: with the files' texts before and after, undefined if there is no file. */
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

/** Makes a change durable, then does it. */
export async function commitChange(place: ChannelPlace, pending: Pending): Promise<MemoryChange> {
  await writeMemoryFile(join(place.work, PENDING), JSON.stringify(pending));
  return finish(place, pending, false);
}

async function recover(place: ChannelPlace): Promise<void> {
  // Until 0.1 whole files were kept there for undo; the log has it now.
  await rm(join(place.work, "undo"), { recursive: true, force: true });
  const pending = await readPending(place);
  if (pending === undefined) return;
  const { changes } = await readLog(place.channelDir);
  const isLogged = changes.some(({ id }) => id === pending.change.id);
  await finish(place, pending, isLogged);
}

/** The unfinished change. It was put in place whole: if it cannot be read, what it would have done is unknown. */
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
  if (!isLogged) await appendChange(place.channelDir, keeps ? { ...whole, edits: undo } : whole);
  await rm(join(place.work, PENDING), { force: true });
  return whole;
}

const MOST_CONFLICTS = 20;

/**
 * Writes over the exact text that was read; the file is as old as the change. What a person saved meanwhile stays, and
 * their lines win.
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
    const merged = isMerged ? patch(read?.text ?? "", planned, false) : { text: after, left: [] };
    if (!(await isWritten(path, merged.text, { read, modified, isLast: attempt === MOST_CONFLICTS })))
      continue;
    const { text, left }: { text?: string; left: readonly Hunk[] } = merged;
    const hunks = planned.filter((hunk) => !left.includes(hunk));
    return {
      change: {
        before: versionOrNull(isMerged ? read?.text : before),
        after: versionOrNull(text),
        gaveWay: left.length > 0 || undefined,
      },
      edit: {
        file,
        hunks,
        openEnd: /[^\r\n]$/.test(before ?? "") || undefined,
        moved: isMerged || undefined,
      },
    };
  }
}

/** Replaces the text that was read; false if somebody else did meanwhile, `Conflict` if it is the last attempt. */
async function isWritten(
  path: string,
  text: string | undefined,
  given: { readonly read: MemoryFile | undefined; readonly modified: number; readonly isLast: boolean },
): Promise<boolean> {
  const { read, modified, isLast } = given;
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

/** The list of a channel's changes, one line each, oldest first; the newest with what takes them back. */
export const LOG_FILE = "memory-log.jsonl";

/** An operation as the log shows it: long texts by their length. */
export type LoggedOperation = Readonly<Record<string, unknown>> & { readonly op: MemoryOperation["op"] };

export interface FileChange {
  /** Versions, `null` where there was no file. */
  readonly before: string | null;
  readonly after: string | null;
  /** True when somebody else changed the same lines at that moment, whose text was left. */
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
  /** The change that this one takes back. */
  readonly undoes?: string;
}

/** What a change did to a file, for taking it back. */
export interface FileEdit {
  readonly file: ChangedFile;
  readonly hunks: readonly Hunk[];
  /** The text before had no line end at its end. */
  readonly openEnd?: boolean;
  /** The places of its lines do not hold: the file had other lines, or some of them were forgotten since. */
  readonly moved?: boolean;
}

/** A line of the log; `edits` only while the change can be undone. */
export type LogEntry = MemoryChange & { readonly edits?: readonly FileEdit[] };

export interface ReadLog<Change = MemoryChange> {
  readonly changes: readonly Change[];
  /** Lines that cannot be read. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** All changes, oldest first; one that was written twice, by two processes at once, is there once. */
export async function readLog(channelDir: string): Promise<ReadLog<LogEntry>> {
  return readLogText((await readMemoryFile(join(channelDir, LOG_FILE)))?.text ?? "");
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

/** Adds a change to the log; durable when it resolves. A line that a crash cut off stays, as a line of its own. */
async function appendChange(channelDir: string, entry: LogEntry): Promise<void> {
  const place = { folder: channelDir, shown: channelDir, name: LOG_FILE };
  await appendDurably({ place, name: LOG_FILE }, `${JSON.stringify(entry)}\n`, () => undefined);
  const { size } = await lstat(join(channelDir, LOG_FILE));
  if (size > LONG_LOG) await rewriteLog(channelDir, shortened((await readLog(channelDir)).changes));
}

/** Bytes beyond which the log is shortened: to so many changes, the newest with their undo data while that fits. */
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

/** Replaces the log's entries; lines that cannot be read leave. */
export async function rewriteLog(channelDir: string, entries: readonly LogEntry[]): Promise<void> {
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  await writeMemoryFile(join(channelDir, LOG_FILE), text);
}

const LONGEST_LOGGED = 1_000;
/** Fields of operations that callers word as they like. */
const WORDED: ReadonlySet<string> = new Set(["text", "section", "heading", "why", "source"]);
/** Fields that name what is forgotten. */
const UNTOLD: ReadonlySet<string> = new Set(["topic", "said"]);

/** An operation for the log, without secrets: an item's text as it is, that of sections and files by its length. */
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
