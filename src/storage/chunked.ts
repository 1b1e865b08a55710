import type { StorageDriver } from "./driver.ts";

/** A driver that takes a value in pieces, so that a long transcript is never one string in memory. */
export interface ChunkedStorageDriver extends StorageDriver {
  /** As `put`, of the pieces joined; each piece is well-formed text by itself. */
  putChunks(
    key: string,
    chunks: Iterable<string>,
    options?: { readonly ifVersion?: string | null },
  ): Promise<{ readonly version: string }>;
}

/** `putChunks` where the driver has it, `put` of the joined pieces where not. */
export async function putInChunks(
  driver: StorageDriver | ChunkedStorageDriver,
  key: string,
  chunks: Iterable<string>,
  options: { readonly ifVersion?: string | null },
): Promise<void> {
  if ("putChunks" in driver) await driver.putChunks(key, chunks, options);
  else await driver.put(key, [...chunks].join(""), options);
}
