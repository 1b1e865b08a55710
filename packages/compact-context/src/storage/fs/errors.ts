import { CompactError } from "../../errors.ts";

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
