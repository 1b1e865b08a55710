import type { DriverWith } from "../../core/ports.ts";
import { once, requireOptions } from "../../errors.ts";
import { checkAppended, checkKey, checkPrefix } from "../keys.ts";
import { createDatabase, DEFAULT_WAITS, type PostgresPool } from "./client.ts";
import { locationOf, openPool } from "./pool.ts";
import { migrate, quotedSchema } from "./schema.ts";
import {
  appendValue,
  deleteValue,
  listKeys,
  readValue,
  streamValue,
  type ValuePorts,
  writeValue,
} from "./values.ts";
import { createPostgresLeases, createPostgresOutbox } from "./workers.ts";

export type { PostgresClient, PostgresPool, PostgresResult } from "./client.ts";

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
export interface PostgresDriver extends DriverWith<"putChunks" | "version" | "leases" | "outbox"> {
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
  let asked = false;
  const raw = createDatabase({
    pool: once(() => {
      asked = true;
      return options.pool === undefined ? openPool(url, options) : Promise.resolve(options.pool);
    }),
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

  return {
    location,
    leases: createPostgresLeases(ports, leaseMs),
    outbox: createPostgresOutbox(ports),
    async get(key) {
      checkKey(key);
      return readValue(ports, key);
    },
    async *stream(key) {
      checkKey(key);
      yield* streamValue(ports, key);
    },
    async version(key) {
      checkKey(key);
      const rows = await database.run(
        `select version::text as version from ${quoted}.documents where key = $1`,
        [key],
      );
      return rows[0]?.version === undefined ? undefined : String(rows[0].version);
    },
    async put(key, value, putOptions = {}) {
      checkKey(key);
      return { version: await writeValue(ports, key, [value], putOptions) };
    },
    async putChunks(key, chunks, putOptions = {}) {
      checkKey(key);
      return { version: await writeValue(ports, key, chunks, putOptions) };
    },
    async append(key, text) {
      checkKey(key);
      checkAppended(text, key);
      await appendValue(ports, key, text);
    },
    async list(prefix) {
      checkPrefix(prefix);
      return listKeys(ports, prefix);
    },
    async delete(key) {
      checkKey(key);
      await deleteValue(ports, key);
    },
    // A pool that nobody asked for is not opened to be closed.
    close: () => (asked ? raw.close() : Promise.resolve()),
  };
}
