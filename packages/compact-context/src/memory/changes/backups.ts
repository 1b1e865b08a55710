import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readMemoryFile } from "../files/write-file.ts";
import type { ChannelPlace } from "./channel-files.ts";
import type { FileEdit } from "./journal.ts";
import { CHANGED_FILES } from "./plan.ts";

/** Changes whose files are kept as they were before and after, newest last. */
export const DEFAULT_BACKUPS = 50;

const AFTER = ".after";

/** Keeps the files of a change as they were and will be: `.memory/backups/CHANGE/MEMORY.md` and `MEMORY.md.after`. */
export async function keepBackup(
  place: ChannelPlace,
  changeId: string,
  edits: readonly FileEdit[],
): Promise<void> {
  const folder = folderOf(place, changeId);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { file, before, after } of edits) {
    if (before !== undefined) await writeFile(join(folder, file), before, { mode: 0o600 });
    if (after !== undefined) await writeFile(join(folder, file + AFTER), after, { mode: 0o600 });
  }
}

/** What a change did to each file; undefined when its backup is gone. */
export async function readBackup(
  place: ChannelPlace,
  changeId: string,
): Promise<readonly FileEdit[] | undefined> {
  const folder = folderOf(place, changeId);
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) return undefined;
  const edits = CHANGED_FILES.filter((file) => names.includes(file) || names.includes(file + AFTER)).map(
    async (file) => ({
      file,
      before: (await readMemoryFile(join(folder, file)))?.text,
      after: (await readMemoryFile(join(folder, file + AFTER)))?.text,
    }),
  );
  return Promise.all(edits);
}

/** Removes the oldest backups beyond `most`; ids sort by their time. */
export async function pruneBackups(place: ChannelPlace, most: number): Promise<void> {
  const names = (await readdir(join(place.work, "backups"))).filter((name) => name.startsWith("c-")).sort();
  for (const name of names.slice(0, Math.max(0, names.length - most))) {
    await rm(folderOf(place, name), { recursive: true, force: true });
  }
}

function folderOf(place: ChannelPlace, changeId: string): string {
  return join(place.work, "backups", changeId);
}
