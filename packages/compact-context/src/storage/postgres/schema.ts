import { CompactError } from "../../errors.ts";
import { codeOf, type Database, isPassing, postgresFailed } from "./client.ts";

/**
 * What each version of the schema adds; `%` stands for the quoted schema. Never changed once published: a new
 * version goes to the end.
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

  // Keys begin with whose the session is: `~t/TENANT/~u/USER/SESSION/NAME`, either, both or none.
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
];

/** The name of a schema as it stands in a statement. Throws `InvalidArgument` for what is no plain name. */
export function quotedSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return `"${schema}"`;
  throw new CompactError("InvalidArgument", `${JSON.stringify(schema)} is no plain schema name`, {
    place: "options.schema",
    hint: "Use lower-case letters, digits and underscores, such as compact or compact_staging.",
  });
}

/** Brings the schema up to date; any number of workers may do so at the same time. */
export async function migrate(database: Database, schema: string, quoted: string): Promise<void> {
  if ((await versionOf(database.run, quoted)) === MIGRATIONS.length) return;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await database.transaction((run) => catchUp(run, schema, quoted));
      return;
    } catch (error) {
      if (!isPassing(error) || attempt >= 8) throw postgresFailed(error, `the schema ${schema}`);
      // Comes back when the server does.
      await database.run("select 1");
    }
  }
}

async function catchUp(run: Database["run"], schema: string, quoted: string): Promise<void> {
  // One after the other: the lock ends with the transaction, also when the worker dies in it.
  await run("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`compact-context ${schema}`]);
  await requireUtf8(run);
  await run(`create schema if not exists ${quoted}`);
  await run(
    `create table if not exists ${quoted}.migrations (version integer primary key, applied_at timestamptz not null default now())`,
  );
  const rows = await run(`select coalesce(max(version), 0)::int as version from ${quoted}.migrations`);
  const current = known(Number(rows[0]?.version ?? 0));
  for (const [index, text] of MIGRATIONS.entries()) {
    if (index < current) continue;
    await run(text.replaceAll("%", quoted));
    await run(`insert into ${quoted}.migrations (version) values ($1)`, [index + 1]);
  }
}

/** 0 where nothing was made yet. */
async function versionOf(run: Database["run"], quoted: string): Promise<number> {
  try {
    const rows = await run(`select coalesce(max(version), 0)::int as version from ${quoted}.migrations`);
    return known(Number(rows[0]?.version ?? 0));
  } catch (error) {
    const code = CompactError.isInstance(error) ? codeOf(error.cause) : "";
    if (code === "42P01" || code === "3F000") return 0;
    throw error;
  }
}

function known(version: number): number {
  if (version <= MIGRATIONS.length) return version;
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
