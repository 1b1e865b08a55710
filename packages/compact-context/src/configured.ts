import type { CompactConfig } from "./config/settings.ts";
import type { StorageDriver } from "./core/ports.ts";
import type { Exporter } from "./core/report.ts";
import { hasCode, once } from "./errors.ts";
import { createMemoryDriver } from "./storage/memory/driver.ts";
import { createAriadneExporter } from "./tracing/exporters/ariadne.ts";

// The storage and the exporters that a configuration names, each loaded when it is first used.

/** The configured storage; the file system is the default where there is one, else memory. */
export async function configuredDriver(
  { storage }: CompactConfig,
  warn: (message: string) => void,
): Promise<StorageDriver> {
  if (storage.kind === "memory") return createMemoryDriver();
  if (storage.kind === "s3") {
    const { createS3Driver } = await import("./storage/s3/driver.ts");
    // Settings without a bucket were rejected earlier.
    return createS3Driver({ ...storage, bucket: storage.bucket ?? "" });
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

/** A driver for a folder, loaded on first use; undefined outside Node and in a bundle without it. */
async function fsDriver(root: string, warn: (message: string) => void): Promise<StorageDriver | undefined> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return undefined;
  const { createFsDriver } = await import("./storage/fs/driver.ts");
  try {
    return createFsDriver({ root, warn });
  } catch (error) {
    if (hasCode(error, "StorageFailed")) return undefined;
    throw error;
  }
}

/** Exporters for the configured destinations. */
export function configuredExporters({ tracing }: CompactConfig, warn: (message: string) => void): Exporter[] {
  const exporters: Exporter[] = [];
  const local = () => import("./tracing/exporters/http-post.ts");
  if (tracing.console) exporters.push(openedLater(async () => (await local()).createConsoleExporter()));
  if (tracing.jsonl !== undefined) {
    const append = fileAppender(tracing.jsonl, warn);
    exporters.push(openedLater(async () => (await local()).createJsonlExporter({ append })));
  }
  if (tracing.ariadne !== undefined) exporters.push(createAriadneExporter({ url: tracing.ariadne }));
  if (tracing.opentelemetry) exporters.push(openTelemetry());
  return exporters;
}

/** An exporter that is loaded on its first event. */
function openedLater(load: () => Promise<Exporter>): Exporter {
  const open = once(load);
  return { export: async (event) => (await open()).export(event) };
}

/** Loaded immediately, and awaited if the host's span is requested in the meantime. */
function openTelemetry(): Exporter {
  let loaded: Exporter | undefined;
  const open = once(async () => {
    const { createOpenTelemetryExporter } = await import("./tracing/exporters/opentelemetry.ts");
    loaded = createOpenTelemetryExporter();
    return loaded;
  });
  // The first `export` reports the error.
  open().catch(() => undefined);
  return {
    name: "OpenTelemetry",
    here: () => (loaded === undefined ? open().then((exporter) => exporter.here?.()) : loaded.here?.()),
    export: async (event, place) => (await open()).export(event, place),
  };
}

/** True for a file that does not exist yet, is empty, or begins with an event. */
async function holdsEvents(medium: StorageDriver, key: string): Promise<boolean> {
  for await (const piece of medium.stream(key)) return /^\{"version":[^\n]*"session_id":/.test(piece);
  return true;
}

function fileAppender(path: string, warn: (message: string) => void): (line: string) => Promise<void> {
  const slash = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  const folder = slash === -1 ? "." : path.slice(0, slash + 1);
  const open = once(async () => {
    const medium = await fsDriver(folder, warn);
    if (medium === undefined) warn("There is no file system here: tracing.jsonl is not written.");
    if (medium === undefined || (await holdsEvents(medium, path.slice(slash + 1)))) return medium;
    warn(
      `tracing.jsonl is not written: ${path} is there and holds something else than events. Name another file.`,
    );
    return undefined;
  });
  return async (line) => {
    await (await open())?.append(path.slice(slash + 1), line);
  };
}
