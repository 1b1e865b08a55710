import type { CallOptions, Leases, Outbox, StorageDriver } from "../../core/ports.ts";
import { abortable, once, refuseAborted, requireOptions } from "../../errors.ts";
import { checkKey, checkPrefix, recordsText } from "../keys.ts";
import {
  createDatabase,
  DEFAULT_WAITS,
  locationOf,
  migrate,
  openPool,
  type PostgresPool,
  quotedSchema,
} from "./client.ts";
import {
  appendValue,
  createPostgresLeases,
  createPostgresOutbox,
  deleteValue,
  listEntries,
  listKeys,
  purgeBelow,
  readValue,
  readVersion,
  streamValue,
  type ValuePorts,
  writeValue,
} from "./values.ts";

export interface PostgresDriverOptions {
  /**
   * `postgres://user@host/database`. Default: `COMPACT_POSTGRES_URL`; if that is unset, the standard Postgres
   * variables (`PGHOST`, `PGUSER`, `PGPASSWORD`, …).
   */
  readonly url?: string;
  /** A pool from the `pg` package, used instead of a URL. The caller ends it and handles its errors. */
  readonly pool?: PostgresPool;
  /** Schema of the tables, which are created on first use. Default: `compact`. */
  readonly schema?: string;
  /** Maximum connections of the driver's own pool. Default: 10. */
  readonly connections?: number;
  /** Statement timeout of the driver's own pool, in milliseconds. Default: 30,000. */
  readonly statementTimeoutMs?: number;
  /** How long a session stays locked after its worker goes silent, in milliseconds. Default: 10,000. */
  readonly leaseMs?: number;
}

/** A driver for many workers; call `close` when done. */
export interface PostgresDriver extends StorageDriver {
  readonly leases: Leases;
  readonly outbox: Outbox;
  /** Closes the driver's own pool; a pool passed by the caller stays open. */
  close(): Promise<void>;
}

/**
 * Stores values in a Postgres database: durable once a call resolves, conditional writes exact across any
 * number of workers. Lost connections, server restarts and serialization failures are retried for a few
 * seconds; a write whose response was lost is still applied only once. Needs the `pg` package, loaded on
 * first use. Throws `InvalidArgument` for invalid options.
 */
export function createPostgresDriver(options: PostgresDriverOptions = {}): PostgresDriver {
  requireOptions(options);
  const { schema = "compact", leaseMs = 10_000 } = options;
  const quoted = quotedSchema(schema);
  const url = options.pool === undefined ? (options.url ?? process.env.COMPACT_POSTGRES_URL) : undefined;
  const location = locationOf(url, schema);
  const raw = createDatabase({
    pool: once(async () => options.pool ?? openPool(url, options)),
    location,
    waits: DEFAULT_WAITS,
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
    keepOpen: options.pool !== undefined,
  });

  const ready = once(() => migrate(raw, schema, quoted));
  const database: ValuePorts["database"] = {
    run: async (text, values) => {
      await ready();
      return raw.run(text, values);
    },
  };
  const ports: ValuePorts = { database, schema: quoted, newId: () => crypto.randomUUID() };

  // An aborted statement keeps running until the server's statement timeout.
  const guarded = async <T>(
    key: string,
    work: () => Promise<T>,
    { signal }: CallOptions = {},
  ): Promise<T> => {
    checkKey(key);
    refuseAborted(signal);
    return abortable(work(), signal);
  };

  return {
    location,
    leases: createPostgresLeases(ports, leaseMs),
    outbox: createPostgresOutbox(ports),
    get: (key, call) => guarded(key, () => readValue(ports, key), call),
    version: (key, call) => guarded(key, () => readVersion(ports, key), call),
    async *stream(key) {
      checkKey(key);
      yield* streamValue(ports, key);
    },
    put: (key, value, call = {}) =>
      guarded(key, async () => ({ version: await writeValue(ports, key, value, call) }), call),
    append: (key, records, call) =>
      guarded(key, async () => appendValue(ports, key, recordsText(records, key)), call),
    async list(prefix, call = {}) {
      checkPrefix(prefix);
      refuseAborted(call.signal);
      return abortable(listKeys(ports, prefix, call), call.signal);
    },
    delete: (key, call) => guarded(key, () => deleteValue(ports, key), call),
    async *entries(prefix) {
      checkPrefix(prefix);
      yield* listEntries(ports, prefix);
    },
    async purge(prefix) {
      checkPrefix(prefix);
      await purgeBelow(ports, prefix);
    },
    close: raw.close,
  };
}
