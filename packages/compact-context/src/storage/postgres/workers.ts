import type { ClaimedItem, Leases, Outbox } from "../../core/ports.ts";
import type { ValuePorts } from "./values.ts";

type Ports = Pick<ValuePorts, "database" | "schema">;

/** Leases by the clock of the server: the workers' own need not agree. */
export function createPostgresLeases({ database, schema }: Ports, ms: number): Leases {
  const until = "clock_timestamp() + $3::bigint * interval '1 millisecond'";
  return {
    ms,
    async take(name, owner) {
      const rows = await database.run(
        `insert into ${schema}.leases as l (name, owner, token, expires_at)
         values ($1, $2, nextval('${schema}.numbers'), ${until})
         on conflict (name) do update set owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at
         where l.expires_at <= clock_timestamp() or l.owner = excluded.owner
         returning token::text as token`,
        [name, owner, ms],
      );
      const token = rows[0]?.token;
      return token === undefined ? undefined : { name, token: String(token) };
    },
    async renew({ name, token }) {
      const rows = await database.run(
        `update ${schema}.leases set expires_at = ${until} where name = $1 and token = $2::bigint returning 1 as kept`,
        [name, token, ms],
      );
      return rows.length > 0;
    },
    async release({ name, token }) {
      await database.run(`delete from ${schema}.leases where name = $1 and token = $2::bigint`, [
        name,
        token,
      ]);
    },
  };
}

/** A queue in a table: rows that another worker is just claiming are passed over, not waited for. */
export function createPostgresOutbox({ database, schema }: Ports): Outbox {
  const inMs = (parameter: string): string =>
    `clock_timestamp() + ${parameter}::bigint * interval '1 millisecond'`;
  return {
    async add({ id, session, body }, { by, ms }) {
      const rows = await database.run(
        `insert into ${schema}.outbox as o (session, id, body, claimed_by, due_at) values ($1, $2, $3, $4, ${inMs("$5")})
         on conflict (session, id) do update set claimed_by = excluded.claimed_by, due_at = excluded.due_at
         where o.claimed_by = excluded.claimed_by or o.due_at <= clock_timestamp()
         returning 1 as added`,
        [session, id, body, by, ms],
      );
      return rows.length > 0;
    },
    async claim({ by, ms }, limit) {
      const rows = await database.run(
        `with due as (
           select session, id from ${schema}.outbox where due_at <= clock_timestamp()
           order by due_at limit $3 for update skip locked
         )
         update ${schema}.outbox o set claimed_by = $1, due_at = ${inMs("$2")} from due
         where o.session = due.session and o.id = due.id
         returning o.id, o.session, o.body, o.attempts`,
        [by, ms, limit],
      );
      return rows.map(claimedItem);
    },
    async renew({ session, id }, { by, ms }) {
      const rows = await database.run(
        `update ${schema}.outbox set due_at = ${inMs("$4")} where session = $1 and id = $2 and claimed_by = $3 returning 1 as kept`,
        [session, id, by, ms],
      );
      return rows.length > 0;
    },
    async retry({ session, id }, by, later) {
      await database.run(
        `update ${schema}.outbox set due_at = ${inMs("$4")}, attempts = $5, claimed_by = null where session = $1 and id = $2 and claimed_by = $3`,
        [session, id, by, later.inMs, later.attempts],
      );
    },
    async remove({ session, id }) {
      await database.run(`delete from ${schema}.outbox where session = $1 and id = $2`, [session, id]);
    },
    async pending(session) {
      const rows = await database.run(`select id from ${schema}.outbox where session = $1`, [session]);
      return rows.map((row) => String(row.id));
    },
    async nextDue() {
      const rows = await database.run(
        `select ceil(extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as ms from ${schema}.outbox`,
      );
      const ms = rows[0]?.ms;
      return ms === null || ms === undefined ? undefined : Math.max(0, Number(ms));
    },
  };
}

function claimedItem(row: Readonly<Record<string, unknown>>): ClaimedItem {
  return {
    id: String(row.id),
    session: String(row.session),
    body: String(row.body),
    attempts: Number(row.attempts),
  };
}
