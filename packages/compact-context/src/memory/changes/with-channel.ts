import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError } from "../../errors.ts";
import { sweepTemps } from "../../storage/fs/files.ts";
import { takeClaim } from "../files/claim.ts";
import type { ChannelPlace } from "./channel-files.ts";
import { recoverChange } from "./journal.ts";

export interface LockSettings {
  /** Milliseconds to wait for the lock before a `Conflict`; 30,000. */
  readonly waitMs?: number;
}

const LOCK = "lock";
const WAIT_MS = 30_000;

/**
 * Runs work as the only process that changes the channel, after whatever another one left half-way is finished. An owner
 * that has ended is taken over at once; what it writes it writes over the very text that it read.
 */
export async function withChannel<T>(
  place: ChannelPlace,
  { waitMs = WAIT_MS }: LockSettings,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(place.work, LOCK);
  const start = performance.now();
  for (let round = 0; ; round++) {
    const taken = await takeClaim(path, { fromItself: false });
    if ("claim" in taken) {
      const stopKeeping = taken.claim.keep();
      try {
        for (const folder of [place.work, place.channelDir]) await sweepTemps(folder, Date.now());
        await recoverChange(place);
        return await work();
      } finally {
        stopKeeping();
        await taken.claim.release();
      }
    }
    if (performance.now() - start > waitMs) throw stillHeld(path, taken.owner.pid);
    await sleep(2 + ((process.pid + 7 * round) % 20));
  }
}

function stillHeld(path: string, pid: number): CompactError {
  return new CompactError("Conflict", `another process (${pid}) is changing this memory`, {
    place: path,
    hint: "Try again when it is done; a process that has ended loses the lock by itself.",
  });
}
