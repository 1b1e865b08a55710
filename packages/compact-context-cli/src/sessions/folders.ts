import type { Dirent } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly changed: number;
}

/** The entries of a folder; none where it is missing or may not be read. */
export async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** Files below a folder, at most `depth` folders down, whose name passes; links are not followed. */
export async function filesBelow(
  folder: string,
  depth: number,
  wanted: (name: string) => boolean,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...(await filesBelow(path, depth - 1, wanted)));
    if (!entry.isFile() || !wanted(entry.name)) continue;
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && facts.size > 0) {
      found.push({ path, bytes: facts.size, changed: facts.mtimeMs });
    }
  }
  return found;
}

/** The first and the last bytes of a file as text, which do not overlap; empty where it cannot be read. */
export async function edgesOf(
  path: string,
  bytes: number,
): Promise<{ readonly head: string; readonly tail: string }> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return { head: "", tail: "" };
  const read = async (from: number, to: number): Promise<string> => {
    const length = Math.max(0, to - from);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString("utf8", 0, bytesRead);
  };
  try {
    const { size } = await file.stat();
    const end = Math.min(bytes, size);
    return { head: await read(0, end), tail: await read(Math.max(end, size - bytes), size) };
  } catch {
    return { head: "", tail: "" };
  } finally {
    await file.close();
  }
}
