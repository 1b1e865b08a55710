import {
  type ArchiveStore,
  createArchiveStore,
  deleteSession,
  readSessionId,
  sessionKey,
} from "../core/archive.ts";
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
  /**
   * Removes everything of a session for good: transcripts, summaries, events, state, search index, queued work. The
   * session must be at rest: a manager that holds it in memory would store it again. Rejects with `Conflict` while
   * another worker compacts it; one that was broken off goes on when it is called again.
   */
  delete(sessionId: string): Promise<void>;
}

export interface ArchiveOptions {
  readonly redact: Pick<Redaction, "redactText" | "redactValue">;
  /** Where session states and queued work lie, if that is elsewhere. */
  readonly stateDriver?: StorageDriver;
  /** Called when the search index cannot be stored. */
  warn?(message: string): void;
}

/** An archive over any driver; on the file system its files are those of `archiveFiles` under the driver's root. */
export function createArchive(driver: StorageDriver, options: ArchiveOptions): Archive {
  requireOptions(driver, "driver", "Pass a storage driver, such as createMemoryDriver() gives.");
  requireOptions(options, "options", "Pass { redact }, such as createRedactor() gives.");
  const { redact, warn, stateDriver = driver } = options;
  const { findMessage, search, forget } = createArchiveSearch(driver, {
    nameOf: (folder) => readSessionId(driver, folder),
    warn,
  });
  return {
    ...createArchiveStore(driver, redact),
    findMessage,
    search,
    delete: (sessionId) =>
      forget(sessionId, async () => {
        // The state first: with it gone nothing refers to the archive any more.
        for (const one of new Set([stateDriver, driver])) await deleteSession(one, sessionKey(sessionId));
      }),
  };
}
