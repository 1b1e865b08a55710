import type { Redactor } from "../redaction/redactor.ts";
import { type Archive, createArchive } from "../storage/archive.ts";
import type { StorageDriver } from "../storage/driver.ts";
import { createMemoryDriver } from "../storage/drivers/memory.ts";
import { createStateStore, type StateStore } from "../storage/session-state.ts";
import type { CompactConfig } from "./config.ts";
import type { SessionState } from "./state.ts";

/** Where a manager keeps what leaves the prompt. */
export interface Store {
  readonly archive: Archive;
  readonly states: StateStore<SessionState>;
}

export interface StoreOptions {
  readonly config: CompactConfig;
  /** Used instead of the one that the configuration names. */
  readonly driver: StorageDriver | undefined;
  readonly redactor: Redactor;
  warn(message: string): void;
}

/** Archive and session state over one medium. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const medium = options.driver ?? (await configuredDriver(options));
  return {
    archive: createArchive(medium, { redact: options.redactor }),
    states: createStateStore<SessionState>(medium),
  };
}

async function configuredDriver({ config, warn }: StoreOptions): Promise<StorageDriver> {
  if (config.storage.kind === "memory") return createMemoryDriver();
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node !== undefined) {
    const { createFsDriver } = await import("../storage/drivers/fs.ts");
    return createFsDriver({ root: config.storage.root });
  }
  warn(
    "There is no file system here: the archive is kept in memory and ends with the process. Pass `storage` to keep it.",
  );
  return createMemoryDriver();
}
