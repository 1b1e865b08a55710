import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CompactError } from "../../errors.ts";
import { readMemoryFile, syncFolder, versionOf } from "../files/write-file.ts";
import { appendChange, type FileChange, type MemoryChange, readLog } from "./change-log.ts";
import type { ChannelPlace } from "./channel-files.ts";
import type { ChannelLock } from "./lock.ts";
import { mergeTexts } from "./merge.ts";
import { CHANGED_FILES, type ChangedFile } from "./plan.ts";

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
}

const PENDING = "pending.json";

/** Makes a change durable, then does it. Rejects with `LOCK_LOST` when another process took over. */
export async function commitChange(
  place: ChannelPlace,
  lock: ChannelLock,
  pending: Pending,
): Promise<MemoryChange> {
  await lock.stage(PENDING, JSON.stringify(pending));
  await lock.commit(PENDING, join(place.work, PENDING));
  return finish(place, lock, { ...pending, logged: false });
}

/** Finishes what a process began that ended meanwhile. */
export async function recoverChange(
  place: ChannelPlace,
  lock: ChannelLock,
): Promise<MemoryChange | undefined> {
  const pending = await readPending(place);
  if (pending === undefined) return undefined;
  const { changes } = await readLog(place.channelDir);
  return finish(place, lock, { ...pending, logged: changes.some(({ id }) => id === pending.change.id) });
}

/** The id of a change that is on its way, or was when its process ended. Rejects as `recoverChange` does. */
export async function pendingChange(place: ChannelPlace): Promise<string | undefined> {
  return (await readPending(place))?.change.id;
}

/** It is put in its place whole: one that cannot be read was damaged later, and what it would have done is not known. */
async function readPending(place: ChannelPlace): Promise<Pending | undefined> {
  const path = join(place.work, PENDING);
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
  lock: ChannelLock,
  { change, edits, logged }: Pending & { readonly logged: boolean },
): Promise<MemoryChange> {
  const files: Partial<Record<ChangedFile, FileChange>> = {};
  for (const edit of edits) {
    if (CHANGED_FILES.includes(edit.file)) files[edit.file] = await writeEdit(place, lock, edit);
  }
  const whole: MemoryChange = { ...change, files };
  if (!logged) await appendChange(place.channelDir, whole);
  await lock.remove(join(place.work, PENDING), `${PENDING}.done`);
  return whole;
}

/** What a person saved since the change was planned is kept: their lines win, the change gets the rest. */
async function writeEdit(place: ChannelPlace, lock: ChannelLock, edit: FileEdit): Promise<FileChange> {
  const { file, before, after } = edit;
  const path = await place.path(file);
  const now = (await readMemoryFile(path))?.text;
  const change = { before: versionOrNull(before), after: versionOrNull(after) };
  if (now === after) return change;
  if (now === before) {
    await put(lock, { file, path, text: after });
    return change;
  }
  const merged = mergeTexts(before ?? "", now ?? "", after ?? "");
  await put(lock, { file, path, text: merged.text });
  const gaveWay = merged.left.length > 0 ? { gaveWay: true } : {};
  return { before: versionOrNull(now), after: versionOrNull(merged.text), ...gaveWay };
}

async function put(
  lock: ChannelLock,
  { file, path, text }: { readonly file: string; readonly path: string; readonly text: string | undefined },
): Promise<void> {
  if (text === undefined) {
    await lock.remove(path, `${file}.gone`);
    return;
  }
  await lock.stage(file, text, await modeOf(path));
  await lock.commit(file, path);
  await syncFolder(dirname(path));
}

function versionOrNull(text: string | undefined): string | null {
  return text === undefined ? null : versionOf(text);
}

async function modeOf(path: string): Promise<number> {
  return lstat(path).then(
    (stats) => stats.mode & 0o777,
    () => 0o600,
  );
}
