import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { CompactError } from "../../errors.ts";
import type { ChannelPlace } from "./channel-files.ts";
import { recoverChange } from "./journal.ts";
import { type ChannelLock, LOCK_LOST, takeLock } from "./lock.ts";

export interface LockSettings {
  /** For ids of changes and of owners of the lock. */
  readonly randomId?: () => string;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
  /** Milliseconds after which an owner of the lock that shows no sign is taken over; 10,000. */
  readonly leaseMs?: number;
  /** Milliseconds to wait for the lock before a `Conflict`; 30,000. */
  readonly waitMs?: number;
}

const MOST_ATTEMPTS = 10;

/**
 * Runs work as the only process that changes the channel, after whatever another one left half-way is finished. Work
 * that loses the lock is begun again, on what the files say then.
 */
export async function withChannel<T>(
  place: ChannelPlace,
  settings: LockSettings,
  work: (lock: ChannelLock) => Promise<T>,
): Promise<T> {
  const ports = {
    randomId: settings.randomId ?? randomUUID,
    clock: settings.clock ?? (() => performance.now()),
    sleep: settings.sleep ?? ((ms) => new Promise<void>((done) => setTimeout(done, ms))),
    leaseMs: settings.leaseMs ?? 10_000,
    waitMs: settings.waitMs ?? 30_000,
  };
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const lock = await takeLock(place.work, ports);
    try {
      await recoverChange(place, lock);
      return await work(lock);
    } catch (error) {
      if (error !== LOCK_LOST) throw error;
    } finally {
      await lock.release();
    }
  }
  throw new CompactError("Conflict", "the lock of this memory was lost again and again", {
    place: place.work,
    hint: "The machine is very slow or processes are paused: raise leaseMs.",
  });
}
