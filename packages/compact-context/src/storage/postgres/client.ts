import { CompactError, errorMessage } from "../../errors.ts";

/** What a statement gave back. */
export interface PostgresResult {
  readonly rows: readonly Record<string, unknown>[];
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** The part of a `Pool` of the package `pg` that is used. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  end(): Promise<void>;
}

/** Statements over a pool, each tried again while the server cannot be reached. */
export interface Database {
  run(text: string, values?: unknown[]): Promise<PostgresResult["rows"]>;
  /** The statements of `work` in one transaction, not tried again by themselves. */
  transaction<T>(work: (run: Database["run"]) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  pool(): Promise<PostgresPool>;
  readonly location: string;
  /** Waits between attempts, in milliseconds; after the last the error goes to the caller. */
  readonly waits: readonly number[];
  sleep(ms: number): Promise<void>;
  /** Leaves a pool that somebody else made open. */
  readonly keepOpen: boolean;
}

/** A server that restarts after a crash is back within these together. */
export const DEFAULT_WAITS: readonly number[] = [20, 50, 100, 250, 500, 1000, 2000, 4000];

/**
 * SQLSTATEs after which the same statement may succeed: connection exceptions, resources that run out for a moment,
 * serialization failure and deadlock, the server going down or coming up.
 */
const PASSING = /^(?:08...|53[23]00|40001|40P01|57P0[1235])$/;
const BROKEN = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOENT",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENOTCONN",
]);
const ENDED =
  /connection (?:terminated|ended)|client has encountered a connection error|not queryable|timeout exceeded when trying to connect/i;

export function createDatabase(options: DatabaseOptions): Database {
  const { location } = options;
  return {
    run: (text, values) =>
      persist(async () => (await (await options.pool()).query(text, values)).rows, options),
    transaction: async (work) => {
      try {
        return await inTransaction(await options.pool(), work);
      } catch (error) {
        throw isPassing(error) ? error : postgresFailed(error, location);
      }
    },
    close: async () => {
      if (!options.keepOpen) await (await options.pool()).end();
    },
  };
}

async function persist<T>(
  work: () => Promise<T>,
  { location, waits, sleep }: Pick<DatabaseOptions, "location" | "waits" | "sleep">,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const wait = isPassing(error) ? waits[attempt] : undefined;
      if (wait === undefined) throw postgresFailed(error, location);
      await sleep(wait);
    }
  }
}

/** True for a failure of the moment: the same statement may succeed when it is sent again. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return PASSING.test(code) || BROKEN.has(code) || ENDED.test(error.message);
}

/** SQLSTATE or system error code; empty where there is none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}

/** A pool hands out the same connections again and again. */
const listened = new WeakSet<PostgresClient>();

async function inTransaction<T>(pool: PostgresPool, work: (run: Database["run"]) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // Without a listener a connection that breaks between two statements would end the process.
  if (!listened.has(client)) client.on("error", () => {});
  listened.add(client);
  try {
    await client.query("begin");
    const result = await work(async (text, values) => (await client.query(text, values)).rows);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    // Closing the connection rolls back, whatever state it is in.
    client.release(true);
    throw error;
  }
}

const HINTS: Readonly<Record<string, string>> = {
  "28P01": "Check user and password in the URL of the environment.",
  "28000": "Let this user connect to the database.",
  "3D000": "Create the database first; tables are made by themselves.",
  "42501": "Let this user create the schema, or create it once with one who may and grant its use.",
  "42P01": "A table is gone: was the schema removed while this program was running?",
  "53100": "The disk of the database server is full.",
  "57014": "A statement took longer than it may: look for locks, or raise statementTimeoutMs.",
  "22P05": "The database cannot hold every character: use one with the encoding UTF8.",
};

/** `StorageFailed` around an error of the server or of the way to it; errors of our own go through unchanged. */
export function postgresFailed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const code = codeOf(error);
  return new CompactError(
    "StorageFailed",
    `Postgres refused (${[code, errorMessage(error)].filter(Boolean).join(": ")})`,
    {
      place,
      hint: HINTS[code] ?? "Check that the database is up and that the URL of the environment leads to it.",
      cause: error,
    },
  );
}
