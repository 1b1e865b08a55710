import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { CompactError } from "../../errors.ts";
import { FolderVanished, notOurs, storageFailed } from "./errors.ts";
import { openPlain, type PlacedFile } from "./files.ts";

const NEWLINE = 10;

/**
 * Adds `text` to the end of a file in one write, durable when it resolves; a write that fails leaves the file as it
 * was. A record that a crash cut off becomes a line of its own and is told: cutting it away could hit a record that
 * another process is writing at this moment.
 */
export async function appendDurably(
  file: PlacedFile,
  text: string,
  warn: (message: string) => void,
): Promise<void> {
  const path = join(file.place.shown, file.name);
  const handle = await openPlain(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
  if (handle === undefined) throw new FolderVanished("the folder vanished");
  try {
    const stats = await handle.stat();
    if (stats.nlink > 1) throw notOurs(path, "the file has a second name (hard link)");
    if ((stats.mode & 0o077) !== 0) await handle.chmod(0o600);
    const torn = stats.size > 0 && !(await endsLine(handle, stats.size));
    if (torn) warn(`The last record of ${path} was cut off by a crash; it stays there as a line of its own.`);
    await writeOrUndo(handle, Buffer.from(torn ? `\n${text}` : text, "utf8"), stats.size);
  } catch (error) {
    throw storageFailed(error, path);
  } finally {
    await handle.close();
  }
}

/** False after a write that a crash cut short: the next record must not be glued to it. */
async function endsLine(handle: FileHandle, size: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  await handle.read(last, 0, 1, size - 1);
  return last[0] === NEWLINE;
}

async function writeOrUndo(handle: FileHandle, bytes: Buffer, goodSize: number): Promise<void> {
  try {
    const { bytesWritten } = await handle.write(bytes, 0, bytes.length);
    if (bytesWritten < bytes.length) throw shortWrite(bytesWritten, bytes.length);
    await handle.datasync();
  } catch (error) {
    await handle.truncate(goodSize);
    throw error;
  }
}

function shortWrite(written: number, wanted: number): CompactError {
  return new CompactError("StorageFailed", `only ${written} of ${wanted} bytes could be written`, {
    hint: "Free some disk space, or point the archive at another disk.",
  });
}
