import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMemoryWriter } from "../../packages/compact-context/src/memory/changes/writer.ts";
import { ensureChannel } from "../../packages/compact-context/src/memory/files/folders.ts";
import { whole } from "../whole.ts";
import { checkLog, factsOf, leftOvers, startWorker } from "./crowd.ts";

/** `COMPACT_MEMORY_KILLS=500` for a long run; the build must be fresh, since the processes run it. */
const KILLS = Number(process.env.COMPACT_MEMORY_KILLS ?? (whole ? 12 : 4));
const WORKERS = 4;
const ROUNDS = 12;

let channel: string;
beforeEach(async () => {
  channel = mkdtempSync(join(tmpdir(), "compact-writers-"));
  await ensureChannel(channel);
});
afterEach(() => rmSync(channel, { recursive: true, force: true }));

const possible =
  process.platform !== "win32" && existsSync("packages/compact-context/dist/memory/changes/writer.js");

describe.skipIf(!possible)("processes that change one memory", () => {
  it(`MEM-11 ${KILLS} kills leave whole files, a log that agrees with them, and nothing acknowledged lost`, {
    timeout: 60_000 + KILLS * 5_000,
  }, async () => {
    const writer = createMemoryWriter({ channelDir: channel });
    const added = new Set<number>();
    const gone = new Set<number>();
    let first = 0;
    let counted = 0;
    let halfWay = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = startWorker(channel, "k", first, 10_000);
      await worker.said(kill % 2 === 0 ? "ready" : "added");
      await new Promise((done) => setTimeout(done, 10 + ((kill * 53) % 170)));
      worker.process.kill("SIGKILL");
      const said = await worker.closed;
      if (existsSync(join(channel, ".memory", "pending.json"))) halfWay++;
      const start = Date.now();
      await writer.apply([], { author: "person", reason: "recovers" });
      // The owner has ended: nobody waits for its lease of ten seconds.
      expect(Date.now() - start).toBeLessThan(9_000);
      for (const n of said.added) added.add(n);
      for (const n of said.invalidated) gone.add(n);
      const facts = new Set(factsOf(channel, "k"));
      const missing = [...added].filter((n) => !facts.has(n) && !gone.has(n) && n % 3 !== 0);
      expect(missing).toEqual([]);
      expect([...gone].filter((n) => facts.has(n))).toEqual([]);
      const count = Number(/count (\d+)/.exec(readFileSync(join(channel, "SESSION.md"), "utf8"))?.[1] ?? 0);
      expect(count).toBeGreaterThanOrEqual(Math.max(counted, ...said.counts));
      counted = count;
      checkLog(channel);
      expect(leftOvers(channel)).toEqual([]);
      first = Math.max(first, ...added, ...facts) + 1;
    }
    console.log(
      `${KILLS} kills: ${added.size} facts, ${counted} counts, ${halfWay} changes finished by others`,
    );
    expect(added.size).toBeGreaterThan(0);
  });

  it(`MEM-11 ${WORKERS} processes at once lose no update`, { timeout: 120_000 }, async () => {
    const workers = Array.from({ length: WORKERS }, (_, index) =>
      startWorker(channel, `w${index}`, 0, ROUNDS),
    );
    const said = await Promise.all(workers.map(({ closed }) => closed));
    expect(said.every(({ ended }) => ended)).toBe(true);
    const kept = Array.from({ length: ROUNDS }, (_, n) => n).filter((n) => n % 3 !== 0);
    for (let index = 0; index < WORKERS; index++) expect(factsOf(channel, `w${index}`)).toEqual(kept);
    const counts = said.flatMap((one) => one.counts).sort((a, b) => a - b);
    expect(counts).toEqual(Array.from({ length: WORKERS * ROUNDS }, (_, n) => n + 1));
    expect(checkLog(channel)).toBe(WORKERS * (2 * ROUNDS + ROUNDS / 3));
    expect(leftOvers(channel)).toEqual([]);
  });

  it("MEM-11 of processes that take over from dead ones, one at a time has the claim", {
    timeout: 60_000,
  }, async () => {
    const heir = join(import.meta.dirname, "heirs-worker.mjs");
    const args = [heir, join(channel, "lock"), String(Date.now() + 4_000)];
    const run = promisify(execFile);
    const all = await Promise.all([1, 2, 3, 4, 5].map(() => run(process.execPath, args)));
    const said = all.map(({ stdout }) => JSON.parse(stdout) as Record<"taken" | "together" | "lost", number>);
    const sum = (what: "taken" | "together" | "lost"): number =>
      said.reduce((all, one) => all + one[what], 0);
    expect([sum("together"), sum("lost")]).toEqual([0, 0]);
    expect(sum("taken")).toBeGreaterThan(10);
  });
});
