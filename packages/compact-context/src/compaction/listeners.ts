import { messageOf } from "./announce.ts";
import type { CompactionNotice } from "./ports.ts";

/** Whoever wants to hear of compactions; what they throw, or reject with later, never reaches a run. */
export interface Listeners {
  /** The returned function ends it. */
  add(listener: (notice: CompactionNotice) => void): () => void;
  tell(notice: CompactionNotice): void;
}

export function createListeners(warn: (message: string) => void): Listeners {
  const listeners = new Set<(notice: CompactionNotice) => void>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    tell(notice) {
      for (const listener of listeners) {
        (async () => listener(notice))().catch((error: unknown) =>
          warn(`a compaction listener failed: ${messageOf(error)}`),
        );
      }
    },
  };
}
