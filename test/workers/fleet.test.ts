import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createPostgresDriver } from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { newSchema, runSql, startServer } from "../postgres/server.ts";
import { built, startWorker, type Worker, type WorkerSettings } from "./fleet.ts";
import { expectWholeSession, flushedBy, summaryVersions } from "./session-check.ts";

const server = built ? await startServer() : undefined;
const schema = newSchema();
const folder = mkdtempSync(join(tmpdir(), "compact-fleet-"));
const driver = createPostgresDriver({ url: server?.url ?? "postgres://none", schema, connections: 2 });

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await driver.close();
  if (server === undefined) return;
  await runSql(server.url, `drop schema if exists ${schema} cascade`);
  server.stop();
});

const TIMEOUT = 120_000;

/** Lets every worker that is awake work on the same turn, one turn after the other. */
async function playTurns(
  workers: readonly Worker[],
  asleep: ReadonlySet<Worker>,
  turns: { readonly from: number; readonly to: number },
): Promise<void> {
  for (let turn = turns.from; turn <= turns.to; turn++) {
    const awake = workers.filter((worker) => worker.running && !asleep.has(worker));
    for (const worker of awake) worker.turn(turn);
    const answers = awake.map(async (worker) => {
      const mine = new RegExp(`^(?:done|overtaken) ${turn}(?: |$)`);
      while (worker.running && !asleep.has(worker) && !worker.lines.some((line) => mine.test(line))) {
        await new Promise((done) => setTimeout(done, 5));
      }
    });
    await Promise.all(answers);
  }
}

/** What became of the messages that left: each was handed on, and under one key. */
function expectFlushedOnce(workers: readonly Worker[], stored: string | undefined): void {
  const state = JSON.parse(stored ?? "{}") as { log: unknown[]; kept: { at: number }[] };
  const flushed = flushedBy(workers.flatMap(({ lines }) => lines));
  const kept = new Set(state.kept.map(({ at }) => at));
  const gone = state.log.flatMap((_, at) =>
    kept.has(at) ? [] : [`${at % 2 === 0 ? "question" : "answer"} ${Math.floor(at / 2)}`],
  );
  expect([...flushed.keys()].sort()).toEqual(gone.sort());
  expect([...flushed.values()].filter((keys) => keys.size !== 1)).toEqual([]);
}

describe.skipIf(server === undefined)("eight processes on one session in Postgres", () => {
  it("RUN-5 ARC-5 make each summary once, though some are killed and some sleep past their lease", {
    timeout: TIMEOUT,
  }, async () => {
    const settings: WorkerSettings = {
      kind: "postgres",
      session: "shared",
      url: server?.url ?? "",
      schema,
      // Longer than a busy machine lets a worker wait that neither died nor sleeps.
      leaseMs: 2500,
      summarizeMs: 40,
    };
    const workers = Array.from({ length: 8 }, () => startWorker(settings));
    const asleep = new Set<Worker>();
    const woken: Promise<void>[] = [];
    let compactions = 0;
    let diedFlushing = false;
    const befall = (worker: Worker): void => {
      compactions += 1;
      if (compactions === 3 || compactions === 5) worker.signal("SIGKILL");
      if (compactions !== 2 && compactions !== 4) return;
      asleep.add(worker);
      worker.signal("SIGSTOP");
      const wake = async (): Promise<void> => {
        await new Promise((done) => setTimeout(done, 5000));
        worker.signal("SIGCONT");
        asleep.delete(worker);
      };
      woken.push(wake());
    };
    for (const worker of workers) {
      worker.onLine((line) => {
        if (line === "summarizing") befall(worker);
        if (line.startsWith("flush") && compactions >= 7 && !diedFlushing && worker.running) {
          diedFlushing = true;
          worker.signal("SIGKILL");
        }
      });
    }
    await playTurns(workers, asleep, { from: 1, to: 46 });
    await Promise.all(woken);
    // Those who slept have found out by now that others did their work.
    await playTurns(workers, asleep, { from: 47, to: 48 });
    const killed = workers.filter(({ running }) => !running).length;
    await Promise.all(workers.map((worker) => worker.end()));

    expect(killed).toBe(3);
    await expectWholeSession(driver, "shared", 48);
    expect((await summaryVersions(driver, "shared")).length).toBeGreaterThan(5);
    // Those who died or slept began summaries in vain; nobody else did.
    expect(compactions).toBeLessThanOrEqual((await summaryVersions(driver, "shared")).length + 4);
    expectFlushedOnce(workers, (await driver.get("shared/state.json"))?.value);
    expect(await driver.outbox.nextDue()).toBeUndefined();
  });
});

describe.skipIf(!built)("three processes on one session on disk", () => {
  it("RUN-5 ARC-5 make each summary once, though one is killed and one sleeps", {
    timeout: TIMEOUT,
  }, async () => {
    const root = join(folder, "fs");
    const disk: StorageDriver = createFsDriver({ root });
    const workers = Array.from({ length: 3 }, () =>
      startWorker({ kind: "fs", session: "shared", root, summarizeMs: 40 }),
    );
    const asleep = new Set<Worker>();
    const woken: Promise<void>[] = [];
    let seen = 0;
    for (const worker of workers) {
      worker.onLine((line) => {
        if (line !== "summarizing") return;
        seen += 1;
        if (seen === 3) worker.signal("SIGKILL");
        if (seen !== 6) return;
        asleep.add(worker);
        worker.signal("SIGSTOP");
        const wake = async (): Promise<void> => {
          await new Promise((done) => setTimeout(done, 800));
          worker.signal("SIGCONT");
          asleep.delete(worker);
        };
        woken.push(wake());
      });
    }
    await playTurns(workers, asleep, { from: 1, to: 22 });
    await Promise.all(woken);
    await playTurns(workers, asleep, { from: 23, to: 24 });
    expect(workers.filter(({ running }) => !running).length).toBe(1);
    await Promise.all(workers.map((worker) => worker.end()));
    await expectWholeSession(disk, "shared", 24);
    expectFlushedOnce(workers, (await disk.get("shared/state.json"))?.value);
    expect(await disk.list("~outbox/")).toEqual([]);
  });
});
