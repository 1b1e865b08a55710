import type { StorageDriver } from "compact-context";
import { CompactError } from "compact-context/internal/errors";

/**
 * Writes a value, reads it and deletes it. Rejects with the driver's error, and with `StorageFailed` where the value
 * that comes back is another one or nothing comes within `ms` milliseconds.
 */
export async function probeStorage(driver: StorageDriver, id: string, ms: number): Promise<void> {
  const key = `~probe/${id}`;
  const given = `${JSON.stringify({ probe: id })}\n`;
  const signal = AbortSignal.timeout(ms);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () =>
      reject(
        new CompactError("StorageFailed", `the storage gave no answer within ${ms / 1000} s`, {
          place: driver.location,
          hint: "Check that the server is up and can be reached from here.",
        }),
      ),
    );
  });
  const probe = async (): Promise<void> => {
    await driver.put(key, given, { signal });
    const found = await driver.get(key, { signal });
    await driver.delete(key, { signal });
    if (found?.value === given) return;
    throw new CompactError("StorageFailed", "the storage gave back something else than was written", {
      place: driver.location,
      hint: "Check that nothing else writes there, and that the server is not a stale copy.",
    });
  };
  const probed = probe();
  // Whichever comes second is nobody's concern.
  probed.catch(() => undefined);
  late.catch(() => undefined);
  await Promise.race([probed, late]);
}

/** How the storage was when it was probed last. */
export interface Health {
  readonly ok: boolean;
  /** What is wrong. */
  readonly problem?: string;
}

/** Milliseconds for which an answer holds: whoever asks more often gets the same. */
const HOLDS_MS = 5_000;

/** The health of a storage; never rejects. */
export function watchHealth(
  driver: StorageDriver,
  { clock, newId }: { clock(): number; newId(): string },
): () => Promise<Health> {
  let asked: { readonly at: number; readonly answer: Promise<Health> } | undefined;
  return () => {
    if (asked !== undefined && clock() - asked.at < HOLDS_MS) return asked.answer;
    const answer = probeStorage(driver, newId(), 1_000).then(
      () => ({ ok: true }),
      (error: unknown) => ({ ok: false, problem: CompactError.isInstance(error) ? error.code : "failed" }),
    );
    asked = { at: clock(), answer };
    return answer;
  };
}
