import { CompactError } from "../errors.ts";
import type { StorageDriver } from "./driver.ts";
import { sessionKey } from "./session-key.ts";
import type { Fence } from "./shared.ts";

/** One JSON value per session, written over only when nobody else did meanwhile. */
export interface StateStore<T> {
  /** Nothing for a session never saved; rejects with `StorageFailed` when what is stored is no JSON. */
  load(sessionId: string): Promise<{ readonly value: T; readonly version: string } | undefined>;
  /**
   * `ifVersion` is what `load` gave, `null` for a new session; rejects with `Conflict` when that no longer holds, or
   * when somebody else took over the lease that `fence` stands for, where the driver knows leases.
   */
  save(
    sessionId: string,
    value: T,
    ifVersion: string | null,
    fence?: Fence,
  ): Promise<{ readonly version: string }>;
}

/** Session state under `{session}/state.json`; `check` turns the parsed JSON into a `T` or throws. */
export function createStateStore<T>(
  driver: StorageDriver,
  check: (parsed: unknown) => T = (parsed) => parsed as T,
): StateStore<T> {
  const keyOf = (sessionId: string): string => `${sessionKey(sessionId)}/state.json`;
  return {
    async load(sessionId) {
      const key = keyOf(sessionId);
      const stored = await driver.get(key);
      if (stored === undefined) return undefined;
      try {
        return { value: check(JSON.parse(stored.value)), version: stored.version };
      } catch (cause) {
        throw damaged(`${driver.location}/${key}`, cause);
      }
    },
    async save(sessionId, value, ifVersion, fence) {
      const options = fence === undefined ? { ifVersion } : { ifVersion, fence };
      return driver.put(keyOf(sessionId), JSON.stringify(value), options);
    },
  };
}

function damaged(place: string, cause: unknown): CompactError {
  return new CompactError("StorageFailed", "the stored state of the session is damaged", {
    place,
    hint: "Move the file away to start the session anew: its archived transcripts stay readable.",
    cause,
  });
}
