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

/** The first bytes of a file as text; empty where it cannot be read. */
export async function headOf(path: string, bytes: number): Promise<string> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return "";
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  } finally {
    await file.close();
  }
}
