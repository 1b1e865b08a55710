import { type ArchiveStore, createArchiveStore, readSessionId } from "../core/archive.ts";
import type { Redaction, StorageDriver } from "../core/ports.ts";
import { requireOptions } from "../errors.ts";
import {
  createArchiveSearch,
  type FoundMessage,
  type SearchOptions,
  type SearchResult,
} from "./archive-search.ts";

/** Originals of many sessions that can be searched. */
export interface Archive extends ArchiveStore {
  /** By archive id or the message's own id, as it was archived first; nothing for an id that is not of this session. */
  findMessage(sessionId: string, id: string): Promise<FoundMessage | undefined>;
  /** Messages by their words, best first, each once; see `ArchiveSearch`. */
  search(text: string, options?: SearchOptions): Promise<SearchResult>;
}

export interface ArchiveOptions {
  readonly redact: Pick<Redaction, "redactText" | "redactValue">;
  /** Called when the search index cannot be stored. */
  warn?(message: string): void;
}

/** An archive over any driver; on the file system its files are those of `archiveFiles` under the driver's root. */
export function createArchive(driver: StorageDriver, { redact, warn }: ArchiveOptions): Archive {
  requireOptions(driver, "driver", "Pass a storage driver, such as createMemoryDriver() gives.");
  const { findMessage, search } = createArchiveSearch(driver, {
    nameOf: (folder) => readSessionId(driver, folder),
    warn,
  });
  return { ...createArchiveStore(driver, redact), findMessage, search };
}
