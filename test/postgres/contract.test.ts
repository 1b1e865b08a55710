import { afterAll, describe, expect, it } from "vitest";
import { createPostgresDriver, type PostgresDriver } from "../../src/storage/drivers/postgres.ts";
import { storageContract } from "../../src/testing/storage-contract.ts";
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
});

describe.skipIf(server === undefined)("the postgres driver", () => {
  it("smoke", async () => {
    const driver = create();
    expect(driver.location).not.toContain("compact@");
  });
});
