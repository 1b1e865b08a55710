import { chmod, lstat, mkdir, open, realpath } from "node:fs/promises";
import { isAbsolute, join, resolve, sep } from "node:path";
import { notOurs, systemCode } from "./fs-errors.ts";

/** Where a key's file lives: an absolute folder without symbolic links, and a file name. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

export interface Folders {
  /** The place of a key for writing: folders that lack are made, all are closed to other users. */
  make(key: string): Promise<Place>;
  /** The place of a key for reading; nothing where its folder is not there. */
  find(key: string): Promise<Place | undefined>;
}

/** Walks from `root` down to a key's folder, refusing every symbolic link on the way. */
export function createFolders(root: string): Folders {
  return {
    async make(key) {
      await refuseLinkedRoot(root);
      await mkdir(resolve(root), { recursive: true, mode: 0o700 });
      const { segments, name } = split(key);
      let folder = await realpath(root);
      for (const segment of segments) {
        folder = join(folder, segment);
        await makeFolder(folder);
      }
      return { folder, name };
    },
    async find(key) {
      await refuseLinkedRoot(root);
      const { segments, name } = split(key);
      let folder = await realRoot(root);
      for (const segment of segments) {
        if (folder === undefined) return undefined;
        folder = join(folder, segment);
        if (!(await isFolder(folder))) return undefined;
      }
      return folder === undefined ? undefined : { folder, name };
    },
  };
}

/** Throws when `folder` was swapped for a link since it was walked. */
export async function refuseSwapped(folder: string): Promise<void> {
  if ((await realpath(folder)) !== folder) throw notOurs(folder, "the folder became a symbolic link");
}

/** Makes the entries of a folder durable; Windows neither needs nor allows it. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function split(key: string): { segments: string[]; name: string } {
  const segments = key.split("/");
  const name = segments.pop() ?? "";
  return { segments, name };
}

async function realRoot(root: string): Promise<string | undefined> {
  try {
    return await realpath(root);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * A relative root is part of the project, which may come from a stranger: none of its folders may be a link.
 * Above an absolute root links are the system's own (`/tmp` on macOS).
 */
async function refuseLinkedRoot(root: string): Promise<void> {
  if (isAbsolute(root)) {
    await isFolder(resolve(root));
    return;
  }
  let path = process.cwd();
  for (const segment of root.split(/[/\\]/)) {
    path = resolve(path, segment);
    if (!(await isFolder(path))) return;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) throw notOurs(path, "the folder is a symbolic link");
    if (!stats.isDirectory()) throw notOurs(path, "there is something else than a folder");
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function makeFolder(path: string): Promise<void> {
  if (!(await isFolder(path))) {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await syncFolder(resolve(path, ".."));
  }
  const { mode } = await lstat(path);
  if (sep === "/" && (mode & 0o077) !== 0) await chmod(path, 0o700);
}
