import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { CompactError } from "../../errors.ts";

/** True for a path at or below a folder; both must be real paths. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Links that follow one another; more of them are a circle. */
const MOST_LINKS = 40;

/** Where an absolute path leads, also one that is not there yet, and a link that leads nowhere. */
export async function leadsTo(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    if (parent === path) return path;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined && links < MOST_LINKS) return leadsTo(resolve(parent, target), links + 1);
    return join(await leadsTo(parent, links), basename(path));
  }
}

/** Throws `NotFound` for a file that is there, but really in none of the folders: a link led out of them. */
export async function refuseOutside(path: string, folders: readonly string[]): Promise<void> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return;
  const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  if (!roots.some((root) => root !== undefined && isInside(root, real))) throw outside(path);
}

export function outside(path: string): CompactError {
  return new CompactError("NotFound", "the path leads out of the workspace", {
    place: path,
    hint: "Memory is read and written inside one workspace only: put the file there, not a link to it.",
  });
}
