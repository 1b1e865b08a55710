import type { Database } from "../../storage/postgres/client.ts";
import { analyze } from "../ranking/analyze.ts";
import type { RecallCandidate } from "../ranking/candidate.ts";
import { DAY, findDate } from "../ranking/dates.ts";

type Run = Database["run"];

export interface FindRequest {
  readonly query: string;
  /** Units before their neighbours. */
  readonly most: number;
  readonly workspace: string;
  readonly channel: string;
  readonly user: string | undefined;
}

/** Units that may be looked at for one query: common words are left out while rarer ones give enough. */
const MOST_MATCHES = 4_000;
/** Neighbours of a hit in its section, on either side: the ranker reads a unit with what stands around it. */
const NEIGHBOURS = 2;
/** Units near a date that the query names. */
const DATED = 40;

/** The units that hold the rarest words of the query, or are of the date that it names, with their neighbours. */
export async function findCandidates(
  run: Run,
  schema: string,
  request: FindRequest,
): Promise<readonly RecallCandidate[]> {
  const scopes = await visibleScopes(run, schema, request);
  if (scopes.length === 0) return [];
  const terms = await rareTerms(run, schema, { scopes, query: request.query });
  const date = findDate(request.query);
  if (terms.length === 0 && date === undefined) return [];
  const numbers = scopes.map(({ number }) => number);
  const rows = await run(
    `with wanted as (select * from unnest($2::text[], $3::float8[]) as w(term, weight)),
     found as (
       select u.number, sum(w.weight) as score from wanted w
       cross join lateral unnest($1::integer[]) as s(scope)
       join ${schema}.units u on u.terms @@ (quote_literal(s.scope || ':' || w.term))::tsquery
       group by u.number order by score desc, u.number limit $4
     ),
     dated as (
       select number from ${schema}.units
       where scope = any($1) and noted between $5::timestamptz and $6::timestamptz limit ${DATED}
     ),
     hits as (select number from found union select number from dated),
     near as (
       select number from hits
       union
       select n.number from hits h join ${schema}.units u on u.number = h.number
       join ${schema}.units n on n.scope = u.scope and n.section = u.section
         and n.place between u.place - ${NEIGHBOURS} and u.place + ${NEIGHBOURS}
     )
     select n.id, n.scope, n.section, n.place, n.content, n.title, n.author, n.noted
     from near join ${schema}.units n on n.number = near.number
     order by n.number`,
    [
      numbers,
      terms.map(({ term }) => term),
      terms.map(({ weight }) => weight),
      request.most,
      date === undefined ? null : new Date(date.start - 2 * DAY).toISOString(),
      date === undefined ? null : new Date(date.end + 2 * DAY).toISOString(),
    ],
  );
  return rows.map(candidateOf);
}

interface VisibleScope {
  readonly number: number;
  readonly units: number;
}

async function visibleScopes(
  run: Run,
  schema: string,
  { workspace, channel, user }: FindRequest,
): Promise<readonly VisibleScope[]> {
  const rows = await run(
    `select number, units from ${schema}.scopes
     where workspace = $1 and channel in ('', $2) and (user_name = '' or (user_name = $3 and channel = $2))`,
    [workspace, channel, user ?? ""],
  );
  return rows.map((row) => ({ number: Number(row.number), units: Number(row.units) }));
}

interface WeighedTerm {
  readonly term: string;
  readonly weight: number;
}

/** The query's words, the rarest first, as long as they stand in few units. */
async function rareTerms(
  run: Run,
  schema: string,
  { scopes, query }: { readonly scopes: readonly VisibleScope[]; readonly query: string },
): Promise<readonly WeighedTerm[]> {
  const rows = await run(
    `select term, sum(units)::integer as units from ${schema}.frequencies where scope = any($1) and term = any($2)
     group by term order by 2, 1`,
    [scopes.map(({ number }) => number), [...new Set(analyze(query))]],
  );
  const all = scopes.reduce((sum, { units }) => sum + units, 0);
  let matches = 0;
  return rows.flatMap((row) => {
    const units = Number(row.units);
    const term = String(row.term);
    if (matches > 0 && matches + units > MOST_MATCHES) return [];
    matches += units;
    return [{ term, weight: Math.log(1 + (all - units + 0.5) / (units + 0.5)) }];
  });
}

function candidateOf(row: Readonly<Record<string, unknown>>): RecallCandidate {
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return {
    id: String(row.id),
    content: String(row.content),
    title: text(row.title),
    author: text(row.author),
    timestamp: row.noted instanceof Date ? row.noted : text(row.noted),
    // Equal names in two scopes are two sections.
    section: row.section === null ? undefined : `${row.scope} ${row.section}`,
    order: row.section === null ? undefined : Number(row.place),
  };
}
