import { CompactError, requireOptions } from "../../errors.ts";
import { codeOf, type Database, isPassing, postgresFailed } from "./client.ts";

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

/** Options of `postgresDdl`. */
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
