import { afterAll, describe, expect, it } from "vitest";
import { sessionKey } from "../../packages/compact-context/src/core/records.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import {
  createPostgresDriver,
  type PostgresDriver,
} from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { deletionCases } from "../contract/deletion.ts";
import { storageContract } from "../support/storage-contract.ts";
import { outboxCases } from "../workers/outbox-contract.ts";
import { newSchema, runSql, startServer } from "./server.ts";

const server = await startServer();
const url = server?.url ?? "";
const opened: { driver: PostgresDriver; schema: string }[] = [];

function create(options: { readonly schema?: string; readonly leaseMs?: number } = {}): PostgresDriver {
  const schema = options.schema ?? newSchema();
  const driver = createPostgresDriver({ url, schema, ...options, connections: 4 });
  opened.push({ driver, schema });
  return driver;
}

afterAll(async () => {
  for (const { driver } of opened) await driver.close();
  const schemas = [...new Set(opened.map(({ schema }) => schema))];
  if (server !== undefined) {
    await runSql(url, ...schemas.map((schema) => `drop schema if exists ${schema} cascade`));
    server.stop();
  }
});

describe.skipIf(server === undefined)("ARC-3 the storage contract holds for the postgres driver", () => {
  it.each(storageContract())("$name", (contractCase) => contractCase.run(create()));

  it.each(deletionCases)("$name, in every table", { timeout: 60_000 }, async ({ run }) => {
    const schema = newSchema();
    const tables = ["documents", "pieces", "leases", "outbox"];
    const dump = async (): Promise<string> => {
      const rows = tables.map((table) => runSql(url, `select t::text as row from ${schema}.${table} t`));
      return JSON.stringify(await Promise.all(rows));
    };
    await run(create({ schema, leaseMs: 60_000 }), dump);
  });

  it("ARC-6 deletes the rows of a value that its writer did not finish", async () => {
    const schema = newSchema();
    const driver = create({ schema });
    await driver.put("~u/max/s/a", "x");
    await runSql(
      url,
      `insert into ${schema}.pieces (content, n, key, body) values (7, 1, '~u/max/s/b', 'half')`,
    );
    await createArchive(driver, { redact: createRedactor() }).delete({ user: "max" });
    expect(await runSql(url, `select count(*)::int as n from ${schema}.pieces`)).toEqual([{ n: 0 }]);
  });

  it("deletes no session that another worker is compacting", async () => {
    const driver = create({ leaseMs: 60_000 });
    const archive = createArchive(driver, { redact: createRedactor() });
    await driver.put("s/state.json", "x");
    const fence = await driver.leases.take("s", "another");
    await expect(archive.delete("s")).rejects.toMatchObject({ code: "Conflict" });
    expect(await driver.list("")).toEqual(["s/state.json"]);
    if (fence !== undefined) await driver.leases.release(fence);
    await archive.delete("s");
    expect(await driver.list("s/")).toEqual([]);
  });

  it("does not wait for a statement that its caller gave up, and does not lose the connection over it", async () => {
    const schema = newSchema();
    const driver = create({ schema });
    await driver.put("s/a", "1");
    const release = runSql(
      url,
      "begin",
      `lock table ${schema}.documents in access exclusive mode`,
      "select pg_sleep(1)",
      "commit",
    );
    await new Promise((done) => setTimeout(done, 300));
    const begun = performance.now();
    await expect(driver.get("s/a", { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      code: "Aborted",
    });
    expect(performance.now() - begun).toBeLessThan(500);
    await release;
    expect((await driver.get("s/a"))?.value).toBe("1");
  });
});

/** Lets time pass for what is kept until a time in a column, on a server whose clock cannot be moved. */
async function age(column: string, ms: number): Promise<void> {
  const [table, name] = column.split(" ");
  await runSql(url, `update ${table} set ${name} = ${name} - ${ms} * interval '1 millisecond'`);
}

describe.skipIf(server === undefined)("an outbox on the postgres driver", () => {
  it.each(outboxCases)("$name", ({ run }) => {
    const schema = newSchema();
    return run({ outbox: create({ schema }).outbox, pass: (ms) => age(`${schema}.outbox due_at`, ms) });
  });
});

describe.skipIf(server === undefined)("leases on the postgres driver", () => {
  it("are held by one of many, renewed, given back and taken over in time", async () => {
    const schema = newSchema();
    const { leases } = create({ schema, leaseMs: 60_000 });
    const takers = await Promise.all(["a", "b", "c", "d"].map((owner) => leases.take("s", owner)));
    const [fence] = takers.filter((taken) => taken !== undefined);
    if (fence === undefined) throw new Error("nobody got the lease");
    expect(takers.filter((taken) => taken !== undefined).length).toBe(1);
    expect(await leases.take("t", "e")).toBeDefined();
    expect(await leases.renew(fence)).toBe(true);
    await leases.release(fence);
    const second = await leases.take("s", "e");
    expect(Number(second?.token)).toBeGreaterThan(Number(fence.token));
    expect(await leases.take("s", "f")).toBeUndefined();
    await age(`${schema}.leases expires_at`, 60_000);
    const third = await leases.take("s", "f");
    expect(Number(third?.token)).toBeGreaterThan(Number(second?.token));
    expect(second && (await leases.renew(second))).toBe(false);
  });

  it("refuse what a worker writes that slept past its lease, once another took it", async () => {
    const schema = newSchema();
    const driver = create({ schema, leaseMs: 60_000 });
    const { version } = await driver.put("s/state.json", "0");
    const slow = await driver.leases.take("s", "slow");
    await age(`${schema}.leases expires_at`, 60_000);
    const quick = await driver.leases.take("s", "quick");
    if (slow === undefined || quick === undefined) throw new Error("a lease was refused");
    const late = driver.put("s/state.json", "late", { ifVersion: version, fence: slow });
    await expect(late).rejects.toMatchObject({ code: "Conflict" });
    await driver.put("s/state.json", "1", { ifVersion: version, fence: quick });
    await expect(driver.put("s/state.json", "late", { fence: slow })).rejects.toMatchObject({
      code: "Conflict",
    });
    expect((await driver.get("s/state.json"))?.value).toBe("1");
  });
});

describe.skipIf(server === undefined)("the tables of the postgres driver", () => {
  it("are made once when eight workers start together", async () => {
    const schema = newSchema();
    const workers = Array.from({ length: 8 }, () => create({ schema }));
    await Promise.all(workers.map((driver, n) => driver.put(`s/${n}`, String(n))));
    expect((await workers[0]?.list("s/"))?.length).toBe(8);
    expect(await runSql(url, `select count(*)::int as n from ${schema}.migrations`)).toEqual([{ n: 3 }]);
  });

  it("say whose a session is, and keep what was there when they are brought up to date", async () => {
    const schema = newSchema();
    const driver = create({ schema });
    const keys = ["s/a", sessionKey("s", { tenant: "acme" }), sessionKey("s", { user: "Max" })];
    keys.push(sessionKey("s", { tenant: "acme", user: "Max" }), "alone");
    for (const key of keys) await driver.put(key.endsWith("s") ? `${key}/a` : key, "x");
    await driver.outbox.add({ session: keys[3] ?? "", id: "1", body: "x" }, { by: "one", ms: 1000 });
    const columns = "tenant, user_name, session, name";
    const rows = await runSql(url, `select ${columns} from ${schema}.documents order by key`);
    expect(rows).toEqual([
      { tenant: null, user_name: null, session: null, name: "alone" },
      { tenant: null, user_name: null, session: "s", name: "a" },
      { tenant: "acme", user_name: null, session: "s", name: "a" },
      { tenant: "acme", user_name: "Max~1", session: "s", name: "a" },
      { tenant: null, user_name: "Max~1", session: "s", name: "a" },
    ]);
    expect(await runSql(url, `select tenant, user_name from ${schema}.outbox`)).toEqual([
      { tenant: "acme", user_name: "Max~1" },
    ]);

    // As the release before this one left it.
    await runSql(
      url,
      `alter table ${schema}.outbox drop column tenant, drop column user_name`,
      `alter table ${schema}.documents drop column tenant, drop column user_name, drop column session`,
      `alter table ${schema}.documents add column session text generated always as (case when position('/' in key) > 0 then split_part(key, '/', 1) end) stored`,
      `alter table ${schema}.migrations drop column works_with`,
      `delete from ${schema}.migrations where version > 1`,
    );
    const next = create({ schema });
    expect(await next.list("s/")).toEqual(["s/a"]);
    expect(await runSql(url, `select ${columns} from ${schema}.documents order by key`)).toEqual(rows);
    // A worker of that release that is still running goes on.
    await driver.put("s/b", "y");
    expect((await next.get("s/b"))?.value).toBe("y");
  });

  it("can be asked with SQL: sessions, names, versions, times and the JSON in them", async () => {
    const schema = newSchema();
    const driver = create({ schema });
    await driver.put("chat-1/state.json", JSON.stringify({ summaryCount: 3 }));
    await driver.append("chat-1/events.jsonl", "1\n");
    await driver.append("chat-1/events.jsonl", "2\n");
    await driver.put("alone", "x");
    const rows = await runSql(
      url,
      `select session, name, pieces, (case when name = 'state.json' then body::json ->> 'summaryCount' end) as count,
         updated_at > now() - interval '1 minute' as fresh from ${schema}.documents order by key`,
    );
    expect(rows).toEqual([
      { session: null, name: "alone", pieces: 0, count: null, fresh: true },
      { session: "chat-1", name: "events.jsonl", pieces: 1, count: null, fresh: true },
      { session: "chat-1", name: "state.json", pieces: 0, count: "3", fresh: true },
    ]);
  });

  it("hold nothing of values that were put over, deleted or given up half-way", async () => {
    const schema = newSchema();
    const driver = create({ schema });
    const large = "0123456789".repeat(100_000);
    const { version } = await driver.put("a/large", large);
    await driver.put("a/large", large, { ifVersion: version });
    await expect(driver.put("a/large", large, { ifVersion: version })).rejects.toMatchObject({
      code: "Conflict",
    });
    await runSql(
      url,
      `update ${schema}.pieces set created_at = now() - interval '2 hours' where content not in (select content from ${schema}.documents)`,
    );
    await driver.put("a/large", large);
    expect((await driver.get("a/large"))?.value === large).toBe(true);
    expect(await runSql(url, `select count(*)::int as n from ${schema}.pieces`)).toEqual([{ n: 3 }]);
    await driver.delete("a/large");
    expect(await runSql(url, `select count(*)::int as n from ${schema}.pieces`)).toEqual([{ n: 0 }]);
  });

  it("keep what was appended while a put over the same version lost", async () => {
    const driver = create();
    for (let round = 0; round < 10; round++) {
      const { version } = await driver.put(`log-${round}`, "0\n");
      await driver.append(`log-${round}`, "1\n");
      const late = driver.put(`log-${round}`, "x\n", { ifVersion: version }).catch(() => undefined);
      await Promise.all([late, driver.append(`log-${round}`, "2\n")]);
      expect((await driver.get(`log-${round}`))?.value).toBe("0\n1\n2\n");
    }
  });

  it("refuse a schema that a newer release made, and a name that is no plain one", async () => {
    const schema = newSchema();
    await create({ schema }).put("a", "x");
    await runSql(url, `insert into ${schema}.migrations (version) values (99)`);
    await expect(create({ schema }).get("a")).rejects.toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("update"),
    });
    expect(() => createPostgresDriver({ url, schema: 'x"; drop table y' })).toThrow("no plain schema name");
  });

  it("are never told with user or password", async () => {
    const driver = createPostgresDriver({ url: "postgres://me:hunter2@127.0.0.1:1/db", schema: "s" });
    expect(driver.location).toBe("postgres://127.0.0.1:1/db/s");
    expect(() => createPostgresDriver({ url: "http://me:hunter2@host" })).toThrowError(
      expect.not.objectContaining({ message: expect.stringContaining("hunter2") }),
    );
  });
});
