import type { Database } from "../../storage/postgres/client.ts";
import { analyze } from "../ranking/analyze.ts";
import type { RecallCandidate } from "../ranking/candidate.ts";
import { readTimestamp } from "../ranking/dates.ts";

type Run = Database["run"];

/** Workspace, channel and user of kept candidates; empty for everybody's. */
export type ScopeKeys = readonly [workspace: string, channel: string, user: string];

/** Units in one statement; more would make parameters of many megabytes. */
const BATCH = 500;

export interface PutRequest {
  readonly keys: ScopeKeys;
  readonly candidates: readonly RecallCandidate[];
  /** Removes the scope's other units. */
  readonly replace: boolean;
}

/** Writes the units of one scope, one writer of it at a time. */
export async function putUnits(run: Run, schema: string, request: PutRequest): Promise<void> {
  const { keys, candidates, replace } = request;
  const scope = await lockScope(run, schema, keys);
  // The last one of an id counts.
  const units = [
    ...new Map(candidates.map((candidate, place) => [candidate.id, { candidate, place }])).values(),
  ];
  const ids = units.map(({ candidate }) => candidate.id);
  const gone = replace ? "true" : "id = any($2)";
  await dropUnits(run, schema, { scope, where: gone, ids: replace ? undefined : ids });
  const counts = new Map<string, number>();
  for (let start = 0; start < units.length; start += BATCH) {
    const rows = units
      .slice(start, start + BATCH)
      .map(({ candidate, place }) => rowOf(candidate, place, scope));
    await run(
      `insert into ${schema}.units (scope, id, section, place, content, title, author, noted, terms)
       select $1, r.id, r.section, r.place, r.content, r.title, r.author, r.noted, array_to_tsvector(r.terms)
       from jsonb_to_recordset($2::jsonb) as r(id text, section text, place double precision, content text, title text,
         author text, noted timestamptz, terms text[])`,
      [scope, JSON.stringify(rows)],
    );
    for (const { terms } of rows) for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  await addCounts(run, schema, scope, counts);
  await run(`update ${schema}.scopes set units = units + $2 where number = $1`, [scope, units.length]);
}

export async function removeUnits(
  run: Run,
  schema: string,
  { keys, ids }: { readonly keys: ScopeKeys; readonly ids: readonly string[] },
): Promise<void> {
  const scope = await lockScope(run, schema, keys);
  await dropUnits(run, schema, { scope, where: "id = any($2)", ids });
}

/** The number of a scope, whose row is held to the end of the transaction. */
async function lockScope(run: Run, schema: string, keys: ScopeKeys): Promise<number> {
  await run(
    `insert into ${schema}.scopes (workspace, channel, user_name) values ($1, $2, $3) on conflict do nothing`,
    [...keys],
  );
  const rows = await run(
    `select number from ${schema}.scopes where workspace = $1 and channel = $2 and user_name = $3 for update`,
    [...keys],
  );
  return Number(rows[0]?.number);
}

async function dropUnits(
  run: Run,
  schema: string,
  {
    scope,
    where,
    ids,
  }: { readonly scope: number; readonly where: string; readonly ids: readonly string[] | undefined },
): Promise<void> {
  const rows = await run(
    `delete from ${schema}.units where scope = $1 and ${where} returning tsvector_to_array(terms) as terms`,
    ids === undefined ? [scope] : [scope, ids],
  );
  const counts = new Map<string, number>();
  for (const { terms } of rows)
    for (const term of terms as readonly string[]) counts.set(term, (counts.get(term) ?? 0) - 1);
  await addCounts(run, schema, scope, counts);
  await run(`delete from ${schema}.frequencies where scope = $1 and units <= 0`, [scope]);
  await run(`update ${schema}.scopes set units = units - $2 where number = $1`, [scope, rows.length]);
}

const COUNTS_AT_ONCE = 20_000;

/** Adds to how many units hold each term. */
async function addCounts(
  run: Run,
  schema: string,
  scope: number,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  const entries = [...counts];
  for (let start = 0; start < entries.length; start += COUNTS_AT_ONCE) {
    const some = entries.slice(start, start + COUNTS_AT_ONCE);
    await run(
      `insert into ${schema}.frequencies as f (scope, term, units) select $1, t.term, t.units
       from unnest($2::text[], $3::integer[]) as t(term, units)
       on conflict (scope, term) do update set units = f.units + excluded.units`,
      [scope, some.map(([term]) => term.slice(term.indexOf(":") + 1)), some.map(([, units]) => units)],
    );
  }
}

/** Longer terms are no words: Postgres takes lexemes of 2,046 bytes at most. */
const LONGEST_TERM = 200;

interface Row {
  readonly id: string;
  readonly section: string | null;
  readonly place: number;
  readonly content: string;
  readonly title: string | null;
  readonly author: string | null;
  readonly noted: string | null;
  readonly terms: readonly string[];
}

function rowOf(candidate: RecallCandidate, place: number, scope: number): Row {
  const { id, content, title, author, order, timestamp } = candidate;
  const time = readTimestamp(timestamp);
  const terms = analyze(`${title ?? ""}\n${content}`).filter((term) => term.length <= LONGEST_TERM);
  return {
    id,
    section: sectionOf(candidate),
    place: order ?? place,
    content,
    title: title ?? null,
    author: author ?? null,
    noted: time === undefined ? null : new Date(time).toISOString(),
    terms: [...new Set(terms)].map((term) => `${scope}:${term}`),
  };
}

/** Without a section, what has an order or an author is one conversation. */
function sectionOf({ section, order, author }: RecallCandidate): string | null {
  if (section !== undefined) return `part ${section}`;
  return order === undefined && author === undefined ? null : "";
}
