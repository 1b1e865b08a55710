import type { StorageDriver } from "./driver.ts";

/** A driver that takes a value in pieces and tells its version without it, so that a long transcript is never one string in memory. */
export interface ChunkedStorageDriver extends StorageDriver {
  /** As `put`, of the pieces joined; each piece is well-formed text by itself. */
  putChunks(
    key: string,
    chunks: Iterable<string>,
    options?: { readonly ifVersion?: string | null },
  ): Promise<{ readonly version: string }>;
  /** The version that `get` would give; nothing where there is no value. */
  version(key: string): Promise<string | undefined>;
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

/** `version` where the driver has it, that of `get` where not. */
export async function versionOf(
  driver: StorageDriver | ChunkedStorageDriver,
  key: string,
): Promise<string | undefined> {
  return "version" in driver ? driver.version(key) : (await driver.get(key))?.version;
}
