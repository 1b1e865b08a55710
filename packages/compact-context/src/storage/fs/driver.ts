import { constants } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
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
  isThere,
  nameOfVersion,
  newestFile,
  type OpenFile,
  openPlain,
  type PlacedFile,
  readNewest,
  readVersion,
  removeVersions,
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
    version: (key, call) =>
      guarded(key, async () => ((await isMissing(root, key)) ? undefined : at(key, readVersion)), call),
    async *stream(key) {
      const file = await guarded(key, () => openNewest(folders, key));
      if (file === undefined) return;
      try {
        yield* textPieces(file);
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
        const file = await guarded(key, () => openNewest(folders, key));
        if (file === undefined) continue;
        await file.handle.close();
        yield { key, bytes: file.stats.size, at: file.stats.mtimeMs };
      }
    },
  };

  async function at<T>(key: string, read: (place: Place) => Promise<T>): Promise<T | undefined> {
    checkKey(key);
    return folders.find(key, read);
  }
}

/**
 * True where one or three looks tell that nothing is at a key, as of most keys whose version is asked for. Links on the way
 * are followed here, which can only make something look missing that whoever set the link could have removed as well.
 */
async function isMissing(root: string, key: string): Promise<boolean> {
  checkKey(key);
  const path = join(root, key);
  const place = { folder: dirname(path), name: basename(path) };
  try {
    if (!(await isThere(place.folder))) return true;
    return !(await isThere(versionPath(place, 0))) && !(await isThere(versionPath(place, 1)));
  } catch {
    return false;
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
    return { version: await commitOrDrop(place, temp, ifVersion, key) };
  });
}

async function openNewest(folders: Folders, key: string): Promise<OpenFile | undefined> {
  checkKey(key);
  const open = (file: PlacedFile): Promise<OpenFile | undefined> => openPlain(file, constants.O_RDONLY);
  return folders.find(key, async (place) => (await newestFile(place, open))?.content);
}

/** A commit takes the temporary file with it. */
async function commitOrDrop(...[place, temp, ifVersion, key]: Parameters<typeof commit>): Promise<string> {
  try {
    return await commit(place, temp, ifVersion, key);
  } catch (error) {
    await dropTemp(temp.path);
    throw error;
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
    try {
      // Most values that are put whatever is there are the first.
      const current = attempt === 0 ? undefined : await readVersion(place);
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
    // A put value has a second name, the one for people: it is written anew instead of in place.
    if ((await versionNumbers(place)).length > 0) return rewriteWith(place, key, text);
    if (await appendDurably(versionFile(place, 0), text, warn)) await place.sync();
  });
}

async function rewriteWith(place: Place, key: string, text: string): Promise<void> {
  const current = (await readNewest(place))?.value ?? "";
  const temp = await writeTemp(place, [current, text]);
  await commitOrDrop(place, temp, undefined, key);
}

async function remove(folders: Folders, key: string): Promise<void> {
  checkKey(key);
  await folders.find(key, async (place) => {
    if ((await entriesOf(place.folder)).length === 0) return;
    await removeVersions(place);
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
