import { afterAll, describe, expect, it } from "vitest";
import { createPostgresDriver } from "../../packages/compact-context/src/storage/postgres/driver.ts";
import { newSchema, runSql, startServer } from "../postgres/server.ts";
import { whole } from "../whole.ts";
import { built, startWorker, type Worker } from "./fleet.ts";
import { expectWholeSession, flushedBy } from "./session-check.ts";

/** Few in the tests; more where the environment asks for it. */
const kills = Number(process.env.COMPACT_KILLS ?? (whole ? 5 : 3));
const server = built ? await startServer() : undefined;
const schema = newSchema();
const driver = createPostgresDriver({ url: server?.url ?? "postgres://none", schema, connections: 2 });

afterAll(async () => {
  await driver.close();
  if (server === undefined) return;
  await runSql(server.url, `drop schema if exists ${schema} cascade`);
  server.stop();
});

/** Turn and summary version that a worker acknowledged last. */
function acknowledged(worker: Worker): { readonly turn: number; readonly version: number } | undefined {
  const [, turn, version] = worker.lines.findLast((line) => line.startsWith("done "))?.split(" ") ?? [];
  return turn === undefined ? undefined : { turn: Number(turn), version: Number(version) };
}

describe.skipIf(server === undefined)("a worker on Postgres that is killed again and again", () => {
  it(`RUN-5 ARC-5 loses nothing that it acknowledged: ${kills} kills`, {
    timeout: 30_000 + kills * 6000,
  }, async () => {
    const settings = {
      kind: "postgres",
      session: "killed",
      url: server?.url ?? "",
      schema,
      leaseMs: 200,
    } as const;
    const workers: Worker[] = [];
    let [turn, version] = [0, 0];
    for (let kill = 0; kill < kills; kill++) {
      const worker = startWorker(settings);
      workers.push(worker);
      // The moment of death moves through a compaction and what comes after it.
      const fatal = kill % 2 === 0 ? "summarizing" : "flush";
      worker.onLine((line) => {
        const [word, done] = line.split(" ");
        if (word === fatal) setTimeout(() => worker.signal("SIGKILL"), (kill * 7) % 40);
        if (word === "done") worker.turn(Number(done) + 1);
      });
      worker.turn(turn + 1);
      await worker.heard(() => false);
      const last = acknowledged(worker) ?? { turn, version };
      const stored = await driver.get("killed/state.json");
      const state = JSON.parse(stored?.value ?? "{}") as { summaryCount?: number };
      expect(state.summaryCount ?? 0).toBeGreaterThanOrEqual(last.version);
      expect(last.version).toBeGreaterThanOrEqual(version);
      [turn, version] = [last.turn, last.version];
    }
    const survivor = startWorker(settings);
    workers.push(survivor);
    survivor.turn(turn + 1);
    await survivor.heard((line) => line.startsWith(`done ${turn + 1} `));
    await survivor.end();
    await expectWholeSession(driver, "killed", turn + 1);
    expect(await driver.outbox.nextDue()).toBeUndefined();
    const flushed = flushedBy(workers.flatMap(({ lines }) => lines));
    expect([...flushed.values()].filter((keys) => keys.size !== 1)).toEqual([]);
    const state = JSON.parse((await driver.get("killed/state.json"))?.value ?? "{}") as {
      log: unknown[];
      kept: unknown[];
    };
    expect(flushed.size).toBe(state.log.length - state.kept.length);
  });
});
