import pg from "pg";
import { afterAll, describe, it } from "vitest";
import {
  createPostgresDriver,
  type PostgresDriver,
} from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { expectListsGoOut, expectRefusedOverBudget } from "../outages/outage.ts";
import { newSchema, runSql, startServer } from "./server.ts";

const server = await startServer({ own: true });
const url = server?.url ?? "";
const drivers: PostgresDriver[] = [];
const open = (options: Parameters<typeof createPostgresDriver>[0] = {}): PostgresDriver => {
  const driver = createPostgresDriver({ url, schema: newSchema(), ...options });
  drivers.push(driver);
  return driver;
};
afterAll(async () => {
  await Promise.allSettled(drivers.map((driver) => driver.close()));
  server?.stop();
});

describe.skipIf(server === undefined)("FIT-7 a list that fits goes out", () => {
  it("while the server is down", { timeout: 60_000 }, async () => {
    const down = server?.down ?? (() => Promise.reject(new Error("not our own server")));
    await expectListsGoOut({ storage: open(), begin: down, silent: true });
  });

  it("while a table is locked, for longer than a statement may take", { timeout: 60_000 }, async () => {
    const schema = newSchema();
    const begin = async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("begin");
      await client.query(`lock table ${schema}.documents in access exclusive mode`);
      return async () => {
        await client.query("rollback");
        await client.end();
      };
    };
    await expectListsGoOut({ storage: open({ schema, statementTimeoutMs: 1000 }), begin, silent: true });
  });

  it("while the host holds the only connection of its pool", { timeout: 60_000 }, async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const begin = async () => {
      const client = await pool.connect();
      return async () => client.release();
    };
    await expectListsGoOut({ storage: open({ pool }), begin, silent: true });
    await pool.end();
  });

  it("while the user has lost its rights", { timeout: 60_000 }, async () => {
    const schema = newSchema();
    await runSql(url, `create role ${schema} login`, `grant create on database postgres to ${schema}`);
    const own = new URL(url.replace(/^postgres(ql)?:\/\/[^@/]*@?/, `postgres://${schema}@`));
    const storage = open({ url: String(own), schema });
    const begin = async () => {
      await runSql(
        url,
        `revoke usage on schema ${schema} from ${schema}`,
        `alter schema ${schema} owner to compact`,
      );
      return async () => {
        await runSql(url, `grant usage on schema ${schema} to ${schema}`);
      };
    };
    await expectListsGoOut({ storage, begin, silent: false });
  });
});

describe.skipIf(server === undefined)("FIT-7 a list over the budget", () => {
  it("is refused when the server stays down", { timeout: 60_000 }, async () => {
    await expectRefusedOverBudget(open({ url: "postgres://me@127.0.0.1:1/db" }));
  });
});
