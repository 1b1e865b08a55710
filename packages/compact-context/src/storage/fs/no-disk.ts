import type { StorageDriver } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";

/** What bundles for browsers get in place of the file system's driver (package.json, `browser`). Throws `StorageFailed`. */
export function createFsDriver(): StorageDriver {
  throw new CompactError("StorageFailed", "there is no file system in this bundle", {
    hint: "Pass `storage`, or set storage.kind to memory.",
  });
}
