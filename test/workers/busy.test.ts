import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { keysOf } from "../../packages/compact-context/src/core/records.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createPostgresDriver } from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { createS3Driver } from "../../packages/compact-context/src/storage/s3/driver.ts";
import { newSchema, runSql, startServer } from "../postgres/server.ts";
import { type StubServer, startStub } from "../s3/stub-server.ts";
import { built } from "./fleet.ts";

const TIMEOUT = 120_000;
const CALLS = 60;

interface Done {
  /** Code and message of what its calls rejected with. */
  readonly rejected: readonly string[];
  /** Its facts that are no longer in its list. */
  readonly left: readonly string[];
}

/** Two processes with a conversation each under one session id; both begin when both are up. */
async function bothBusy(storage: object): Promise<readonly Done[]> {
  const workers = ["a", "b"].map((name) => {
    const settings = JSON.stringify({ ...storage, name, calls: CALLS });
    const script = join(import.meta.dirname, "busy-worker.mjs");
    const child = spawn(process.execPath, [script, settings], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return { child, next: async (): Promise<string> => (await lines.next()).value ?? "{}" };
  });
  await Promise.all(workers.map(({ next }) => next()));
  for (const { child } of workers) child.stdin.end("go\n");
  return Promise.all(workers.map(async ({ next }) => JSON.parse(await next()) as Done));
}

async function expectBothServed(storage: object, driver: StorageDriver): Promise<void> {
  const done = await bothBusy(storage);
  expect(done.flatMap(({ rejected }) => rejected)).toEqual([]);
  const transcripts: string[] = [];
  for await (const key of keysOf(driver, "busy/transcript-"))
    transcripts.push((await driver.get(key))?.value ?? "");
  const archived = new Set(transcripts.flatMap((text) => text.match(/fact-[ab]-\d+/g) ?? []));
  for (const { left } of done) {
    expect(left.length).toBeGreaterThan(CALLS);
    expect(left.filter((fact) => !archived.has(fact))).toEqual([]);
  }
}

describe.skipIf(!built)("two busy processes with a conversation each under one session id", () => {
  const root = mkdtempSync(join(tmpdir(), "compact-busy-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it(
    "on disk: no call is rejected, and the archive has what left either list",
    {
      timeout: TIMEOUT,
    },
    () => expectBothServed({ kind: "fs", root }, createFsDriver({ root })),
  );
});

describe.skipIf(!built)("the same in S3", () => {
  let stub: StubServer;
  beforeAll(async () => {
    stub = await startStub();
  });
  afterAll(() => stub.close());

  it("no call is rejected, and the archive has what left either list", { timeout: TIMEOUT }, async () => {
    const { endpoint } = stub;
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
    await expectBothServed({ kind: "s3", endpoint }, createS3Driver({ bucket: "bucket", client }));
  });
});

const server = built ? await startServer() : undefined;

describe.skipIf(server === undefined)("the same in Postgres", () => {
  const schema = newSchema();
  const url = server?.url ?? "postgres://none";
  const driver = createPostgresDriver({ url, schema, connections: 2 });
  afterAll(async () => {
    await driver.close();
    await runSql(url, `drop schema if exists ${schema} cascade`);
    server?.stop();
  });

  it("no call is rejected, and the archive has what left either list", { timeout: TIMEOUT }, () =>
    expectBothServed({ kind: "postgres", url, schema }, driver),
  );
});
