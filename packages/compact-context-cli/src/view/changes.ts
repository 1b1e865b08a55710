import { type FSWatcher, watch } from "node:fs";

/** Tells when a file, or anything in a folder, changes. */
export interface Changes {
  /** Resolves with the next change, one since the last call too; at the latest after so many milliseconds, or when stopped. */
  next(ms: number): Promise<void>;
}

/** By the system's own notices. A place where it gives none is looked at as often as `next` says. */
export function changesOf(path: string, stopped: AbortSignal, isFolder: boolean): Changes {
  let hasChanged = false;
  let wake: (() => void) | undefined;
  const tell = (): void => {
    hasChanged = true;
    wake?.();
  };
  try {
    const watcher: FSWatcher = watch(path, { signal: stopped, recursive: isFolder, persistent: false }, tell);
    watcher.on("error", () => undefined);
  } catch {
    // The time alone wakes the reader then.
  }
  return {
    next: (ms) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          stopped.removeEventListener("abort", done);
          hasChanged = false;
          wake = undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        stopped.addEventListener("abort", done);
        wake = done;
        if (hasChanged || stopped.aborted) done();
      }),
  };
}
