import { CompactError, defined, errorMessage, once } from "../../errors.ts";

/** The result of a statement. */
export interface PostgresResult {
  readonly rows: readonly Record<string, unknown>[];
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** The part of `pg`'s `Pool` that the driver uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  end(): Promise<void>;
}

/** Runs statements over a pool, retrying each while the server is unreachable. */
export interface Database {
  run(text: string, values?: unknown[]): Promise<PostgresResult["rows"]>;
  /** Runs the statements of `work` in one transaction, without retries. */
  transaction<T>(work: (run: Database["run"]) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Milliseconds between attempts; together long enough for a server to restart after a crash. */
const WAITS: readonly number[] = [20, 50, 100, 250, 500, 1000, 2000, 4000];

/**
 * SQLSTATEs worth a retry: connection exceptions, temporarily exhausted resources, serialization failure and
 * deadlock, server shutting down or starting up.
 */
const PASSING = /^(?:08...|53[23]00|40001|40P01|57P0[1235])$/;
const BROKEN = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTCONN)$/;
const ENDED =
  /connection (?:terminated|ended)|client has encountered a connection error|not queryable|timeout exceeded when trying to connect/i;

/** A database whose pool `open` gives on first use. */
export function createDatabase(open: () => Promise<PostgresPool>, location: string): Database {
  let opened: PostgresPool | undefined;
  const pool = once(async () => {
    opened = await open();
    return opened;
  });
  return {
    async run(text, values) {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return (await (await pool()).query(text, values)).rows;
        } catch (error) {
          const wait = isPassing(error) ? WAITS[attempt] : undefined;
          if (wait === undefined) throw postgresFailed(error, location);
          await new Promise((done) => setTimeout(done, wait));
        }
      }
    },
    async transaction(work) {
      try {
        return await inTransaction(await pool(), work);
      } catch (error) {
        throw isPassing(error) ? error : postgresFailed(error, location);
      }
    },
    close: async () => opened?.end(),
  };
}

/** True for a transient failure: the same statement may succeed on retry. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return PASSING.test(code) || BROKEN.test(code) || ENDED.test(error.message);
}

/** SQLSTATE or system error code; empty if there is none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}

/** Connections that already have an error listener: a pool hands out the same ones repeatedly. */
const listened = new WeakSet<PostgresClient>();

async function inTransaction<T>(pool: PostgresPool, work: (run: Database["run"]) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // Without a listener, a connection that breaks between statements would crash the process.
  if (!listened.has(client)) client.on("error", () => {});
  listened.add(client);
  try {
    await client.query("begin");
    const result = await work(async (text, values) => (await client.query(text, values)).rows);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    // Closing the connection rolls back, whatever its state.
    client.release(true);
    throw error;
  }
}

const TOO_LONG = "A statement took longer than it may: look for locks, or raise statementTimeoutMs.";
const HINTS: Readonly<Record<string, string>> = {
  "28P01": "Check user and password in the URL of the environment.",
  "28000": "Let this user connect to the database.",
  "3D000": "Create the database first; tables are made by themselves.",
  "42501": "Let this user create the schema, or have one who may run what `compact storage ddl` prints.",
  "42P01": "A table is gone: was the schema removed while this program was running?",
  "53100": "The disk of the database server is full.",
  "57014": TOO_LONG,
  "22P05": "The database cannot hold every character: use one with the encoding UTF8.",
};

const READ_TIMEOUT = /query read timeout/i;

/** Wraps server and connection errors in `StorageFailed`; passes `CompactError`s through unchanged. */
export function postgresFailed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const code = codeOf(error);
  return new CompactError(
    "StorageFailed",
    `Postgres refused (${[code, errorMessage(error)].filter(Boolean).join(": ")})`,
    {
      place,
      hint:
        HINTS[code] ??
        (READ_TIMEOUT.test(errorMessage(error)) ? TOO_LONG : undefined) ??
        "Check that the database is up and that the URL of the environment leads to it.",
      cause: error,
    },
  );
}

export interface PoolOptions {
  /** Default: 10. */
  readonly connections?: number;
  /** In milliseconds. Default: 30,000. */
  readonly statementTimeoutMs?: number;
}

/** How much later than the server the client times out: behind some poolers the server has no timeout. */
const GIVE_UP_MS = 1000;
/** The error of a pooler such as pgbouncer for a setting that it does not forward. */
const UNSUPPORTED_SETTING = /unsupported startup parameter/i;

/**
 * Host, database and schema for display, never user or password. Throws `InvalidArgument` for an invalid URL.
 */
export function locationOf(url: string | undefined, schema: string): string {
  if (url === undefined) return `postgres/${schema}`;
  // The host may be a socket folder, which the platform's URL parser rejects.
  const parts = /^postgres(?:ql)?:\/\/(?:[^@/]*@)?([^/?#]*)(?:\/([^?#]*))?/.exec(url);
  if (parts === null) {
    throw new CompactError("InvalidArgument", "the Postgres URL cannot be read", {
      hint: "It looks like postgres://user@host:5432/database.",
    });
  }
  return `postgres://${decodeURIComponent(parts[1] ?? "")}/${parts[2] ?? ""}/${schema}`;
}

/**
 * Loads `pg` and opens a pool that does not keep the process alive. Rejects if the server does not answer.
 */
export async function openPool(url: string | undefined, options: PoolOptions): Promise<PostgresPool> {
  const limit = options.statementTimeoutMs ?? 30_000;
  const settings = {
    connectionString: url,
    max: options.connections ?? 10,
    query_timeout: limit + GIVE_UP_MS,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 10_000,
    application_name: "compact-context",
    // Idle connections do not keep the process alive.
    allowExitOnIdle: true,
  };
  try {
    return await tried(await newPool(defined({ ...settings, statement_timeout: limit })));
  } catch (error) {
    if (!UNSUPPORTED_SETTING.test(errorMessage(error))) throw error;
    return tried(await newPool(defined(settings)));
  }
}

/** The pool, once its first connection has succeeded. */
async function tried(pool: ListenedPool): Promise<PostgresPool> {
  // The pool replaces a connection that breaks while idle; without a listener the error would crash the
  // process.
  pool.on("error", () => {});
  try {
    (await pool.connect()).release();
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

interface ListenedPool extends PostgresPool {
  on(event: "error", listener: (error: Error) => void): unknown;
}

async function newPool(settings: object): Promise<ListenedPool> {
  try {
    const { default: client } = await import("pg");
    return new client.Pool(settings);
  } catch (cause) {
    throw new CompactError("StorageFailed", "the package pg cannot be loaded", {
      hint: "Install it (npm install pg), or pass a pool.",
      cause,
    });
  }
}
