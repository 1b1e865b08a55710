import { createHash } from "node:crypto";
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { link, lstat, mkdir, open, readFile, realpath, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CompactError, createKeyedMutex, requireText } from "../../errors.ts";
import { dropTemp, tempName } from "../../storage/fs/files.ts";
import { systemCode } from "../../storage/fs/folders.ts";

export interface MemoryFile {
  readonly text: string;
  /** Stands for this very text; hand it back when writing over it. */
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

const inTurn = createKeyedMutex();

/** A file's text; undefined where there is none. */
export async function readMemoryFile(path: string): Promise<MemoryFile | undefined> {
  requireText(path, "path", "Pass the path of a memory file.");
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), lstat(path)]);
    return { text, version: versionOf(text), modified: mtimeMs };
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw refused(error, path);
  }
}

/**
 * Replaces a file's text as a whole: whoever reads sees the old one or the new one, after a crash too. With
 * `ifVersion` only over that text (`null`: only where there is no file); rejects with `Conflict` otherwise.
 * A link is followed, and the file keeps its mode.
 */
export async function writeMemoryFile(
  path: string,
  text: string,
  { ifVersion }: { readonly ifVersion?: string | null } = {},
): Promise<{ readonly version: string }> {
  return inTurn(path, async () => {
    if (ifVersion === null) {
      if (!(await createFile(path, text))) throw changed(path);
      return { version: versionOf(text) };
    }
    if (ifVersion !== undefined && (await readMemoryFile(path))?.version !== ifVersion) throw changed(path);
    await replaceFile(path, text);
    return { version: versionOf(text) };
  });
}

/** Makes a file where there is none; false, and nothing changed, where there is one. */
export async function createFile(path: string, text: string): Promise<boolean> {
  return withTemp(path, text, 0o600, async (temp, target) => {
    try {
      await link(temp, target);
      return true;
    } catch (error) {
      if (systemCode(error) === "EEXIST") return false;
      throw error;
    }
  });
}

/** As `createFile`, without waiting for the disk. */
export function createFileSync(path: string, text: string): boolean {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  const temp = join(folder, tempName());
  try {
    writeFileSync(temp, text, { flag: "wx", mode: 0o600, flush: true });
    linkSync(temp, path);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw refused(error, path);
  } finally {
    rmSync(temp, { force: true });
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const mode = await lstat(target).then(
    (stats) => stats.mode & 0o777,
    () => 0o600,
  );
  await withTemp(target, text, mode, (temp) => rename(temp, target));
}

async function withTemp<T>(
  path: string,
  text: string,
  mode: number,
  commit: (temp: string, path: string) => Promise<T>,
): Promise<T> {
  const folder = dirname(path);
  const temp = join(folder, tempName());
  try {
    await mkdir(folder, { recursive: true });
    const handle = await open(temp, "wx", mode);
    try {
      await handle.writeFile(text, "utf8");
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const done = await commit(temp, path);
    await syncFolder(folder);
    return done;
  } catch (error) {
    throw refused(error, path);
  } finally {
    await dropTemp(temp);
  }
}

/** A rename lasts when its folder is on disk; some file systems cannot be asked for it. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch (error) {
    if (!["EISDIR", "EPERM", "EINVAL", "ENOTSUP"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Stands for a text; the same for the same text. */
export function versionOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url").slice(0, 22);
}

function changed(path: string): CompactError {
  return new CompactError("Conflict", "the file was changed since it was read", {
    place: path,
    hint: "Read it again and repeat the change on what is there now.",
  });
}

function refused(error: unknown, path: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  return new CompactError(
    "StorageFailed",
    `the file system refused (${systemCode(error) ?? String(error)})`,
    {
      place: path,
      hint: "Check that the folder is there and that this user may write to it.",
      cause: error,
    },
  );
}
