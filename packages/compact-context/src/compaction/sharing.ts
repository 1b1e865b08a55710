import { conflict } from "../storage/conflict.ts";
import { sessionKey } from "../storage/session-key.ts";
import type { Fence, Leases, SharedStorageDriver } from "../storage/shared.ts";
import { later } from "../timer.ts";
import type { LiveSession } from "./session.ts";
import { asAborted } from "./unless-aborted.ts";

/** What a manager does so that others may work on the same sessions. */
export interface Sharing {
  /** True when somebody else stored a newer state than the session in memory has. */
  isStale(session: LiveSession): Promise<boolean>;
  /**
   * Runs `work` while no other worker compacts the session; rejects with `Conflict` when one did before its turn
   * came, and with what the signal was aborted with.
   */
  alone<T>(
    session: LiveSession,
    work: (fence: Fence | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

/** For a medium that knows no leases: who writes last notices by the version. */
export const unshared: Sharing = {
  isStale: async () => false,
  alone: (_, work) => work(undefined),
};

const POLL_MS = 100;

/** For a medium with leases; `worker` names this one among the others. */
export function createSharing(driver: SharedStorageDriver, worker: string): Sharing {
  const { leases } = driver;
  const isStale = async ({ id, storedVersion }: LiveSession): Promise<boolean> =>
    ((await driver.version(`${sessionKey(id)}/state.json`)) ?? null) !== storedVersion;
  return {
    isStale,
    async alone(session, work, signal) {
      const name = sessionKey(session.id);
      const fence = await taken(leases, name, { worker, signal });
      const stopRenewing = later(leases.ms / 3, () => void leases.renew(fence).catch(() => false), true);
      try {
        if (await isStale(session)) throw conflict(session.id);
        return await work(fence);
      } finally {
        stopRenewing();
        // Lost with the connection, it ends by itself.
        await leases.giveBack(fence).catch(() => undefined);
      }
    },
  };
}

/** Waits for the lease as long as others keep it alive. */
async function taken(
  leases: Leases,
  name: string,
  { worker, signal }: { readonly worker: string; readonly signal: AbortSignal | undefined },
): Promise<Fence> {
  for (;;) {
    if (signal?.aborted === true) throw asAborted(signal.reason);
    const fence = await leases.take(name, worker);
    if (fence !== undefined) return fence;
    await new Promise<void>((done) => setTimeout(done, POLL_MS));
  }
}
