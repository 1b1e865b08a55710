import type { StorageDriver } from "../../core/ports.ts";
import { CompactError } from "../../errors.ts";

/** Replaces the file system driver in browser bundles (package.json, `browser`). Throws `StorageFailed`. */
export function createFsDriver(): StorageDriver {
  throw new CompactError("StorageFailed", "there is no file system in this bundle", {
    hint: "Pass `storage`, or set storage.kind to memory.",
  });
}
