import { realpath } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { CompactError } from "../../errors.ts";

/** True for a path at or below a folder; both must be real paths. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
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
