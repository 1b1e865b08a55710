import type { CompactConfig } from "./config/settings.ts";
import type { Exporter, Outbox, Redaction, StorageDriver } from "./core/ports.ts";
import type { Store } from "./core/store.ts";
import { CompactError, once } from "./errors.ts";
import { type Archive, createArchive } from "./search/archive.ts";
import { createMemoryDriver } from "./storage/memory/driver.ts";
import { createDriverOutbox } from "./storage/outbox.ts";
import { createAriadneExporter } from "./tracing/exporters/ariadne.ts";
import { createConsoleExporter, createJsonlExporter } from "./tracing/exporters/local.ts";
import { createOpenTelemetryExporter } from "./tracing/exporters/opentelemetry.ts";

/** Archive, session states and outbox of a manager. */
export interface Storage extends Store {
  readonly archive: Archive;
  readonly outbox: Outbox;
}

/** Opens archive and session states, on one medium unless the archive has its own. */
export async function openStorage(
  config: CompactConfig,
  given: { readonly storage?: StorageDriver; readonly archive?: StorageDriver },
  context: { readonly redaction: Redaction; warn(message: string): void; now(): Date },
): Promise<Storage> {
  const { redaction, warn, now } = context;
  const stateDriver = given.storage ?? (await configuredDriver(config, warn));
  const archiveDriver = given.archive ?? stateDriver;
  return {
    archive: createArchive(archiveDriver, { redact: redaction, stateDriver, warn }),
    archiveDriver,
    stateDriver,
    outbox: stateDriver.outbox ?? createDriverOutbox(stateDriver, () => now().getTime()),
  };
}

async function configuredDriver(
  { storage }: CompactConfig,
  warn: (message: string) => void,
): Promise<StorageDriver> {
  if (storage.kind === "memory") return createMemoryDriver();
  if (storage.kind === "s3") {
    const { createS3Driver } = await import("./storage/s3/driver.ts");
    return createS3Driver(s3Settings(storage));
  }
  if (storage.kind === "postgres") {
    const { createPostgresDriver } = await import("./storage/postgres/driver.ts");
    return createPostgresDriver({ schema: storage.schema });
  }
  const driver = await fsDriver(storage.root, warn);
  if (driver !== undefined) return driver;
  warn(
    "There is no file system here: the archive is kept in memory and ends with the process. Pass `storage` to keep it.",
  );
  return createMemoryDriver();
}

type S3Settings = Pick<
  CompactConfig["storage"],
  "prefix" | "region" | "endpoint" | "kmsKeyId" | "forcePathStyle"
> & { readonly bucket: string };

/** What the S3 driver needs to know; throws `InvalidConfig` when the bucket is not named. */
export function s3Settings(storage: CompactConfig["storage"]): S3Settings {
  const { bucket, prefix, region, endpoint, kmsKeyId, forcePathStyle } = storage;
  if (bucket !== undefined) return { bucket, prefix, region, endpoint, kmsKeyId, forcePathStyle };
  throw new CompactError("InvalidConfig", "storage.kind is s3, but storage.bucket is not set", {
    place: "storage.bucket",
    hint: "Name the bucket in the configuration, or set COMPACT_STORAGE_BUCKET.",
  });
}

/** A driver for a folder, loaded when it is first needed; undefined outside Node. */
async function fsDriver(root: string, warn: (message: string) => void): Promise<StorageDriver | undefined> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return undefined;
  const { createFsDriver } = await import("./storage/fs/driver.ts");
  return createFsDriver({ root, warn });
}

/** Exporters to the places that the configuration names. */
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
  const open = once(async () => {
    const medium = await fsDriver(folder, warn);
    if (medium === undefined) warn("There is no file system here: tracing.jsonl is not written.");
    return medium;
  });
  return async (line) => {
    await (await open())?.append(path.slice(slash + 1), line);
  };
}
