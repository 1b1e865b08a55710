import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CompactError, hasCode } from "../../errors.ts";
import { type MemoryFile, readMemoryFile, versionOf, writeMemoryFile } from "../files/write-file.ts";
import { linesOf } from "../markdown.ts";
import { CHANGED_FILES, type ChangedFile, type Texts } from "./apply.ts";
import { appendChange, type FileChange, type MemoryChange, readLog } from "./change-log.ts";
import type { ChannelPlace } from "./channel-files.ts";
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

/** Ids sort as the changes came, also where the clock stands still or goes back. */
export async function nextChangeId(
  { work }: ChannelPlace,
  { now, randomId }: { readonly now: () => number; readonly randomId: () => string },
): Promise<string> {
  const newest = (await undoRecords(work)).at(-1);
  const after = newest === undefined ? 0 : Number.parseInt(newest.slice(2, 10), 36) + 1;
  const time = Math.max(now(), after).toString(36).padStart(8, "0");
  return `c-${time}${randomId().replaceAll("-", "").slice(0, 4)}`;
}

/** Names of the records, oldest first. */
async function undoRecords(work: string): Promise<readonly string[]> {
  return (await readdir(join(work, UNDO_FOLDER)).catch((): string[] => [])).sort();
}

/** Makes a change durable, then does it; the newest `most` changes can be undone. */
export async function commitChange(
  place: ChannelPlace,
  pending: Pending,
  most: number,
): Promise<MemoryChange> {
  await writeMemoryFile(join(place.work, PENDING), JSON.stringify(pending));
  const done = await finish(place, { ...pending, logged: false });
  const names = await undoRecords(place.work);
  for (const name of names.slice(0, Math.max(0, names.length - most)))
    await rm(join(place.work, UNDO_FOLDER, name), { force: true });
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

/** Lines `from` up to `to` of the base, counted from 0, are replaced by `lines`. */
interface Hunk {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Beyond so many comparisons what differs counts as one change. */
const MOST_CELLS = 4_000_000;

/** What makes `other` of `base`, line by line, with as few changed lines as can be. */
export function diffLines(base: readonly string[], other: readonly string[]): readonly Hunk[] {
  let start = 0;
  while (start < base.length && start < other.length && base[start] === other[start]) start++;
  let end = 0;
  const most = Math.min(base.length, other.length) - start;
  while (end < most && base[base.length - 1 - end] === other[other.length - 1 - end]) end++;
  const one = base.slice(start, base.length - end);
  const two = other.slice(start, other.length - end);
  if (one.length === 0 && two.length === 0) return [];
  if (one.length === 0 || two.length === 0 || one.length * two.length > MOST_CELLS) {
    return [{ from: start, to: start + one.length, lines: two }];
  }
  return hunksOf(one, two, commonAfter(one, two)).map(({ from, to, lines }) => ({
    from: from + start,
    to: to + start,
    lines,
  }));
}

/** For every pair of places how many lines the rests have in common, in order. */
function commonAfter(one: readonly string[], two: readonly string[]): (i: number, j: number) => number {
  const width = two.length + 1;
  const table = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = two.length - 1; j >= 0; j--) {
      table[i * width + j] =
        one[i] === two[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  return (i, j) => table[i * width + j] ?? 0;
}

function hunksOf(
  one: readonly string[],
  two: readonly string[],
  common: (i: number, j: number) => number,
): readonly Hunk[] {
  const hunks: { from: number; to: number; lines: string[] }[] = [];
  const open = (i: number): { from: number; to: number; lines: string[] } => {
    const last = hunks.at(-1);
    if (last?.to === i) return last;
    const next = { from: i, to: i, lines: [] };
    hunks.push(next);
    return next;
  };
  let i = 0;
  let j = 0;
  while (i < one.length || j < two.length) {
    if (i < one.length && j < two.length && one[i] === two[j]) {
      i++;
      j++;
    } else if (j < two.length && (i >= one.length || common(i, j + 1) >= common(i + 1, j))) {
      open(i).lines.push(two[j] ?? "");
      j++;
    } else {
      open(i).to = i + 1;
      i++;
    }
  }
  return hunks;
}

interface Merged {
  readonly text: string;
  /** Changes of `wanted` left out, because `now` changed the same lines. */
  readonly left: readonly Hunk[];
  readonly taken: number;
}

/** What `wanted` changed of `base`, done to `now` as well, wherever `now` has those lines as they were. */
export function mergeTexts(base: string, now: string, wanted: string): Merged {
  if (now === base) return { text: wanted, left: [], taken: 1 };
  const lines = endedLines(base);
  const theirs = diffLines(lines, endedLines(now));
  const ours = diffLines(lines, endedLines(wanted));
  const left = ours.filter((hunk) => theirs.some((other) => overlap(hunk, other) && !same(hunk, other)));
  const taken = ours.filter((hunk) => !left.includes(hunk) && !theirs.some((other) => same(hunk, other)));
  const end = /\r\n|\n|\r/.exec(now)?.[0] ?? "\n";
  const merged = [...lines];
  // From the end, so that places stay; at one place the restored lines come first.
  const all = [...taken.map((hunk) => ({ hunk, rank: 1 })), ...theirs.map((hunk) => ({ hunk, rank: 0 }))];
  all.sort((a, b) => b.hunk.from - a.hunk.from || b.hunk.to - a.hunk.to || a.rank - b.rank);
  for (const { hunk } of all) merged.splice(hunk.from, hunk.to - hunk.from, ...hunk.lines);
  const last = /[\r\n]$/.test(now) || now === "" ? end : "";
  return { text: merged.length === 0 ? "" : merged.join(end) + last, left, taken: taken.length };
}

/** Lines without the empty one behind the last line end: what is added at the end is then apart from it. */
function endedLines(text: string): readonly string[] {
  const lines = linesOf(text);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function overlap(one: Hunk, other: Hunk): boolean {
  return one.from < other.to && other.from < one.to;
}

function same(one: Hunk, other: Hunk): boolean {
  return (
    one.from === other.from &&
    one.to === other.to &&
    one.lines.length === other.lines.length &&
    one.lines.every((line, index) => line === other.lines[index])
  );
}
