import { constants } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ListOptions, StorageDriver } from "../../core/ports.ts";
import { hasCode, requireOptions, requireText } from "../../errors.ts";
import { checkedDriver, isKey } from "../keys.ts";
import {
  appendDurably,
  commitFirst,
  commitNext,
  nameOfVersion,
  newestFile,
  type OpenFile,
  openPlain,
  type PlacedFile,
  readNewest,
  readVersion,
  removeVersions,
  statsAt,
  type TempFile,
  textPieces,
  versionFile,
  versionNumbers,
  writeTemp,
} from "./files.ts";
import { entriesOf, Folders, type Place, storageFailed } from "./folders.ts";
import { dropTemp, sweepTemps } from "./temps.ts";

const PUT_ATTEMPTS = 100;
const ROOT_HINT = 'Pass the folder of the archive: { root: ".compact" }.';

export interface FsDriverOptions {
  readonly root: string;
  /** Called for a record that a crash cut off. */
  readonly warn?: (message: string) => void;
}

/**
 * Stores values as files under `root`: mode 0600, in folders of mode 0700, following no symbolic links.
 * `put` is atomic, durable and exact across processes; `append` is meant for one process at a time.
 * Folders under `root` are created with, or tightened to, mode 0700; an existing `root` keeps its mode.
 */
export function createFsDriver(options: FsDriverOptions): StorageDriver {
  requireOptions(options, "options", ROOT_HINT);
  const { root, warn = () => undefined } = options;
  requireText(root, "options.root", ROOT_HINT);
  const folders = new Folders(root);
  const location = resolve(root);

  const told = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw storageFailed(error, join(location, key));
    }
  };

  return checkedDriver({
    location,
    inTurn: "all",
    get: (key) => told(key, () => folders.find(key, readNewest)),
    version: (key) =>
      told(key, async () => ((await isMissing(root, key)) ? undefined : folders.find(key, readVersion))),
    async *stream(key) {
      const open = (file: PlacedFile): Promise<OpenFile | undefined> => openPlain(file, constants.O_RDONLY);
      const find = () => folders.find(key, (place) => newestFile(place, open));
      const file = (await told(key, find))?.content;
      if (file === undefined) return;
      try {
        yield* textPieces(file);
      } catch (error) {
        throw storageFailed(error, join(location, key));
      }
    },
    put: (key, pieces, { ifVersion }) =>
      told(key, () =>
        folders.make(key, async (place) => {
          const temp = await writeTemp(place, pieces);
          return { version: await commit(place, temp, ifVersion, key) };
        }),
      ),
    append: (key, text) => told(key, () => folders.make(key, (place) => append(place, key, text, warn))),
    list: (prefix, page) => told(prefix, () => listKeys(folders, prefix, page)),
    delete: (key) => told(key, () => remove(folders, key)),
    async *entries(prefix) {
      const stats = ({ path }: PlacedFile) => statsAt(path);
      for (const key of await told(prefix, () => listKeys(folders, prefix))) {
        const newest = await told(key, () => folders.find(key, (place) => newestFile(place, stats)));
        if (newest !== undefined) yield { key, bytes: newest.content.size, at: newest.content.mtimeMs };
      }
    },
  });
}

/**
 * True if one to three stats show that nothing exists at a key, which holds for most version lookups.
 * Symbolic links are followed here: a link can only make a value look missing, and write access that allows a
 * link allows deletion too.
 */
async function isMissing(root: string, key: string): Promise<boolean> {
  const path = join(root, key);
  const folder = dirname(path);
  const place = { folder, shown: folder, name: basename(path) };
  try {
    if ((await statsAt(folder)) === undefined) return true;
    const first = await statsAt(versionFile(place, 0).path);
    return first === undefined && (await statsAt(versionFile(place, 1).path)) === undefined;
  } catch {
    return false;
  }
}

/** Consumes the temporary file, also where it fails. */
async function commit(
  place: Place,
  temp: TempFile,
  ifVersion: string | null | undefined,
  key: string,
): Promise<string> {
  try {
    for (let attempt = 1; ; attempt++) {
      // Most unconditional puts write the first version.
      const base = ifVersion ?? (attempt === 1 ? undefined : await readVersion(place));
      try {
        return base === undefined
          ? await commitFirst(place, temp, key)
          : await commitNext(place, temp, base, key);
      } catch (error) {
        if (ifVersion !== undefined || attempt === PUT_ATTEMPTS || !hasCode(error, "Conflict")) throw error;
      }
    }
  } catch (error) {
    await dropTemp(temp.path);
    throw error;
  }
}

async function append(
  place: Place,
  key: string,
  text: string,
  warn: (message: string) => void,
): Promise<void> {
  // A put value also has its readable copy under the plain name (a second hard link): rewrite it instead of
  // appending in place.
  if ((await versionNumbers(place)).length > 0) {
    const current = (await readNewest(place))?.value ?? "";
    const temp = await writeTemp(place, [current + text]);
    await commit(place, temp, undefined, key);
  } else if (await appendDurably(versionFile(place, 0), text, warn)) await place.sync();
}

async function remove(folders: Folders, key: string): Promise<void> {
  await folders.find(key, async (place) => {
    if ((await entriesOf(place.folder)).length === 0) return;
    await removeVersions(place);
    // Temporary files of a crashed writer may hold the same content.
    await sweepTemps(place.folder, Date.now());
    await place.sync();
  });
  await folders.prune(key);
}

/** Walks no further than the page needs. */
async function listKeys(folders: Folders, prefix: string, options: ListOptions = {}): Promise<string[]> {
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

/** Walks folder by folder, in key order. */
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

/** Keys and subfolders (with a trailing slash) of a folder, sorted. */
async function pathsIn(folders: Folders, parent: string): Promise<string[]> {
  const entries = await folders.find(`${parent}x`, ({ folder }) => entriesOf(folder));
  const paths = new Set<string>();
  for (const entry of entries ?? []) {
    const name = entry.isFile() ? (nameOfVersion(entry.name) ?? entry.name) : entry.name;
    if (!isKey(parent + name)) continue;
    if (entry.isDirectory()) paths.add(`${parent}${name}/`);
    else if (entry.isFile()) paths.add(parent + name);
  }
  return [...paths].sort();
}
