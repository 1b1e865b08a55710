import { constants, type Dirent, existsSync } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, realpath, rmdir } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { CompactError } from "../../errors.ts";

/** Where a key's file lives: a folder that is held open, and a file name. */
export interface Place {
  /** The path to work with. On Linux it leads to the held folder itself, whatever its name has become meanwhile. */
  readonly folder: string;
  /** The folder's own path, for people. */
  readonly shown: string;
  readonly name: string;
  /** Makes the entries of the folder durable. */
  sync(): Promise<void>;
}

export interface Folders {
  /** Works at the place of a key for writing: folders that lack are made, all are closed to other users. */
  make<T>(key: string, work: (place: Place) => Promise<T>): Promise<T>;
  /** Works at the place of a key for reading; nothing where its folder is not there. */
  find<T>(key: string, work: (place: Place) => Promise<T>): Promise<T | undefined>;
  /** Removes the folders of a key, up to the root, that have nothing in them any more. */
  prune(key: string): Promise<void>;
}

/** A folder that is held open while something works in it. */
interface Held {
  readonly path: string;
  readonly shown: string;
  readonly handle: FileHandle | undefined;
}

/** A folder goes with its last file, maybe while another writer is on its way into it. */
const MAKE_ATTEMPTS = 20;
const OPEN_FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** Where Linux shows open folders as paths; elsewhere a folder's own path has to do. */
const OPEN_FILES = "/proc/self/fd";

/** Walks from `root` down to a key's folder, refusing every symbolic link on the way. */
export function createFolders(root: string): Folders {
  const find: Folders["find"] = async (key, work) => {
    const { start, above, below, name } = route(root, key);
    const held = await walk(start, steps([...above, ...below]));
    return held === undefined ? undefined : within(held, name, work);
  };
  return {
    find,
    async make(key, work) {
      const { start, above, below, name } = route(root, key);
      await makeFolders(start);
      const way = [...steps(above, { make: true }), ...steps(below, { make: true, close: true })];
      for (let attempt = 1; ; attempt++) {
        try {
          const held = await walk(start, way);
          if (held === undefined) throw new FolderVanished("a folder on the way vanished");
          return await within(held, name, work);
        } catch (error) {
          if (!(error instanceof FolderVanished) || attempt === MAKE_ATTEMPTS) throw error;
        }
      }
    },
    async prune(key) {
      for (let end = key.lastIndexOf("/"); end > 0; end = key.lastIndexOf("/", end - 1)) {
        const isGone = await find(key.slice(0, end), ({ folder, name }) => removeFolder(join(folder, name)));
        if (isGone !== true) return;
      }
    },
  };
}

/** The entries of a folder; none where it was removed while it was held. */
export async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** False where something is left in it, or nothing is there. */
async function removeFolder(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    if (
      ["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR", "EPERM", "EBUSY", "EACCES"].includes(
        systemCode(error) ?? "",
      )
    )
      return false;
    throw error;
  }
}

/** Throws when the folder was swapped for a link since it was walked; one that is held open cannot be. */
export async function refuseSwapped({ folder, shown }: Place): Promise<void> {
  if (folder !== shown) return;
  if ((await realpath(shown)) !== shown) throw notOurs(shown, "the folder became a symbolic link");
}

/** Makes the entries of a folder durable; Windows neither needs nor allows it. */
async function syncFolder({ path, handle }: Pick<Held, "path" | "handle">): Promise<void> {
  if (process.platform === "win32") return;
  if (handle !== undefined) return handle.sync();
  const opened = await open(path, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

interface Route {
  /** Whatever links there are down to here are the system's own (`/tmp` on macOS). */
  readonly start: string;
  /** The segments down to the root, and it; they keep their mode. */
  readonly above: readonly string[];
  readonly below: readonly string[];
  readonly name: string;
}

/** A relative root is part of the project, which may come from a stranger: none of its folders may be a link. */
function route(root: string, key: string): Route {
  const below = key.split("/");
  const name = below.pop() ?? "";
  const path = resolve(root);
  const [start, above] = isAbsolute(root)
    ? [dirname(path), [basename(path)]]
    : [process.cwd(), root.split(/[/\\]/)];
  return { start, above: above.filter((segment) => segment !== ""), below, name };
}

interface Step {
  readonly segment: string;
  /** Makes the folder where it lacks. */
  readonly make?: boolean;
  /** Takes it away from other users. */
  readonly close?: boolean;
}

function steps(segments: readonly string[], how: Omit<Step, "segment"> = {}): Step[] {
  return segments.map((segment) => ({ segment, ...how }));
}

/** The last folder, held open; nothing where one on the way is not there. */
async function walk(start: string, way: readonly Step[]): Promise<Held | undefined> {
  // A folder that cannot be held open is known by its real path.
  const path = showsOpenFiles() ? start : await realRoot(start);
  let held: Held | undefined = path === undefined ? undefined : { path, shown: path, handle: undefined };
  for (const step of way) {
    if (held === undefined) return undefined;
    held = await enter(held, step);
  }
  return held;
}

async function realRoot(start: string): Promise<string | undefined> {
  try {
    return await realpath(start);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Not by `mkdir` with `recursive`: where a folder that is there answers ENOENT, as /proc does, that one never ends. */
async function makeFolders(path: string): Promise<void> {
  if ((await realRoot(path)) !== undefined) return;
  if (dirname(path) !== path) await makeFolders(dirname(path));
  await makeFolder(path);
}

/** Makes one folder; another process may have been quicker. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

async function enter(parent: Held, { segment, make, close }: Step): Promise<Held | undefined> {
  // Not joined: a root may begin with `..`, which only the system resolves rightly from here.
  const path = `${parent.path}/${segment}`;
  const shown = join(parent.shown, segment);
  try {
    let held = await hold(path, shown);
    if (held === undefined && make && (await makeWithin(parent, path))) held = await hold(path, shown);
    if (close && held !== undefined) await closeToOthers(held);
    return held;
  } finally {
    await parent.handle?.close();
  }
}

/** False where the parent was removed meanwhile. */
async function makeWithin(parent: Held, path: string): Promise<boolean> {
  try {
    await makeFolder(path);
    await syncFolder(parent);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT" && (await isRemoved(parent))) return false;
    throw error;
  }
}

async function isRemoved({ path, handle }: Held): Promise<boolean> {
  if (handle !== undefined) return (await handle.stat()).nlink === 0;
  return (await realRoot(path)) === undefined;
}

/** Nothing where the folder is not there. */
async function hold(path: string, shown: string): Promise<Held | undefined> {
  if (!showsOpenFiles()) {
    return (await isFolder(path, shown)) ? { path, shown, handle: undefined } : undefined;
  }
  try {
    const handle = await open(path, OPEN_FOLDER);
    return { path: `${OPEN_FILES}/${handle.fd}`, shown, handle };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    if (!["ELOOP", "ENOTDIR"].includes(systemCode(error) ?? "")) throw error;
    await isFolder(path, shown);
    throw notOurs(shown, "the folder became a symbolic link");
  }
}

async function closeToOthers({ path, handle }: Held): Promise<void> {
  if (process.platform === "win32") return;
  try {
    const { mode } = handle === undefined ? await lstat(path) : await handle.stat();
    if ((mode & 0o077) !== 0) await (handle === undefined ? chmod(path, 0o700) : handle.chmod(0o700));
  } catch (error) {
    await handle?.close();
    throw error;
  }
}

async function within<T>(held: Held, name: string, work: (place: Place) => Promise<T>): Promise<T> {
  try {
    return await work({ folder: held.path, shown: held.shown, name, sync: () => syncFolder(held) });
  } finally {
    await held.handle?.close();
  }
}

let shows: boolean | undefined;
function showsOpenFiles(): boolean {
  shows ??= process.platform === "linux" && existsSync(OPEN_FILES);
  return shows;
}

async function isFolder(path: string, shown: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) throw notOurs(shown, "the folder is a symbolic link");
    if (!stats.isDirectory()) throw notOurs(shown, "there is something else than a folder");
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "Free some disk space, or point the archive at another disk.",
  EDQUOT: "Free some of the disk quota, or point the archive at another disk.",
  EACCES: "Let this user read and write the archive folder, or choose another one.",
  EPERM: "Let this user own the archive folder, or choose one on a file system with hard links.",
  ENOENT: "Check that a folder can be made and written there, or choose another archive folder.",
  ENOTDIR: "A part of this path is a file, where a folder should be: choose another archive folder.",
  EROFS: "The file system is read-only: choose another archive folder.",
  ENOTSUP: "This file system has no hard links: choose an archive folder on another one.",
  ELOOP: "Symbolic links are never followed inside the archive: put the real file or folder there.",
};

/** The `code` of a Node system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** A folder was removed, with its last file, before anything was written into it: it can be made again. */
export class FolderVanished extends Error {
  readonly code = "ENOENT";
}

/** `StorageFailed` around a system error; errors of our own go through unchanged. */
export function storageFailed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const code = systemCode(error) ?? "";
  return new CompactError("StorageFailed", `the file system refused (${code || String(error)})`, {
    place,
    hint: HINTS[code] ?? "Check that the archive folder is there and can be written.",
    cause: error,
  });
}

/** `StorageFailed` for a path that is something else than the plain file or folder it should be. */
export function notOurs(place: string, problem: string): CompactError {
  return new CompactError("StorageFailed", `${problem}, which the archive refuses`, {
    place,
    hint: "Somebody else put it there: look at it, move it away and try again.",
  });
}
