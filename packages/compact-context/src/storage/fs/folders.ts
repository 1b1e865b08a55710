import { type BigIntStats, constants, type Dirent, mkdirSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { CompactError, later } from "../../errors.ts";
import {
  chmod,
  close,
  fchmod,
  fstat,
  fsync,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rm,
  rmdir,
  unlink,
} from "./disk.ts";

/** Where a key's file lives: a folder held open, and a file name. */
export interface Place {
  /**
   * The path for file operations. On Linux it refers to the open folder itself, even if that is renamed or
   * replaced.
   */
  readonly folder: string;
  /** The folder's own path, for messages. */
  readonly shown: string;
  readonly name: string;
  /** Makes the entries of the folder durable. */
  sync(): Promise<void>;
}

/** A folder held open while it is in use, and for a moment afterwards. */
interface Held {
  readonly path: string;
  readonly shown: string;
  /** Undefined if the system does not expose open folders as paths. */
  readonly open: { readonly folder: number; readonly dev: bigint; readonly ino: bigint } | undefined;
  users: number;
}

/** Another process may remove an emptied folder while a writer is entering it. */
const MAKE_ATTEMPTS = 20;
const OPEN_FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** Where Linux exposes open folders as paths; other systems use the folder's own path. */
const OPEN_FILES = "/proc/self/fd";
/** Maximum number of unused folders that the process keeps open, and for how long. */
const MOST_OPEN = 8;
const IDLE_MS = 100;
const OTHERS = 0o077n;

/** The folders below `root`; throws on any symbolic link on the way. */
export class Folders {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Runs `work` at a key's place for reading; undefined if its folder does not exist. */
  find<T>(key: string, work: (place: Place) => Promise<T>): Promise<T | undefined> {
    return workAt(routeTo(this.#root, key, false), work);
  }

  /**
   * Runs `work` at a key's place for writing: creates missing folders and closes all of them to other users.
   */
  async make<T>(key: string, work: (place: Place) => Promise<T>): Promise<T> {
    const route = routeTo(this.#root, key, true);
    for (let attempt = 1; ; attempt++) {
      try {
        const made = await workAt(route, async (place) => ({ value: await work(place) }));
        if (made !== undefined) return made.value;
        throw new FolderVanished("a folder on the way vanished");
      } catch (error) {
        if (!(error instanceof FolderVanished) || attempt === MAKE_ATTEMPTS) throw error;
      }
    }
  }

  /** Removes the empty folders of a key, up to the root. */
  async prune(key: string): Promise<void> {
    for (let end = key.lastIndexOf("/"); end > 0; end = key.lastIndexOf("/", end - 1)) {
      const work = ({ folder, name }: Place): Promise<boolean> => removeFolder(join(folder, name));
      if ((await this.find(key.slice(0, end), work)) !== true) return;
    }
  }
}

async function workAt<T>(route: Route, work: (place: Place) => Promise<T>): Promise<T | undefined> {
  const held = await enter(route, route.segments.length);
  if (held === undefined) return undefined;
  const { path: folder, shown } = held;
  try {
    return await work({ folder, shown, name: route.name, sync: () => syncFolder(held) });
  } finally {
    await opened.release(held);
  }
}

/** The open folders: a walk starts from the nearest one that its path still leads to. */
class OpenFolders {
  /** Least recently used first. */
  readonly #all = new Map<string, Held>();
  #waits = false;

  get(shown: string): Held | undefined {
    const held = this.#all.get(shown);
    if (held === undefined) return undefined;
    held.users += 1;
    this.#all.delete(shown);
    this.#all.set(shown, held);
    return held;
  }

  async add(held: Held): Promise<void> {
    const before = this.#all.get(held.shown);
    this.#all.set(held.shown, held);
    if (before?.users === 0) await this.drop(before);
    await this.#dropIdle(MOST_OPEN);
  }

  async drop(held: Held): Promise<void> {
    if (this.#all.get(held.shown) === held) this.#all.delete(held.shown);
    // Nothing was written through this handle, so a failed close loses nothing.
    if (held.users === 0 && held.open !== undefined) await close(held.open.folder).catch(() => undefined);
  }

  async release(held: Held): Promise<void> {
    held.users -= 1;
    if (held.users > 0) return;
    if (!this.#waits && this.#all.size > 0) {
      this.#waits = true;
      later(IDLE_MS, () => {
        this.#waits = false;
        void this.#dropIdle(0);
      });
    }
    if (this.#all.get(held.shown) !== held) await this.drop(held);
    await this.#dropIdle(MOST_OPEN);
  }

  async #dropIdle(most: number): Promise<void> {
    for (const held of this.#all.values()) {
      if (this.#all.size <= most) return;
      if (held.users === 0) await this.drop(held);
    }
  }
}

const opened = new OpenFolders();

interface Route {
  /** Links in this part of the path belong to the system (`/tmp` on macOS). */
  readonly start: string;
  readonly segments: readonly string[];
  /** How many segments lead to the root; these folders keep their mode. */
  readonly above: number;
  readonly name: string;
  /** Creates missing folders, and removes other users' access from those below the root. */
  readonly make: boolean;
}

/** A relative root is part of the project, which may be untrusted: none of its folders may be a link. */
function routeTo(root: string, key: string, make: boolean): Route {
  const below = key.split("/");
  const name = below.pop() ?? "";
  const path = resolve(root);
  const [start, toRoot] = isAbsolute(root)
    ? [dirname(path), [basename(path)]]
    : [process.cwd(), root.split(/[/\\]/)];
  const above = toRoot.filter((segment) => segment !== "");
  return { start, segments: [...above, ...below], above: above.length, name, make };
}

/** The folder at a depth of the route, held until released; undefined if it or a parent does not exist. */
async function enter(route: Route, depth: number): Promise<Held | undefined> {
  if (depth === 0) return startOf(route);
  const shown = join(route.start, ...route.segments.slice(0, depth));
  const tighten = route.make && depth > route.above;
  const known = await stillOpen(opened.get(shown), tighten);
  if (known !== undefined) return known;
  const parent = await enter(route, depth - 1);
  if (parent === undefined) return undefined;
  try {
    // No `join`: a root may start with `..`, which only the system resolves correctly here.
    const path = `${parent.path}/${route.segments[depth - 1]}`;
    let held = await hold(path, shown, tighten);
    if (held === undefined && route.make && (await makeWithin(parent, path)))
      held = await hold(path, shown, tighten);
    if (held?.open !== undefined) await opened.add(held);
    return held;
  } finally {
    await opened.release(parent);
  }
}

/** A folder that cannot be held open is identified by its real path. */
async function startOf({ start, make }: Route): Promise<Held | undefined> {
  if (make) await makeFolders(start);
  const path = showsOpenFiles() ? start : await ifThere(realpath(start));
  return path === undefined ? undefined : { path, shown: path, open: undefined, users: 1 };
}

/** The open folder, if its path still leads to it. */
async function stillOpen(held: Held | undefined, tighten: boolean): Promise<Held | undefined> {
  if (held?.open === undefined) return undefined;
  try {
    const now = await ifThere(lstat(held.shown, { bigint: true }));
    if (now?.dev === held.open.dev && now.ino === held.open.ino) {
      if (tighten && (now.mode & OTHERS) !== 0n) await fchmod(held.open.folder, 0o700);
      return held;
    }
  } catch (error) {
    await opened.release(held);
    throw error;
  }
  await opened.drop(held);
  await opened.release(held);
  return undefined;
}

/** What a look at a path finds; undefined if nothing is there. */
export async function ifThere<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The entries of a folder; empty if it was removed while held. */
export async function entriesOf(folder: string): Promise<Dirent[]> {
  return (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
}

/** Removes a file, or the folder that somebody planted in its place; neither need exist. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return;
    // Linux says EISDIR for a folder, other systems EPERM.
    if (code !== "EISDIR" && code !== "EPERM") throw error;
    await rm(path, { recursive: true, force: true });
  }
}

/** False if the folder is not empty, missing, or cannot be removed. */
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

/** Throws if the folder was replaced by a link since the walk; not possible for one that is held open. */
export async function refuseSwapped({ folder, shown }: Place): Promise<void> {
  if (folder !== shown) return;
  if ((await realpath(shown)) !== shown) throw notOurs(shown, "the folder became a symbolic link");
}

/** Makes the entries of a folder durable; Windows neither needs nor allows this. */
async function syncFolder({ path, open: held }: Pick<Held, "path" | "open">): Promise<void> {
  if (process.platform === "win32") return;
  if (held !== undefined) return fsync(held.folder);
  const folder = await open(path, "r");
  try {
    await fsync(folder);
  } finally {
    await close(folder);
  }
}

/** Avoids recursive `mkdir`, which loops forever where an existing folder answers ENOENT, as /proc does. */
async function makeFolders(path: string): Promise<void> {
  if ((await ifThere(realpath(path))) !== undefined) return;
  if (dirname(path) !== path) await makeFolders(dirname(path));
  await makeFolder(path);
}

/** Creates one folder; no-op if it already exists. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** False if the parent was removed in the meantime. */
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

async function isRemoved({ path, open: held }: Held): Promise<boolean> {
  if (held !== undefined) return (await fstat(held.folder)).nlink === 0;
  return (await ifThere(realpath(path))) === undefined;
}

/** Undefined if the folder does not exist. */
async function hold(path: string, shown: string, tighten: boolean): Promise<Held | undefined> {
  if (!showsOpenFiles()) {
    const stats = await folderAt(path, shown);
    if (stats === undefined) return undefined;
    if (tighten && process.platform !== "win32" && (stats.mode & OTHERS) !== 0n) await chmod(path, 0o700);
    return { path, shown, open: undefined, users: 1 };
  }
  let folder: number;
  try {
    folder = await open(path, OPEN_FOLDER);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    if (!["ELOOP", "ENOTDIR"].includes(systemCode(error) ?? "")) throw error;
    await folderAt(path, shown);
    throw notOurs(shown, "the folder became a symbolic link");
  }
  try {
    const { dev, ino, mode } = await fstat(folder, { bigint: true });
    if (tighten && (mode & OTHERS) !== 0n) await fchmod(folder, 0o700);
    return { path: `${OPEN_FILES}/${folder}`, shown, open: { folder, dev, ino }, users: 1 };
  } catch (error) {
    await close(folder);
    throw error;
  }
}

let shows: boolean | undefined;
/** Whether this process may write below open folders: a runtime with permissions allows it to some paths only. */
function showsOpenFiles(): boolean {
  shows ??= process.platform === "linux" && mayMake(OPEN_FILES);
  return shows;
}

/** True for a folder that is there, if the runtime lets this process ask. */
function mayMake(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    return systemCode(error) === "EEXIST";
  }
}

async function folderAt(path: string, shown: string): Promise<BigIntStats | undefined> {
  const stats = await ifThere(lstat(path, { bigint: true }));
  if (stats?.isSymbolicLink()) throw notOurs(shown, "the folder is a symbolic link");
  if (stats?.isDirectory() === false) throw notOurs(shown, "there is something else than a folder");
  return stats;
}

export const NO_SPACE = "Free some disk space, or point the archive at another disk.";
const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: NO_SPACE,
  EDQUOT: "Free some of the disk quota, or point the archive at another disk.",
  EACCES: "Let this user read and write the archive folder, or choose another one.",
  EPERM: "Let this user own the archive folder, or choose one on a file system with hard links.",
  ENOENT: "Check that a folder can be made and written there, or choose another archive folder.",
  ENOTDIR: "A part of this path is a file, where a folder should be: choose another archive folder.",
  EISDIR: "A folder stands where a file of the archive should be: look at it and move it away.",
  EROFS: "The file system is read-only: choose another archive folder.",
  ENOTSUP: "This file system has no hard links: choose an archive folder on another one.",
  ERR_ACCESS_DENIED:
    "Node's permission model forbids the disk storage: use `kind: memory`, Postgres, S3 or a driver.",
  ELOOP: "Symbolic links are never followed inside the archive: put the real file or folder there.",
};

/** The `code` of a Node system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/**
 * The folder was removed, along with its last file, before anything was written to it: it can be recreated.
 */
export class FolderVanished extends Error {
  readonly code = "ENOENT";
}

/** Wraps system errors in `StorageFailed`; passes `CompactError`s through unchanged. */
export function storageFailed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const code = systemCode(error) ?? "";
  return new CompactError("StorageFailed", `the file system refused (${code || String(error)})`, {
    place,
    hint: HINTS[code] ?? "Check that the archive folder is there and can be written.",
    cause: error,
  });
}

/** `StorageFailed` for a path that is not the regular file or folder it should be. */
export function notOurs(place: string, problem: string): CompactError {
  return new CompactError("StorageFailed", `${problem}, which the archive refuses`, {
    place,
    hint: "Somebody else put it there: look at it, move it away and try again.",
  });
}
