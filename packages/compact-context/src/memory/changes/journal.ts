import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CompactError, hasCode } from "../../errors.ts";
import { type MemoryFile, readMemoryFile, versionOf, writeMemoryFile } from "../files/write-file.ts";
import { CHANGED_FILES, type ChangedFile, type Texts } from "./apply.ts";
import { appendChange, type FileChange, type MemoryChange, readLog } from "./change-log.ts";
import type { ChannelPlace } from "./channel-files.ts";
import { mergeTexts } from "./merge.ts";
import { RETIRED_FILE, retiredAs, withRetired } from "./retired.ts";

/** A file's text before and after a change; undefined where there is no file. */
export interface FileEdit {
  readonly file: ChangedFile;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Everything a change does, in one file: from the moment it is in its place the change happens, whoever finishes it. */
interface Pending {
  readonly change: Omit<MemoryChange, "files">;
  readonly edits: readonly FileEdit[];
  /** It can be undone: its record is kept. */
  readonly keeps: boolean;
}

const PENDING = "pending.json";
/** Records of changes that can be undone, in the work folder. */
export const UNDO_FOLDER = "undo";
/** Changes that can be undone when nothing else is said. */
export const DEFAULT_UNDO = 50;

/** Makes a change durable, then does it; the newest `most` changes can be undone. */
export async function commitChange(
  place: ChannelPlace,
  pending: Pending,
  most: number,
): Promise<MemoryChange> {
  await writeMemoryFile(join(place.work, PENDING), JSON.stringify(pending));
  const done = await finish(place, { ...pending, logged: false });
  const folder = join(place.work, UNDO_FOLDER);
  const names = (await readdir(folder).catch((): string[] => [])).sort();
  for (const name of names.slice(0, Math.max(0, names.length - most)))
    await rm(join(folder, name), { force: true });
  return done;
}

/** Finishes what a process began that ended meanwhile. */
export async function recoverChange(place: ChannelPlace): Promise<void> {
  const pending = await readPending(join(place.work, PENDING));
  if (pending === undefined) return;
  const { changes } = await readLog(place.channelDir);
  await finish(place, { ...pending, logged: changes.some(({ id }) => id === pending.change.id) });
}

/** The id of a change that is on its way, or was when its process ended. Rejects where it cannot be read. */
export async function pendingChange(place: ChannelPlace): Promise<string | undefined> {
  return (await readPending(join(place.work, PENDING)))?.change.id;
}

/** It is put in its place whole: one that cannot be read was damaged later, and what it would have done is not known. */
async function readPending(path: string): Promise<Pending | undefined> {
  const text = (await readMemoryFile(path))?.text;
  if (text === undefined) return undefined;
  const damaged = (cause?: unknown): CompactError =>
    new CompactError("StorageFailed", "a change that was not finished cannot be read", {
      place: path,
      hint: "Delete that file: the change in it is lost, the files stay as they are.",
      cause,
    });
  try {
    const pending = JSON.parse(text) as Partial<Pending> | null;
    if (typeof pending?.change?.id === "string" && Array.isArray(pending.edits)) return pending as Pending;
  } catch (cause) {
    throw damaged(cause);
  }
  throw damaged();
}

async function finish(
  place: ChannelPlace,
  { change, edits, keeps, logged }: Pending & { readonly logged: boolean },
): Promise<MemoryChange> {
  const files: Partial<Record<ChangedFile, FileChange>> = {};
  for (const edit of edits) {
    if (CHANGED_FILES.includes(edit.file)) files[edit.file] = await writeEdit(place, edit);
  }
  const whole: MemoryChange = { ...change, files };
  if (!logged) await appendChange(place.channelDir, whole);
  const pending = join(place.work, PENDING);
  if (keeps === false) {
    await rm(pending, { force: true });
  } else {
    await mkdir(join(place.work, UNDO_FOLDER), { recursive: true, mode: 0o700 });
    await rename(pending, join(place.work, UNDO_FOLDER, `${change.id}.json`));
  }
  return whole;
}

const MOST_CONFLICTS = 20;

/** What a person saved since the change was planned is kept: their lines win, the change gets the rest. */
async function writeEdit(place: ChannelPlace, edit: FileEdit): Promise<FileChange> {
  const path = await place.path(edit.file);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await writeOver(path, await readMemoryFile(path), edit);
    } catch (error) {
      if (!hasCode(error, "Conflict") || attempt === MOST_CONFLICTS) throw error;
    }
  }
}

/** Over the very text that was read; rejects with `Conflict` where it is another one by now. */
async function writeOver(path: string, read: MemoryFile | undefined, edit: FileEdit): Promise<FileChange> {
  const { before, after } = edit;
  const now = read?.text;
  if (now === after) return { before: versionOrNull(before), after: versionOrNull(after) };
  const merged = now === before ? undefined : mergeTexts(before ?? "", now ?? "", after ?? "");
  const text = merged === undefined ? after : merged.text;
  if (text === undefined) await rm(path, { force: true });
  else await writeMemoryFile(path, text, { ifVersion: read?.version ?? null });
  const gaveWay = merged !== undefined && merged.left.length > 0 ? { gaveWay: true } : {};
  return { before: versionOrNull(now), after: versionOrNull(text), ...gaveWay };
}

function versionOrNull(text: string | undefined): string | null {
  return text === undefined ? null : versionOf(text);
}

// ---- undo

/** A part of a change that cannot be taken back, because the lines were changed again. */
export interface UndoLeft {
  readonly file: ChangedFile;
  /** Lines of the file as the change left it, from 1; the last one included. */
  readonly line: number;
  readonly lastLine: number;
  /** Later changes of that file, newest first: taking these back first makes the rest possible. */
  readonly later: readonly string[];
}

export interface UndoResult {
  /** Of the change that took it back; undefined when nothing was done. */
  readonly changeId: string | undefined;
  readonly left: readonly UndoLeft[];
}

/** What the files would be without a change. */
export async function planUndo(
  place: ChannelPlace,
  texts: Texts,
  { changeId, date }: { readonly changeId: string; readonly date: string },
): Promise<{ readonly texts: Texts; readonly left: readonly UndoLeft[] }> {
  const { changes } = await readLog(place.channelDir);
  const index = changes.findIndex(({ id }) => id === changeId);
  const change = changes[index];
  const missing = (message: string, hint: string): CompactError =>
    new CompactError("NotFound", message, { place: changeId, hint });
  if (change === undefined)
    throw missing(`the log has no change ${changeId}`, "Look at the list of changes for its id.");
  const backup = (await readPending(join(place.work, UNDO_FOLDER, `${changeId}.json`)))?.edits;
  if (backup === undefined)
    throw missing(
      `the files from before ${changeId} are no longer kept`,
      "Only the newest changes can be taken back; the log says what it did, so it can be done by hand.",
    );
  let after = texts;
  const left: UndoLeft[] = [];
  for (const edit of backup) {
    const merged = mergeTexts(edit.after ?? "", texts[edit.file] ?? "", edit.before ?? "");
    const gone = edit.before === undefined && merged.text === "";
    after = { ...after, [edit.file]: gone ? undefined : merged.text };
    const later = changes.slice(index + 1).filter(({ files }) => files[edit.file] !== undefined);
    left.push(
      ...merged.left.map(({ from, to }) => ({
        file: edit.file,
        line: from + 1,
        lastLine: Math.max(from + 1, to),
        later: later.map(({ id }) => id).toReversed(),
      })),
    );
  }
  return { texts: left.length === 0 ? notLearnedAgain(after, change, date) : after, left };
}

/** What was added and taken back is not wanted: a later extraction must not add it again. */
function notLearnedAgain(texts: Texts, change: MemoryChange, date: string): Texts {
  let retired = texts[RETIRED_FILE] ?? "";
  for (const { op, text } of change.operations) {
    if (op !== "add" || typeof text !== "string" || retiredAs(retired, text) !== undefined) continue;
    retired = withRetired(retired, { text, as: "invalidated", date, note: `undone, ${change.id}` });
  }
  return retired === (texts[RETIRED_FILE] ?? "") ? texts : { ...texts, [RETIRED_FILE]: retired };
}
