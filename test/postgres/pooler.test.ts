import { afterAll, describe, expect, it } from "vitest";
import { postgresDdl } from "../../packages/compact-context/src/storage/postgres/client.ts";
import {
  createPostgresDriver,
  type PostgresDriver,
} from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { managerOver, turns } from "../outages/outage.ts";
import { storageContract } from "../support/storage-contract.ts";
import { type Pooler, startPooler } from "./pooler.ts";
import { newSchema, runSql, startServer } from "./server.ts";

const server = await startServer();
const pooler: Pooler | undefined = server === undefined ? undefined : await startPooler(server.url);
const drivers: PostgresDriver[] = [];
const open = (url: string | undefined, schema = newSchema()): PostgresDriver => {
  const driver = createPostgresDriver({ url: url ?? "", schema });
  drivers.push(driver);
  return driver;
};
afterAll(async () => {
  await Promise.allSettled(drivers.map((driver) => driver.close()));
  pooler?.stop();
  server?.stop();
});

/** On a busy machine a connection may take a while. */
const PATIENT = { timeoutMs: 20_000 };

/** The URL of another role, which has no password. */
const as = (url: string | undefined, role: string): string =>
  (url ?? "").replace(/^(postgres(?:ql)?:\/\/)(?:[^@/]*@)?/, `$1${role}@`);

describe.skipIf(pooler === undefined)("ARC-3 behind pgbouncer in transaction mode", () => {
  it.each(storageContract())("keeps the storage contract: $name", { timeout: 60_000 }, (contractCase) =>
    contractCase.run(open(pooler?.url)),
  );

  it("sessions are compacted by two managers, and every connection of the pooler is shared", {
    timeout: 60_000,
  }, async () => {
    const schema = newSchema();
    const [one, other] = [open(pooler?.url, schema), open(pooler?.url, schema)].map((driver) =>
      managerOver(driver, PATIENT),
    );
    for (let n = 2; n <= 20; n += 2) {
      const { manager } = (n % 4 === 0 ? one : other) ?? managerOver(open(pooler?.url, schema), PATIENT);
      await Promise.all(["a", "b", "c", "d", "e", "f"].map((id) => manager.preflight(id, turns(0, n))));
    }
    expect([...(one?.warnings ?? []), ...(other?.warnings ?? [])]).toEqual([]);
    const again = managerOver(open(server?.url, schema)).manager;
    expect(JSON.stringify((await again.recall("f").restore()).messages)).toContain("UNIQ-3-x");
  });
});

describe.skipIf(server === undefined)("a role that may create nothing", () => {
  it("works in tables that the published statements made, and says what to do without them", async () => {
    const schema = newSchema();
    await runSql(server?.url ?? "", `create role ${schema} login`);
    const url = as(server?.url, schema);
    const refused: unknown = await open(url, schema)
      .get("a/b")
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("compact storage ddl"),
    });
    await runSql(server?.url ?? "", postgresDdl({ schema, role: schema }));
    const driver = open(url, schema);
    await driver.put("a/state.json", "1");
    await driver.append("a/events.jsonl", "x\n");
    const { manager, warnings } = managerOver(driver);
    expect((await manager.preflight("s", turns(0, 8))).report.compacted).toBe(true);
    await manager.flush();
    expect(warnings).toEqual([]);
    await expect(runSql(url, `drop table ${schema}.documents`)).rejects.toThrow(/owner/);
    await expect(runSql(url, `insert into ${schema}.migrations values (99)`)).rejects.toThrow(/denied/);
  });

  it.each(storageContract())(
    "keeps the storage contract: $name",
    { timeout: 60_000 },
    async (contractCase) => {
      const schema = newSchema();
      await runSql(server?.url ?? "", `create role ${schema} login`, postgresDdl({ schema, role: schema }));
      await contractCase.run(open(as(server?.url, schema), schema));
    },
  );
});

describe.skipIf(server === undefined)("versions of the schema", () => {
  it("a newer one that works with this release is used, and any other is refused in words", async () => {
    const schema = newSchema();
    const url = server?.url ?? "";
    await open(url, schema).put("a", "1");
    const [row] = await runSql(url, `select max(version)::int as version from ${schema}.migrations`);
    const version = Number(row?.version);
    await runSql(
      url,
      `alter table ${schema}.documents add column later text`,
      `insert into ${schema}.migrations (version, works_with) values (${version + 1}, ${version})`,
    );
    const rolling = open(url, schema);
    await rolling.put("a", "2");
    expect((await rolling.get("a"))?.value).toBe("2");
    await runSql(url, `update ${schema}.migrations set works_with = version where version > ${version}`);
    await expect(open(url, schema).get("a")).rejects.toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("update compact-context"),
    });
  });

  it("published statements lead on from any earlier one, to the same tables", async () => {
    const [whole, steps] = [newSchema(), newSchema()];
    const url = server?.url ?? "";
    await runSql(url, postgresDdl({ schema: whole }));
    const columns = (schema: string) =>
      runSql(
        url,
        `select table_name, column_name, data_type, column_default is null as bare from information_schema.columns
         where table_schema = '${schema}' order by 1, 2`,
      );
    const first = postgresDdl({ schema: steps }).split(
      `insert into "${steps}".migrations (version) values (1)`,
    )[0];
    await runSql(url, `${first}insert into "${steps}".migrations (version) values (1); commit;`);
    await runSql(url, postgresDdl({ schema: steps, from: 1 }));
    expect(await columns(steps)).toEqual(await columns(whole));
    await open(url, steps).put("a", "1");
  });
});
