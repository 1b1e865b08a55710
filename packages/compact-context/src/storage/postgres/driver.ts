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
   * `postgres://user@host/database`. When left out `COMPACT_POSTGRES_URL` of the environment, and where that is
   * not set the variables that every Postgres client knows (`PGHOST`, `PGUSER`, `PGPASSWORD`, …).
   */
  readonly url?: string;
  /** A pool of the package `pg`, instead of a URL; it stays yours to end, and to listen to for errors. */
  readonly pool?: PostgresPool;
  /** Holds the tables, made when they are first needed; `compact` when left out. */
  readonly schema?: string;
  /** Connections of the own pool at most; 10 when left out. */
  readonly connections?: number;
  /** Longest time of one statement over the own pool, in milliseconds; 30,000 when left out. */
  readonly statementTimeoutMs?: number;
  /** How long a worker that went silent keeps others from compacting its session, in milliseconds; 10,000 when left out. */
  readonly leaseMs?: number;
}

/** A driver for many workers, with connections to close at the end. */
export interface PostgresDriver extends StorageDriver {
  readonly leases: Leases;
  readonly outbox: Outbox;
  /** Closes the own pool; a pool that was handed in stays open. */
  close(): Promise<void>;
}

/**
 * Keeps values in a Postgres database: durable when a call resolves, exact between any number of workers. A lost
 * connection, a restarting server and a serialization failure are waited out for some seconds, and a write whose
 * answer was lost is done once all the same. Needs the package `pg`, loaded when first used. Throws
 * `InvalidArgument` for options that cannot be used.
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

  // A statement goes on when nobody waits for it any more: it ends with the server's own time-out.
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
