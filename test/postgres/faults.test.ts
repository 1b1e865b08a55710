import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { CompactManager } from "../../packages/compact-context/src/index.ts";
import {
  createPostgresDriver,
  type PostgresDriver,
} from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { conversation } from "../workers/conversation.mjs";
import { expectWholeSession } from "../workers/session-check.ts";
import { startProxy } from "./cutting-proxy.ts";
import { newSchema, runSql, startServer } from "./server.ts";

const server = await startServer({ own: true });
const url = server?.url ?? "";
const proxy = server === undefined ? undefined : await startProxy(url);
const schema = newSchema();
const drivers: PostgresDriver[] = [];

function open(at: string, more: object = {}): PostgresDriver {
  const driver = createPostgresDriver({ url: at, schema, connections: 2, ...more });
  drivers.push(driver);
  return driver;
}

afterAll(async () => {
  for (const driver of drivers) await driver.close();
  await proxy?.stop();
  server?.stop();
});

/** Everything that a driver is asked for, and what must have come of it. */
async function everything(driver: PostgresDriver, name: string): Promise<void> {
  const first = await driver.put(`${name}/state`, "1", { ifVersion: null });
  const second = await driver.put(`${name}/state`, "2", { ifVersion: first.version });
  await driver.append(`${name}/log`, "1\n");
  await driver.append(`${name}/log`, "2\n");
  await driver.append(`${name}/log`, "3\n");
  await driver.put(`${name}/large`, "0123456789".repeat(27_000));
  const fence = await driver.leases.take(name, "me");
  await driver.put(`${name}/state`, "3", { ifVersion: second.version, fence });
  if (fence !== undefined) await driver.leases.release(fence);
  const item = { session: name, id: "1", body: "x\n" };
  await driver.outbox.add(item, { by: "me", ms: 60_000 });
  await driver.outbox.retry(item, "me", { inMs: 60_000, attempts: 1 });
  await driver.put(`${name}/gone`, "x");
  await driver.delete(`${name}/gone`);
  expect((await driver.get(`${name}/log`))?.value).toBe("1\n2\n3\n");
  expect((await driver.get(`${name}/state`))?.value).toBe("3");
  expect((await driver.get(`${name}/large`))?.value.length).toBe(270_000);
  expect(await driver.list(`${name}/`)).toEqual([`${name}/large`, `${name}/log`, `${name}/state`]);
  expect(await driver.outbox.pending(name)).toEqual(["1"]);
}

describe.skipIf(proxy === undefined)("ARC-5 a connection that is cut", () => {
  it.each(["before", "after"] as const)(
    "at any step, %s the server did it, changes nothing of the outcome",
    async (when) => {
      if (proxy === undefined) return;
      const driver = open(proxy.url);
      let step = 1;
      for (let cut = true; cut; step++) {
        proxy.cutAt(step, when);
        await everything(driver, `${when}-${step}`);
        cut = proxy.cut;
      }
      expect(step).toBeGreaterThan(20);
    },
  );

  it("at any step of a compaction leaves a whole session behind", async () => {
    if (proxy === undefined) return;
    const driver = open(proxy.url);
    const manager = new CompactManager(
      { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } },
      { storage: driver, memoryFlushHook: () => {} },
    );
    let step = 0;
    for (let turn = 1; turn <= 40; turn++) {
      step += 3;
      proxy.cutAt(step % 40, turn % 2 === 0 ? "before" : "after");
      await manager.preflight("cut", conversation(turn));
    }
    proxy.cutAt(0, "before");
    await manager.flush();
    await expectWholeSession(driver, "cut", 40);
    expect(manager.getState("cut").summaryCount).toBeGreaterThan(4);
  });
});

describe.skipIf(server === undefined)("a server in trouble", () => {
  it("ARC-5 that is killed and comes back has everything that was acknowledged, and nobody noticed", async () => {
    const driver = open(url);
    await driver.put("crash/state", "0");
    const crash = server?.down?.().then((up) => up());
    for (let n = 1; n <= 60; n++) {
      const { version } = await driver.put("crash/state", String(n));
      await driver.append("crash/log", `${n}\n`);
      expect(await driver.version("crash/state")).toBe(version);
    }
    await crash;
    await (await server?.down?.())?.();
    expect((await driver.get("crash/state"))?.value).toBe("60");
    expect((await driver.get("crash/log"))?.value.split("\n").length).toBe(61);
  });

  it("that is not there is told with place and hint after a while, without the password", async () => {
    const driver = open("postgres://me:hunter2@127.0.0.1:1/db");
    const error: unknown = await driver.get("a").catch((reason) => reason);
    expect(error).toMatchObject({ code: "StorageFailed", hint: expect.stringContaining("up") });
    expect(JSON.stringify([error, String(error)])).not.toContain("hunter2");
  }, 20_000);

  it("that cannot serialize two writers is asked again", async () => {
    await runSql(url, "alter role compact set default_transaction_isolation = 'serializable'");
    const driver = open(url);
    await driver.put("count", "0");
    const countUp = async (): Promise<void> => {
      for (let done = 0; done < 10; ) {
        const stored = await driver.get("count");
        const next = String(Number(stored?.value) + 1);
        await driver.put("count", next, { ifVersion: stored?.version ?? null }).then(
          () => {
            done += 1;
          },
          (error) => expect(error.code).toBe("Conflict"),
        );
      }
    };
    await Promise.all([countUp(), countUp(), countUp()]);
    await runSql(url, "alter role compact reset default_transaction_isolation");
    expect((await driver.get("count"))?.value).toBe("30");
  });

  it("where a statement takes too long, says so and what to do", async () => {
    const driver = open(url, { statementTimeoutMs: 1000 });
    await driver.put("locked/state", "1");
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("begin");
    await client.query(`lock table ${schema}.documents in access exclusive mode`);
    await expect(driver.put("locked/state", "2")).rejects.toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("statementTimeoutMs"),
    });
    await client.query("rollback");
    await client.end();
    await driver.put("locked/state", "3");
  });

  it("is reached over a pool that was handed in, which stays open", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const driver = createPostgresDriver({ pool, schema });
    await driver.put("pool/a", "x");
    await driver.close();
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});
