import { CompactError, defined, errorMessage, once, requireOptions } from "../../errors.ts";

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
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return PASSING.test(code) || BROKEN.test(code) || ENDED.test(error.message);
}

/** SQLSTATE or system error code; empty if there is none. */
function codeOf(error: unknown): string {
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
function postgresFailed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const code = codeOf(error);
  const message = errorMessage(error);
  const other = READ_TIMEOUT.test(message)
    ? TOO_LONG
    : "Check that the database is up and that the URL of the environment leads to it.";
  const what = [code, message].filter(Boolean).join(": ");
  return new CompactError("StorageFailed", `Postgres refused (${what})`, {
    place,
    hint: HINTS[code] ?? other,
    cause: error,
  });
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
export async function openPool(
  url: string | undefined,
  connections: number,
  statementTimeoutMs: number,
): Promise<PostgresPool> {
  const settings = {
    connectionString: url,
    max: connections,
    query_timeout: statementTimeoutMs + GIVE_UP_MS,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 10_000,
    application_name: "compact-context",
    // Idle connections do not keep the process alive.
    allowExitOnIdle: true,
  };
  try {
    return await tried(await newPool(defined({ ...settings, statement_timeout: statementTimeoutMs })));
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

/**
 * What each schema version adds; `%` stands for the quoted schema. Never edit a published version: append a
 * new one.
 */
const MIGRATIONS: readonly string[] = [
  `create sequence %.numbers;

   create table %.documents (
     key text collate "C" primary key,
     session text generated always as (case when position('/' in key) > 0 then split_part(key, '/', 1) end) stored,
     name text generated always as (substring(key from '[^/]+$')) stored,
     version bigint not null,
     content bigint not null,
     write_id uuid not null,
     pieces integer not null default 0,
     characters bigint not null,
     body text,
     raw bytea,
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now()
   );
   comment on table %.documents is 'One value a row: transcripts, summaries, events, session states.';
   comment on column %.documents.body is 'The value, or its beginning when pieces > 0; null when raw holds it, which is so for text with a NUL.';
   create index documents_session on %.documents (session);

   create table %.pieces (
     content bigint not null,
     n integer not null,
     key text collate "C" not null,
     write_id uuid unique,
     body text,
     raw bytea,
     created_at timestamptz not null default now(),
     primary key (content, n)
   );
   comment on table %.pieces is 'What follows the beginning of a value: joined by content, in the order of n.';
   create index pieces_key on %.pieces (key);

   create table %.leases (
     name text primary key,
     owner text not null,
     token bigint not null,
     expires_at timestamptz not null
   );

   create table %.outbox (
     session text not null,
     id text not null,
     body text not null,
     attempts integer not null default 0,
     due_at timestamptz not null default now(),
     claimed_by text,
     created_at timestamptz not null default now(),
     primary key (session, id)
   );
   comment on column %.outbox.due_at is 'Not handed out before: the end of a claim, or of the wait after a failure.';
   create index outbox_due on %.outbox (due_at);`,

  // Keys start with the owner of the session: `~t/TENANT/~u/USER/SESSION/NAME`, with either, both or neither
  // prefix.
  `alter table %.documents drop column session;
   alter table %.documents
     add column tenant text generated always as (substring(key from '^~t/([^/]+)/')) stored,
     add column user_name text generated always as (substring(key from '^(?:~t/[^/]+/)?~u/([^/]+)/')) stored,
     add column session text generated always as (substring(key from '^(?:~t/[^/]+/)?(?:~u/[^/]+/)?([^/~][^/]*)/')) stored;
   create index documents_session on %.documents (session);
   create index documents_tenant on %.documents (tenant, user_name) where tenant is not null;
   create index documents_user on %.documents (user_name) where user_name is not null;

   alter table %.outbox
     add column tenant text generated always as (substring(session from '^~t/([^/]+)/')) stored,
     add column user_name text generated always as (substring(session from '^(?:~t/[^/]+/)?~u/([^/]+)/')) stored;
   comment on column %.outbox.session is 'The whole folder of a session: what stands before the name in documents.key.';`,

  // A newer schema version may work with older releases, so that workers can be upgraded one at a time.
  `alter table %.migrations add column works_with integer;
   comment on column %.migrations.works_with is 'The oldest version whose programs can use this one; null for none but its own.';`,
];

/** The oldest schema version whose release works with the newest one. */
const WORKS_WITH = MIGRATIONS.length;

/** The schema name, quoted for a statement. Throws `InvalidArgument` unless it is a plain name. */
export function quotedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return `"${schema}"`;
  throw new CompactError("InvalidArgument", `${JSON.stringify(schema)} is no plain schema name`, {
    place: "options.schema",
    hint: "Use lower-case letters, digits and underscores, such as compact or compact_staging.",
  });
}

/** Brings the schema up to date; safe to run from any number of workers at once. */
export async function migrate(database: Database, schema: string, quoted: string): Promise<void> {
  if ((await versionOf(database.run, quoted)) >= MIGRATIONS.length) return;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await database.transaction((run) => catchUp(run, schema, quoted));
      return;
    } catch (error) {
      if (!isPassing(error) || attempt >= 8) throw postgresFailed(error, `the schema ${schema}`);
      // Retried until the server is back.
      await database.run("select 1");
    }
  }
}

const MIGRATIONS_TABLE =
  "create table if not exists %.migrations (version integer primary key, applied_at timestamptz not null default now())";

async function catchUp(run: Database["run"], schema: string, quoted: string): Promise<void> {
  // Altering a large table can take longer than the statement timeout.
  await run("set local statement_timeout = 0");
  // One worker at a time: the lock ends with the transaction, even if the worker dies.
  await run("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`compact-context ${schema}`]);
  await requireUtf8(run);
  await run(`create schema if not exists ${quoted}`);
  await run(MIGRATIONS_TABLE.replaceAll("%", quoted));
  const rows = await run(`select coalesce(max(version), 0)::int as version from ${quoted}.migrations`);
  for (const text of pending(Number(rows[0]?.version ?? 0), quoted)) await run(text);
}

/** The statements that migrate from a version to the newest one. */
function pending(version: number, quoted: string): string[] {
  const steps = MIGRATIONS.flatMap((text, index) =>
    index < version ? [] : [text, `insert into %.migrations (version) values (${index + 1})`],
  );
  const newest = `update %.migrations set works_with = ${WORKS_WITH} where version = ${MIGRATIONS.length}`;
  return (steps.length === 0 ? [] : [...steps, newest]).map((text) => text.replaceAll("%", quoted));
}

export interface PostgresDdlOptions {
  /** Default: `compact`. */
  readonly schema?: string;
  /** The version to start from. Default: 0, an empty database. */
  readonly from?: number;
  /** The role of the programs; granted only the rights it needs. */
  readonly role?: string;
}

/**
 * The statements that create or migrate the tables, to be run by a privileged user; the programs then need no
 * right to create anything. Throws `InvalidArgument` unless the names are plain.
 */
export function postgresDdl(options: PostgresDdlOptions = {}): string {
  requireOptions(options, "options", "Leave them out, or pass { schema, from, role }.");
  const { schema = "compact", from = 0, role } = options;
  const quoted = quotedSchema(schema);
  const start =
    from === 0 ? [`create schema if not exists ${quoted}`, MIGRATIONS_TABLE.replaceAll("%", quoted)] : [];
  const grantee = role === undefined ? undefined : quotedSchema(role);
  const grants =
    grantee === undefined
      ? []
      : [
          `grant usage on schema ${quoted} to ${grantee}`,
          `grant select, insert, update, delete on all tables in schema ${quoted} to ${grantee}`,
          `revoke insert, update, delete on ${quoted}.migrations from ${grantee}`,
          `grant usage on all sequences in schema ${quoted} to ${grantee}`,
        ];
  const lines = ["begin", ...start, ...pending(from, quoted), ...grants, "commit"];
  return `${lines.map((line) => line.trim().replace(/;$/, "")).join(";\n\n")};\n`;
}

/** 0 if nothing has been created yet, or if the migrations table is too old to read. */
async function versionOf(run: Database["run"], quoted: string): Promise<number> {
  try {
    const rows = await run(
      `select version, works_with from ${quoted}.migrations order by version desc limit 1`,
    );
    const { version, works_with: oldest } = rows[0] ?? {};
    return known(Number(version ?? 0), oldest === null ? undefined : Number(oldest));
  } catch (error) {
    const code = CompactError.isInstance(error) ? codeOf(error.cause) : "";
    // No such table, schema, or column of a newer version.
    if (code === "42P01" || code === "3F000" || code === "42703") return 0;
    throw error;
  }
}

function known(version: number, worksWith = version): number {
  if (worksWith <= MIGRATIONS.length) return version;
  throw new CompactError("StorageFailed", `the schema has version ${version}, made by a newer release`, {
    hint: `This release knows versions up to ${MIGRATIONS.length}: update compact-context.`,
  });
}

async function requireUtf8(run: Database["run"]): Promise<void> {
  const rows = await run("select current_setting('server_encoding') as encoding");
  if (rows[0]?.encoding === "UTF8") return;
  throw new CompactError("StorageFailed", `the database has the encoding ${String(rows[0]?.encoding)}`, {
    hint: "Use a database with the encoding UTF8: any other cannot hold every character.",
  });
}
