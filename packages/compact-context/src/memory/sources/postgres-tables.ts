import { type Database, quotedSchema } from "../../storage/postgres/client.ts";

/**
 * `terms` are index terms as `analyze` gives them, each behind the number of its scope (`7:deploy`): one index serves
 * all channels and a search looks only at its own. `frequencies` counts the units of a scope that hold a term.
 */
const TABLES = `
  create table if not exists %.scopes (
    number integer generated always as identity primary key,
    workspace text not null, channel text not null, user_name text not null,
    units integer not null default 0,
    unique (workspace, channel, user_name)
  );
  create table if not exists %.units (
    number bigint generated always as identity primary key,
    scope integer not null references %.scopes on delete cascade,
    id text not null,
    section text, place double precision,
    content text not null, title text, author text,
    noted timestamptz,
    terms tsvector not null,
    unique (scope, id)
  );
  create index if not exists units_terms on %.units using gin (terms);
  create index if not exists units_section on %.units (scope, section, place);
  create index if not exists units_noted on %.units (scope, noted);
  create table if not exists %.frequencies (
    scope integer not null references %.scopes on delete cascade,
    term text collate "C" not null,
    units integer not null,
    primary key (scope, term)
  );`;

/** Makes what is missing; any number of hosts may do so at the same time. */
export async function makeTables(database: Database, schema: string): Promise<void> {
  const quoted = quotedSchema(schema);
  const found = await database.run("select to_regclass($1) is not null as made", [`${quoted}.frequencies`]);
  if (found[0]?.made === true) return;
  await database.transaction(async (run) => {
    await run("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`compact-context ${schema}`]);
    await run(`create schema if not exists ${quoted}`);
    await run(TABLES.replaceAll("%", quoted));
  });
}
