import type { StorageDriver } from "./driver.ts";
import type { Outbox } from "./outbox.ts";

/** Proof of a lease that was taken: what is written under it is refused once somebody else took the lease over. */
export interface Fence {
  readonly name: string;
  /** Rises with every taking. */
  readonly token: string;
}

/** The right to work on something alone, until it is given back or its time is over. */
export interface Leases {
  /** How long a lease holds without being renewed, in milliseconds. */
  readonly ms: number;
  /** Nothing while another owner holds it. */
  take(name: string, owner: string): Promise<Fence | undefined>;
  /** False when it was lost meanwhile. */
  renew(fence: Fence): Promise<boolean>;
  /** No error where it was lost. */
  giveBack(fence: Fence): Promise<void>;
}

/** A medium that many workers share: it knows who may write, and hands out queued work to one of them at a time. */
export interface SharedStorageDriver extends StorageDriver {
  readonly leases: Leases;
  readonly outbox: Outbox;
  /** The version of a value without the value. */
  version(key: string): Promise<string | undefined>;
  /** As any driver's; with `fence`, a `Conflict` as well once somebody else took that lease. */
  put(
    key: string,
    value: string,
    options?: { readonly ifVersion?: string | null; readonly fence?: Fence },
  ): Promise<{ readonly version: string }>;
}

/** The driver as a shared one, where it is that. */
export function asShared(driver: StorageDriver): SharedStorageDriver | undefined {
  return "leases" in driver && "outbox" in driver ? (driver as SharedStorageDriver) : undefined;
}
