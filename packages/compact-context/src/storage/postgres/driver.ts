import type {
  ClaimedItem,
  Leases,
  ListOptions,
  Outbox,
  PutOptions,
  StorageDriver,
  StoredEntry,
  StoredValue,
} from "../../core/ports.ts";
import { CompactError, conflict, once, requireOptions } from "../../errors.ts";
import { checkedDriver } from "../keys.ts";
import {
  createDatabase,
  type Database,
  locationOf,
  migrate,
  openPool,
  type PostgresPool,
  quotedSchema,
} from "./client.ts";

export interface PostgresDriverOptions {
  /**
   * `postgres://user@host/database`. Default: `COMPACT_POSTGRES_URL`; if that is unset, the standard Postgres
   * variables (`PGHOST`, `PGUSER`, `PGPASSWORD`, …).
   */
  readonly url?: string;
  /** A pool from the `pg` package, used instead of a URL. The caller ends it and handles its errors. */
  readonly pool?: PostgresPool;
  /** Schema of the tables, which are created on first use. Default: `compact`. */
  readonly schema?: string;
  /** Maximum connections of the driver's own pool. Default: 10. */
  readonly connections?: number;
  /** Statement timeout of the driver's own pool, in milliseconds. Default: 30,000. */
  readonly statementTimeoutMs?: number;
  /** How long a session stays locked after its worker goes silent, in milliseconds. Default: 10,000. */
  readonly leaseMs?: number;
}

/** A driver for many workers; call `close` when done. */
export interface PostgresDriver extends StorageDriver {
  readonly leases: Leases;
  readonly outbox: Outbox;
  /** Closes the driver's own pool; a pool passed by the caller stays open. */
  close(): Promise<void>;
}

/**
 * Stores values in a Postgres database: durable once a call resolves, conditional writes exact across any
 * number of workers. Lost connections, server restarts and serialization failures are retried for a few
 * seconds; a write whose response was lost is still applied only once. Needs the `pg` package, loaded on
 * first use. Throws `InvalidArgument` for invalid options.
 */
export function createPostgresDriver(options: PostgresDriverOptions = {}): PostgresDriver {
  requireOptions(options);
  const { pool, schema = "compact", leaseMs = 10_000 } = options;
  const connections = options.connections ?? 10;
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000;
  const quoted = quotedSchema(schema);
  const url = pool === undefined ? (options.url ?? process.env.COMPACT_POSTGRES_URL) : undefined;
  const location = locationOf(url, schema);
  const database = createDatabase(
    async () => pool ?? openPool(url, connections, statementTimeoutMs),
    location,
  );
  const ready = once(() => migrate(database, schema, quoted));
  const run: Run = async (text, values) => {
    await ready();
    return database.run(text.replaceAll("%.", `${quoted}.`), values);
  };
  const leases = createPostgresLeases(run, leaseMs);
  const outbox = createPostgresOutbox(run);
  // An aborted statement keeps running until the server's statement timeout.
  const driver = checkedDriver({
    location,
    inTurn: "none",
    get: (key) => readValue(run, key),
    version: (key) => readVersion(run, key),
    stream: (key) => streamValue(run, key),
    put: async (key, pieces, call) => ({ version: await writeValue(run, key, pieces, call) }),
    append: (key, text) => appendValue(run, key, text),
    list: (prefix, page = {}) => listKeys(run, prefix, page),
    delete: (key) => deleteValue(run, key),
    entries: (prefix) => listEntries(run, prefix),
    purge: (prefix) => purgeBelow(run, prefix),
  });
  return {
    ...driver,
    leases,
    outbox,
    close: async () => (pool === undefined ? database.close() : undefined),
  };
}

/** Runs a statement once the tables are there; `%.` stands for their schema. */
type Run = Database["run"];

/** Maximum characters per row: long transcripts are written and read in pieces. */
const PIECE = 262_144;
const PIECES_AT_ONCE = 4;

/** Reads value and version in one statement, so that they match. */
async function readValue(run: Run, key: string): Promise<StoredValue | undefined> {
  const rows = await run(
    `with d as (select * from %.documents where key = $1)
     select d.version::text as version, 0 as n, d.body, d.raw from d
     union all
     select d.version::text, p.n, p.body, p.raw from d join %.pieces p on p.content = d.content where d.pieces > 0
     order by n`,
    [key],
  );
  const version = rows[0]?.version;
  if (version === undefined) return undefined;
  return { value: rows.map(textOf).join(""), version: String(version) };
}

async function readVersion(run: Run, key: string): Promise<string | undefined> {
  const [row] = await run(`select version::text as version from %.documents where key = $1`, [key]);
  return row === undefined ? undefined : String(row.version);
}

/**
 * Streams the pieces of one version, a few rows at a time; rejects if the value is replaced before the last
 * row.
 */
async function* streamValue(run: Run, key: string): AsyncGenerator<string> {
  const [first] = await run(
    `select content::text as content, pieces, body, raw from %.documents where key = $1`,
    [key],
  );
  if (first === undefined) return;
  const text = textOf(first);
  if (text !== "") yield text;
  const count = Number(first.pieces);
  for (let read = 0; read < count; ) {
    const rows = await run(
      `select body, raw from %.pieces where content = $1 and n > $2 and n <= $3 order by n limit ${PIECES_AT_ONCE}`,
      [first.content, read, count],
    );
    if (rows.length === 0) throw replaced(key);
    yield* rows.map(textOf);
    read += rows.length;
  }
}

/** Writes the joined chunks; they become visible atomically. */
async function writeValue(
  run: Run,
  key: string,
  chunks: AsyncIterable<string>,
  options: PutOptions,
): Promise<string> {
  const iterator = rowsOf(chunks);
  const body = (await iterator.next()).value ?? "";
  let [content, pieces, characters]: [string | null, number, number] = [null, 0, body.length];
  for await (const row of iterator) {
    content ??= await nextNumber(run);
    pieces += 1;
    characters += row.length;
    await run(
      `insert into %.pieces (content, n, key, body, raw) values ($1, $2, $3, $4, $5) on conflict do nothing`,
      [content, pieces, key, ...columnsOf(row)],
    );
  }
  const { ifVersion, fence } = options;
  if (typeof ifVersion === "string" && !/^\d{1,18}$/.test(ifVersion)) throw conflict(key);
  const values = [key, content, crypto.randomUUID(), pieces, characters, ...columnsOf(body)];
  const fenced = fence === undefined ? [null, null] : [fence.name, fence.token];
  const rows = await run(putStatement(ifVersion), [...values, ...fenced, ifVersion ?? null]);
  const version = rows[0]?.version;
  if (version === undefined) throw conflict(key);
  return String(version);
}

/**
 * $1 key, $2 content, $3 write id, $4 pieces, $5 characters, $6 body, $7 raw, $8 and $9 the lease, $10
 * version. `gate` is empty if the lease was taken over or if pieces written earlier are gone. The lease row
 * stays locked until the write is done, so it cannot be taken over in between. A retry of the same write
 * passes regardless of the version. Also deletes the further rows of the replaced value, and rows over an
 * hour old that a crashed writer left.
 */
function putStatement(ifVersion: string | null | undefined): string {
  const { columns, values, assignments } = ROW;
  const doc =
    typeof ifVersion === "string"
      ? `update %.documents d set ${assignments} from gate where d.key = $1 and ${guard(ifVersion)}`
      : `insert into %.documents as d (key, ${columns}) select $1, ${values} from gate where $10::bigint is null
         on conflict (key) do update set ${assignments.replaceAll("gate.number", "excluded.version")} where ${guard(ifVersion)}`;
  return `
    with fence as (select 1 from %.leases where name = $8::text and token = $9::bigint for share),
    gate as (
      select nextval('%.numbers') as number
      where ($8::text is null or exists (select 1 from fence))
        and ($4::int = 0 or (select count(*) from %.pieces where content = $2::bigint) = $4::int)
    ),
    doc as (${doc} returning d.version, d.content),
    replaced as (
      delete from %.pieces p using doc
      where p.key = $1 and p.content <> doc.content
        and (p.content in (select content from %.documents where key = $1)
          or p.created_at < now() - interval '1 hour')
    )
    select version::text as version from doc`;
}

const ROW = {
  columns: "version, content, write_id, pieces, characters, body, raw",
  values:
    "gate.number, coalesce($2::bigint, gate.number), $3::uuid, $4::int, $5::bigint, $6::text, $7::bytea",
  assignments: `version = gate.number, content = coalesce($2::bigint, gate.number), write_id = $3::uuid,
    pieces = $4::int, characters = $5::bigint, body = $6::text, raw = $7::bytea, updated_at = now()`,
} as const;

/** The condition on the row to overwrite. */
function guard(ifVersion: string | null | undefined): string {
  if (ifVersion === undefined) return "true";
  return ifVersion === null ? "d.write_id = $3::uuid" : "(d.version = $10::bigint or d.write_id = $3::uuid)";
}

/**
 * Appends a row to a value, creating it if missing; applied once even if the response is lost and the write
 * is retried.
 */
async function appendValue(run: Run, key: string, text: string): Promise<void> {
  await run(
    `with prior as (
       select 1 from %.pieces where write_id = $2::uuid
       union all select 1 from %.documents where key = $1 and write_id = $2::uuid
     ),
     number as (select nextval('%.numbers') as number where not exists (select 1 from prior)),
     doc as (
       insert into %.documents as d (key, version, content, write_id, characters, body, raw)
       select $1, number, number, $2::uuid, $3::bigint, $4::text, $5::bytea from number
       on conflict (key) do update set version = excluded.version, pieces = d.pieces + 1,
         characters = d.characters + excluded.characters, updated_at = now()
       where d.write_id <> excluded.write_id
       returning d.content, d.pieces
     )
     insert into %.pieces (content, n, key, write_id, body, raw)
     select content, pieces, $1, $2::uuid, $4::text, $5::bytea from doc where pieces > 0
     on conflict (write_id) do nothing`,
    [key, crypto.randomUUID(), text.length, ...columnsOf(text)],
  );
}

async function deleteValue(run: Run, key: string): Promise<void> {
  await run(
    `with d as (delete from %.documents where key = $1 returning content)
     delete from %.pieces using d where pieces.content = d.content`,
    [key],
  );
}

/**
 * Stored values with their size in characters, which equals bytes for the plain ASCII that most values are.
 */
async function* listEntries(run: Run, prefix: string): AsyncGenerator<StoredEntry> {
  for (let after = ""; ; ) {
    const rows = await run(
      `select key, characters::float8 as bytes, extract(epoch from updated_at)::float8 * 1000 as at
       from %.documents where key >= $1 and key < $2 and key > $3 order by key limit ${ENTRIES_AT_ONCE}`,
      [prefix, `${prefix}\x7f`, after],
    );
    for (const { key, bytes, at } of rows) yield { key: String(key), bytes: Number(bytes), at: Number(at) };
    after = String(rows.at(-1)?.key ?? "");
    if (rows.length < ENTRIES_AT_ONCE) return;
  }
}

const ENTRIES_AT_ONCE = 1000;

/** Deletes rows of unfinished values and the queued work of sessions below a folder. */
async function purgeBelow(run: Run, prefix: string): Promise<void> {
  const below = [prefix, `${prefix}\x7f`];
  await run(`delete from %.documents where key >= $1 and key < $2`, below);
  await run(`delete from %.pieces where key >= $1 and key < $2`, below);
  await run(`delete from %.outbox where session || '/' >= $1 and session || '/' < $2`, below);
}

/** Keys are plain ASCII, and `~` is the highest character allowed in them. */
async function listKeys(run: Run, prefix: string, { after = "", limit }: ListOptions): Promise<string[]> {
  const rows = await run(
    `select key from %.documents where key >= $1 and key < $2 and key > $3 order by key limit $4`,
    [prefix, `${prefix}\x7f`, after, limit ?? null],
  );
  return rows.map((row) => String(row.key));
}

async function nextNumber(run: Run): Promise<string> {
  const rows = await run(`select nextval('%.numbers')::text as number`);
  return String(rows[0]?.number);
}

/** Postgres `text` holds every character except NUL. */
function columnsOf(text: string): [body: string | null, raw: Buffer | null] {
  return text.includes("\0") ? [null, Buffer.from(text, "utf8")] : [text, null];
}

function textOf(row: Readonly<Record<string, unknown>>): string {
  return row.raw instanceof Uint8Array ? Buffer.from(row.raw).toString("utf8") : String(row.body ?? "");
}

/** Regroups chunks of any size into rows of bounded size, without splitting surrogate pairs. */
async function* rowsOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let waiting = "";
  for await (const chunk of chunks) {
    waiting += chunk;
    for (; waiting.length > PIECE; waiting = waiting.slice(endOfRow(waiting))) {
      yield waiting.slice(0, endOfRow(waiting));
    }
  }
  yield waiting;
}

function endOfRow(text: string): number {
  const last = text.charCodeAt(PIECE - 1);
  return last >= 0xd800 && last <= 0xdbff ? PIECE + 1 : PIECE;
}

function replaced(key: string): CompactError {
  return new CompactError("Conflict", "the value was replaced while it was read", {
    place: key,
    hint: "Read it again from the beginning.",
  });
}

/** Leases timed by the server's clock, so workers' clocks need not agree. */
function createPostgresLeases(run: Run, ms: number): Leases {
  const until = "clock_timestamp() + $3::bigint * interval '1 millisecond'";
  return {
    ms,
    async take(name, owner) {
      const rows = await run(
        `insert into %.leases as l (name, owner, token, expires_at)
         values ($1, $2, nextval('%.numbers'), ${until})
         on conflict (name) do update set owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at
         where l.expires_at <= clock_timestamp() or l.owner = excluded.owner
         returning token::text as token`,
        [name, owner, ms],
      );
      const token = rows[0]?.token;
      return token === undefined ? undefined : { name, token: String(token) };
    },
    async renew({ name, token }) {
      const rows = await run(
        `update %.leases set expires_at = ${until} where name = $1 and token = $2::bigint returning 1 as kept`,
        [name, token, ms],
      );
      return rows.length > 0;
    },
    async release({ name, token }) {
      await run(`delete from %.leases where name = $1 and token = $2::bigint`, [name, token]);
    },
  };
}

/** A queue in a table: rows that another worker is claiming are skipped, not waited for. */
function createPostgresOutbox(run: Run): Outbox {
  const inMs = (parameter: string): string =>
    `clock_timestamp() + ${parameter}::bigint * interval '1 millisecond'`;
  return {
    async add({ id, session, body }, { by, ms }) {
      const rows = await run(
        `insert into %.outbox as o (session, id, body, claimed_by, due_at) values ($1, $2, $3, $4, ${inMs("$5")})
         on conflict (session, id) do update set claimed_by = excluded.claimed_by, due_at = excluded.due_at
         where o.claimed_by = excluded.claimed_by or o.due_at <= clock_timestamp()
         returning 1 as added`,
        [session, id, body, by, ms],
      );
      return rows.length > 0;
    },
    async claim({ by, ms }, limit) {
      const rows = await run(
        `with due as (
           select session, id from %.outbox where due_at <= clock_timestamp()
           order by due_at limit $3 for update skip locked
         )
         update %.outbox o set claimed_by = $1, due_at = ${inMs("$2")} from due
         where o.session = due.session and o.id = due.id
         returning o.id, o.session, o.body, o.attempts`,
        [by, ms, limit],
      );
      return rows.map((row): ClaimedItem => {
        return {
          id: String(row.id),
          session: String(row.session),
          body: String(row.body),
          attempts: Number(row.attempts),
        };
      });
    },
    async renew({ session, id }, { by, ms }) {
      const rows = await run(
        `update %.outbox set due_at = ${inMs("$4")} where session = $1 and id = $2 and claimed_by = $3 returning 1 as kept`,
        [session, id, by, ms],
      );
      return rows.length > 0;
    },
    async retry({ session, id }, by, later) {
      await run(
        `update %.outbox set due_at = ${inMs("$4")}, attempts = $5, claimed_by = null where session = $1 and id = $2 and claimed_by = $3`,
        [session, id, by, later.inMs, later.attempts],
      );
    },
    async remove({ session, id }) {
      await run(`delete from %.outbox where session = $1 and id = $2`, [session, id]);
    },
    async pending(session) {
      const rows = await run(`select id from %.outbox where session = $1`, [session]);
      return rows.map((row) => String(row.id));
    },
    async nextDue() {
      const rows = await run(
        `select ceil(extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as ms from %.outbox`,
      );
      const ms = rows[0]?.ms;
      return ms === null || ms === undefined ? undefined : Math.max(0, Number(ms));
    },
  };
}
