import { constants } from "node:fs";
import { type FileHandle, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { conflict } from "../../core/archive.ts";
import type { DriverWith } from "../../core/ports.ts";
import { CompactError, createKeyedMutex, requireOptions, requireText } from "../../errors.ts";
import { checkAppended, checkKey, checkPrefix, checkText, isKey } from "../keys.ts";
import { appendDurably } from "./append.ts";
import { storageFailed } from "./errors.ts";
import { openPlain, type PlacedFile, type TempFile, textPieces, writeTemp } from "./files.ts";
import { createFolders, type Folders, type Place, syncFolder } from "./folders.ts";
import { dropTemp } from "./temps.ts";
import {
  commitFirst,
  commitNext,
  nameOfVersion,
  newestFile,
  readNewest,
  readVersion,
  versionFile,
  versionNumbers,
  versionPath,
} from "./versions.ts";

const PUT_ATTEMPTS = 100;
const ROOT_HINT = 'Pass the folder of the archive: { root: ".compact" }.';

export interface FsDriverOptions {
  readonly root: string;
  /** Told of a record that a crash cut off. */
  readonly warn?: (message: string) => void;
}

/**
 * Keeps values as files under `root`: mode 0600 in folders of mode 0700, no symbolic link followed.
 * `put` is atomic and durable, and exact between processes; `append` is meant for one process at a time.
 * Folders under `root` are made or tightened to 0700; a `root` that is there already keeps its mode.
 */
export function createFsDriver(options: FsDriverOptions): DriverWith<"putChunks" | "version"> {
  requireOptions(options, "options", ROOT_HINT);
  const { root, warn = () => undefined } = options;
  requireText(root, "options.root", ROOT_HINT);
  const folders = createFolders(root);
  const inTurn = createKeyedMutex();
  const location = resolve(root);

  const guarded = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await inTurn(key, work);
    } catch (error) {
      throw storageFailed(error, join(location, key));
    }
  };
  const putChunks: DriverWith<"putChunks">["putChunks"] = (key, chunks, { ifVersion } = {}) =>
    guarded(key, async () => {
      checkKey(key);
      return folders.make(key, async (place) => {
        const temp = await writeTemp(place, checkedChunks(chunks, key));
        try {
          return { version: await commit(place, temp, ifVersion, key) };
        } finally {
          await dropTemp(temp.path);
        }
      });
    });

  return {
    location,
    get: (key) =>
      guarded(key, async () => {
        checkKey(key);
        return folders.find(key, readNewest);
      }),
    async *stream(key) {
      const handle = await guarded(key, () => openNewest(folders, key));
      if (handle === undefined) return;
      try {
        yield* textPieces(handle);
      } catch (error) {
        throw storageFailed(error, join(location, key));
      }
    },
    version: (key) =>
      guarded(key, async () => {
        checkKey(key);
        return folders.find(key, readVersion);
      }),
    put: (key, value, putOptions) => putChunks(key, [value], putOptions),
    putChunks,
    append: (key, text) => guarded(key, () => append(folders, { key, text, warn })),
    list: (prefix) => guarded(prefix, () => listKeys(folders, prefix)),
    delete: (key) => guarded(key, () => remove(folders, key)),
  };
}

async function openNewest(folders: Folders, key: string): Promise<FileHandle | undefined> {
  checkKey(key);
  const open = (file: PlacedFile): Promise<FileHandle | undefined> => openPlain(file, constants.O_RDONLY);
  return folders.find(key, async (place) => (await newestFile(place, open))?.content);
}

function* checkedChunks(chunks: Iterable<string>, key: string): Generator<string> {
  for (const chunk of chunks) {
    checkText(chunk, key);
    yield chunk;
  }
}

async function commit(
  place: Place,
  temp: TempFile,
  ifVersion: string | null | undefined,
  key: string,
): Promise<string> {
  if (ifVersion === null) return commitFirst(place, temp, key);
  if (ifVersion !== undefined) return commitNext(place, temp, ifVersion, key);
  for (let attempt = 0; attempt < PUT_ATTEMPTS; attempt++) {
    const current = await readVersion(place);
    try {
      if (current === undefined) return await commitFirst(place, temp, key);
      return await commitNext(place, temp, current, key);
    } catch (error) {
      if (!(CompactError.isInstance(error) && error.code === "Conflict")) throw error;
    }
  }
  throw conflict(key);
}

interface Append {
  readonly key: string;
  readonly text: string;
  warn(message: string): void;
}

async function append(folders: Folders, { key, text, warn }: Append): Promise<void> {
  checkKey(key);
  checkAppended(text, key);
  await folders.make(key, async (place) => {
    const newest = (await versionNumbers(place)).at(-1);
    const isNew = newest === undefined && !(await readdir(place.folder)).includes(place.name);
    // A put value has a second name, the one for people: it is written anew instead of in place.
    if (newest !== undefined) return rewriteWith(place, key, text);
    await appendDurably(versionFile(place, 0), text, warn);
    if (isNew) await syncFolder(place.folder);
  });
}

async function rewriteWith(place: Place, key: string, text: string): Promise<void> {
  const current = (await readNewest(place))?.value ?? "";
  const temp = await writeTemp(place, [current, text]);
  try {
    await commit(place, temp, undefined, key);
  } finally {
    await dropTemp(temp.path);
  }
}

async function remove(folders: Folders, key: string): Promise<void> {
  checkKey(key);
  await folders.find(key, async (place) => {
    // Oldest first: after a crash half-way the newest value is still the one that is read.
    for (const number of [0, ...(await versionNumbers(place))]) {
      await rm(versionPath(place, number), { force: true });
    }
    await syncFolder(place.folder);
  });
}

async function listKeys(folders: Folders, prefix: string): Promise<string[]> {
  checkPrefix(prefix);
  const parent = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const keys = new Set<string>();
  await collectKeys(folders, parent, (key) => {
    if (key.startsWith(prefix)) keys.add(key);
  });
  return [...keys].sort();
}

async function collectKeys(folders: Folders, parent: string, found: (key: string) => void): Promise<void> {
  const entries = await folders.find(`${parent}x`, ({ folder }) => readdir(folder, { withFileTypes: true }));
  for (const entry of entries ?? []) {
    const name = nameOfVersion(entry.name) ?? entry.name;
    if (name.startsWith(".")) continue;
    if (entry.isDirectory()) await collectKeys(folders, `${parent}${name}/`, found);
    else if (entry.isFile() && isKey(parent + name)) found(parent + name);
  }
}
