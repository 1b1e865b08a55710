import { CompactError } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { type Archive, createArchive } from "../storage/archive.ts";
import { archiveFiles } from "../storage/archive-files.ts";
import type { StorageDriver } from "../storage/driver.ts";
import { createDriverOutbox } from "../storage/driver-outbox.ts";
import { createMemoryDriver } from "../storage/drivers/memory.ts";
import { openOnce } from "../storage/open-once.ts";
import type { Outbox } from "../storage/outbox.ts";
import { sessionKey } from "../storage/session-key.ts";
import { createStateStore, type StateStore } from "../storage/session-state.ts";
import { asShared } from "../storage/shared.ts";
import type { Exporter } from "../tracing/event.ts";
import { createAriadneExporter } from "../tracing/exporters/ariadne.ts";
import { createConsoleExporter } from "../tracing/exporters/console.ts";
import { createJsonlExporter } from "../tracing/exporters/jsonl.ts";
import { createOpenTelemetryExporter } from "../tracing/exporters/opentelemetry.ts";
import type { CompactConfig } from "./config.ts";
import { createSharing, type Sharing, unshared } from "./sharing.ts";
import { readState, type SessionState } from "./state.ts";

/** Where a manager keeps what leaves the prompt. */
export interface Store {
  readonly archive: Archive;
  readonly states: StateStore<SessionState>;
  readonly sharing: Sharing;
  readonly outbox: Outbox;
  /** Writes the summary file that a worker still owed which died right after its state was stored. */
  completeArchive(sessionId: string, state: SessionState): Promise<void>;
}

export interface StoreOptions {
  readonly config: CompactConfig;
  /** Used instead of the one that the configuration names. */
  readonly driver: StorageDriver | undefined;
  /** For the archive alone. */
  readonly archiveDriver: StorageDriver | undefined;
  /** This worker's name. */
  readonly worker: string;
  now(): Date;
  readonly redactor: Redactor;
  warn(message: string): void;
}

/** Archive and session state, over one medium unless the archive has its own. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const medium = options.driver ?? (await configuredDriver(options));
  const archiveMedium = options.archiveDriver ?? medium;
  const archive = createArchive(archiveMedium, { redact: options.redactor, warn: options.warn });
  const shared = asShared(medium);
  return {
    archive,
    states: createStateStore(medium, readState),
    sharing: shared === undefined ? unshared : createSharing(shared, options.worker),
    outbox: shared?.outbox ?? createDriverOutbox(medium, () => options.now().getTime()),
    async completeArchive(sessionId, { summary, tokensAfter }) {
      if (summary?.step === undefined) return;
      const key = archiveFiles.summary(sessionKey(sessionId), summary.step);
      if ((await archiveMedium.get(key)) !== undefined) return;
      const { version, text, at, tokens } = summary;
      await archive.saveSummary(sessionId, summary.step, { version, text, at, tokens, tokensAfter });
    },
  };
}

async function configuredDriver({ config, warn }: StoreOptions): Promise<StorageDriver> {
  if (config.storage.kind === "memory") return createMemoryDriver();
  if (config.storage.kind === "s3") {
    const { createS3Driver } = await import("../storage/drivers/s3.ts");
    return createS3Driver(s3Settings(config.storage));
  }
  if (config.storage.kind === "postgres") {
    const { createPostgresDriver } = await import("../storage/drivers/postgres.ts");
    return createPostgresDriver(postgresSettings(config.storage));
  }
  const driver = await fsDriver(config.storage.root, warn);
  if (driver === undefined) {
    warn(
      "There is no file system here: the archive is kept in memory and ends with the process. Pass `storage` to keep it.",
    );
  }
  return driver ?? createMemoryDriver();
}

/** What the Postgres driver needs to know; the rest it takes from the environment. */
export function postgresSettings({ schema }: CompactConfig["storage"]): { readonly schema?: string } {
  return schema === undefined ? {} : { schema };
}

/** What the S3 driver needs to know; throws `InvalidConfig` when the bucket is not named. */
export function s3Settings(storage: CompactConfig["storage"]): S3Settings {
  const { bucket, prefix, region, endpoint, kmsKeyId, forcePathStyle } = storage;
  if (bucket === undefined) {
    throw new CompactError("InvalidConfig", "storage.kind is s3, but storage.bucket is not set", {
      place: "storage.bucket",
      hint: "Name the bucket in the configuration, or set COMPACT_STORAGE_BUCKET.",
    });
  }
  return { bucket, prefix, region, endpoint, kmsKeyId, forcePathStyle };
}

interface S3Settings {
  readonly bucket: string;
  readonly prefix: string | undefined;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  readonly kmsKeyId: string | undefined;
  readonly forcePathStyle: boolean | undefined;
}

/** A driver for a folder, loaded when it is first needed; none where there is no Node. */
async function fsDriver(root: string, warn: (message: string) => void): Promise<StorageDriver | undefined> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return undefined;
  const { createFsDriver } = await import("../storage/drivers/fs.ts");
  return createFsDriver({ root, warn });
}

/** Events to the places that the configuration names. */
export function configuredExporters({ tracing }: CompactConfig, warn: (message: string) => void): Exporter[] {
  const exporters: Exporter[] = [];
  if (tracing.console) exporters.push(createConsoleExporter());
  if (tracing.jsonl !== undefined)
    exporters.push(createJsonlExporter({ append: fileAppender(tracing.jsonl, warn) }));
  if (tracing.ariadne !== undefined) exporters.push(createAriadneExporter({ url: tracing.ariadne }));
  if (tracing.opentelemetry) exporters.push(createOpenTelemetryExporter());
  return exporters;
}

function fileAppender(path: string, warn: (message: string) => void): (line: string) => Promise<void> {
  const slash = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  const folder = slash === -1 ? "." : path.slice(0, slash + 1);
  const open = openOnce(async () => {
    const medium = await fsDriver(folder, warn);
    if (medium === undefined) warn("There is no file system here: tracing.jsonl is not written.");
    return medium;
  });
  return async (line) => {
    await (await open())?.append(path.slice(slash + 1), line);
  };
}
