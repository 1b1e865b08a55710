import { constants } from "node:fs";
import { type FileHandle, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { conflict } from "../../core/archive.ts";
import type { CallOptions, ListOptions, StorageDriver } from "../../core/ports.ts";
import {
  abortable,
  createKeyedMutex,
  hasCode,
  refuseAborted,
  requireOptions,
  requireText,
} from "../../errors.ts";
import { checkedPieces, checkKey, checkPrefix, isKey, recordsText } from "../keys.ts";
import {
  appendDurably,
  commitFirst,
  commitNext,
  dropTemp,
  nameOfVersion,
  newestFile,
  openPlain,
  type PlacedFile,
  readNewest,
  readVersion,
  sweepTemps,
  type TempFile,
  textPieces,
  versionFile,
  versionNumbers,
  versionPath,
  writeTemp,
} from "./files.ts";
import { createFolders, entriesOf, type Folders, type Place, storageFailed } from "./folders.ts";

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
export function createFsDriver(options: FsDriverOptions): StorageDriver {
  requireOptions(options, "options", ROOT_HINT);
  const { root, warn = () => undefined } = options;
  requireText(root, "options.root", ROOT_HINT);
  const folders = createFolders(root);
  const inTurn = createKeyedMutex();
  const location = resolve(root);

  const guarded = async <T>(
    key: string,
    work: () => Promise<T>,
    { signal }: CallOptions = {},
  ): Promise<T> => {
    try {
      const turn = inTurn(key, async () => {
        refuseAborted(signal);
        return work();
      });
      return await abortable(turn, signal);
    } catch (error) {
      throw storageFailed(error, join(location, key));
    }
  };

  return {
    location,
    get: (key, call) => guarded(key, () => at(key, readNewest), call),
    version: (key, call) => guarded(key, () => at(key, readVersion), call),
    async *stream(key) {
      const handle = await guarded(key, () => openNewest(folders, key));
      if (handle === undefined) return;
      try {
        yield* textPieces(handle);
      } catch (error) {
        throw storageFailed(error, join(location, key));
      }
    },
    put: (key, value, call) =>
      guarded(key, () => put(folders, { key, value, ifVersion: call?.ifVersion }), call),
    append: (key, records, call) => guarded(key, () => append(folders, { key, records, warn }), call),
    list: (prefix, call) => guarded(prefix, () => listKeys(folders, prefix, call), call),
    delete: (key, call) => guarded(key, () => remove(folders, key), call),
    async *entries(prefix) {
      for (const key of await guarded(prefix, () => listKeys(folders, prefix))) {
        const handle = await guarded(key, () => openNewest(folders, key));
        if (handle === undefined) continue;
        try {
          const { size, mtimeMs } = await handle.stat();
          yield { key, bytes: size, at: mtimeMs };
        } finally {
          await handle.close();
        }
      }
    },
  };

  async function at<T>(key: string, read: (place: Place) => Promise<T>): Promise<T | undefined> {
    checkKey(key);
    return folders.find(key, read);
  }
}

interface Put {
  readonly key: string;
  readonly value: string | Iterable<string>;
  readonly ifVersion: string | null | undefined;
}

async function put(folders: Folders, { key, value, ifVersion }: Put): Promise<{ readonly version: string }> {
  checkKey(key);
  return folders.make(key, async (place) => {
    const temp = await writeTemp(place, checkedPieces(value, key));
    try {
      return { version: await commit(place, temp, ifVersion, key) };
    } finally {
      await dropTemp(temp.path);
    }
  });
}

async function openNewest(folders: Folders, key: string): Promise<FileHandle | undefined> {
  checkKey(key);
  const open = (file: PlacedFile): Promise<FileHandle | undefined> => openPlain(file, constants.O_RDONLY);
  return folders.find(key, async (place) => (await newestFile(place, open))?.content);
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
      if (!hasCode(error, "Conflict")) throw error;
    }
  }
  throw conflict(key);
}

interface Append {
  readonly key: string;
  readonly records: string | readonly string[];
  warn(message: string): void;
}

async function append(folders: Folders, { key, records, warn }: Append): Promise<void> {
  checkKey(key);
  const text = recordsText(records, key);
  await folders.make(key, async (place) => {
    const newest = (await versionNumbers(place)).at(-1);
    const isNew =
      newest === undefined && !(await entriesOf(place.folder)).some(({ name }) => name === place.name);
    // A put value has a second name, the one for people: it is written anew instead of in place.
    if (newest !== undefined) return rewriteWith(place, key, text);
    await appendDurably(versionFile(place, 0), text, warn);
    if (isNew) await place.sync();
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
    if ((await entriesOf(place.folder)).length === 0) return;
    // Oldest first: after a crash half-way the newest value is still the one that is read.
    for (const number of [0, ...(await versionNumbers(place))]) {
      await rm(versionPath(place, number), { force: true });
    }
    // What a writer left behind that died half-way may hold the same.
    await sweepTemps(place.folder, Date.now());
    await place.sync();
  });
  await folders.prune(key);
}

/** As far as a page goes: what stands before and behind it is not looked at. */
async function listKeys(folders: Folders, prefix: string, options: ListOptions = {}): Promise<string[]> {
  checkPrefix(prefix);
  const { after = "", limit = Number.POSITIVE_INFINITY } = options;
  const found: string[] = [];
  for await (const key of keysBelow(folders, prefix.slice(0, prefix.lastIndexOf("/") + 1), {
    prefix,
    after,
  })) {
    if (found.length >= limit) break;
    found.push(key);
  }
  return found;
}

/** Folder by folder in the order of the keys. */
async function* keysBelow(
  folders: Folders,
  parent: string,
  page: { readonly prefix: string; readonly after: string },
): AsyncGenerator<string> {
  const { prefix, after } = page;
  for (const path of await pathsIn(folders, parent)) {
    const isFolder = path.endsWith("/");
    const isPassed = path <= after && !(isFolder && after.startsWith(path));
    if (isPassed || !path.startsWith(prefix)) continue;
    if (isFolder) yield* keysBelow(folders, path, page);
    else yield path;
  }
}

/** Keys in a folder, and folders in it with a slash behind them, sorted. */
async function pathsIn(folders: Folders, parent: string): Promise<string[]> {
  const entries = await folders.find(`${parent}x`, ({ folder }) => entriesOf(folder));
  const paths = new Set<string>();
  for (const entry of entries ?? []) {
    const name = nameOfVersion(entry.name) ?? entry.name;
    if (name.startsWith(".")) continue;
    if (entry.isDirectory()) paths.add(`${parent}${name}/`);
    else if (entry.isFile() && isKey(parent + name)) paths.add(parent + name);
  }
  return [...paths].sort();
}
