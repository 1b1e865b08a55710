import { fsync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * Waits until what was written is on the disk. Yarn's Plug'n'Play puts a file system of its own before Node's, whose
 * handles cannot do this; their descriptors can.
 */
export async function syncFile(handle: FileHandle, how: "sync" | "datasync" = "sync"): Promise<void> {
  if (process.versions.pnp === undefined) await handle[how]();
  else await promisify(fsync)(handle.fd);
}
