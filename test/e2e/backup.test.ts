import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager, type StorageDriver } from "compact-context";
import { createFsDriver } from "compact-context/storage/fs";
import { createPostgresDriver } from "compact-context/storage/postgres";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newSchema, runSql, startServer } from "../postgres/server.ts";

const SESSIONS = ["one", "two"];
type List = { readonly role: string; readonly content: string }[];

let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-backup-"));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

const managerOver = (storage: StorageDriver): CompactManager =>
  new CompactManager(
    { model: "gpt-4o", maxContextTokens: 4_000, policy: { hardCapBuffer: 200, keepRecentTurns: 2 } },
    { storage, onWarning: () => undefined },
  );

/** Calls number `from` to `to` of each session; the raw lists. */
async function work(
  manager: CompactManager,
  lists: Map<string, List>,
  from: number,
  to: number,
): Promise<void> {
  for (let call = from; call < to; call += 1) {
    for (const session of SESSIONS) {
      const list = lists.get(session) ?? [];
      list.push(
        { role: "user", content: `${session} asks ${call}: where is parcel P-${1000 + call}?` },
        { role: "assistant", content: `It is at depot ${call}. ${"It was scanned. ".repeat(50)}` },
      );
      lists.set(session, list);
      await manager.preflight(session, list);
    }
  }
}

/** A restored storage knows the sessions, finds what left their lists, and goes on with them. */
async function expectRestored(storage: StorageDriver, lists: Map<string, List>): Promise<void> {
  const manager = managerOver(storage);
  for (const session of SESSIONS) {
    expect((await manager.recall(session).search("parcel P-1002")).length).toBeGreaterThan(0);
    const list = lists.get(session) ?? [];
    const { messages } = await manager.preflight(session, list);
    expect(messages.length).toBeLessThan(list.length);
    expect(manager.getState(session).archiveSteps).toBeGreaterThan(0);
  }
  await work(manager, lists, 60, 70);
  await manager.flush();
}

describe("a backup of the archive", () => {
  it("is a copy of the folder, also while a program writes", { timeout: 60_000 }, async () => {
    const lists = new Map<string, List>();
    const manager = managerOver(createFsDriver({ root: join(folder, "kept") }));
    await work(manager, lists, 0, 40);
    const writing = work(manager, lists, 40, 60);
    cpSync(join(folder, "kept"), join(folder, "backup"), { recursive: true });
    await writing;
    await manager.flush();
    rmSync(join(folder, "kept"), { recursive: true });
    await expectRestored(createFsDriver({ root: join(folder, "backup") }), lists);
  });

  it("is a dump of the schema of Postgres", { timeout: 60_000 }, async ({ skip }) => {
    const server = await startServer({ own: true });
    if (server === undefined) return skip("there is no Postgres here");
    closing.push(() => server.stop());
    const schema = newSchema();
    const driver = createPostgresDriver({ url: server.url, schema });
    const lists = new Map<string, List>();
    const manager = managerOver(driver);
    await work(manager, lists, 0, 40);
    await manager.flush();
    const dump = join(folder, "dump.sql");
    execFileSync("pg_dump", ["--schema", schema, "--file", dump, server.url]);
    await work(manager, lists, 40, 60);
    await manager.flush();
    await driver.close();
    await runSql(server.url, "create database restored");
    const url = server.url.replace(/\/postgres$/, "/restored");
    execFileSync("psql", ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump, url], { stdio: "pipe" });
    const restored = createPostgresDriver({ url, schema });
    closing.push(() => restored.close());
    await expectRestored(restored, lists);
  });
});
