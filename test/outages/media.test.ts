import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/index.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { expectListsGoOut, expectRefusedOverBudget, managerOver, TIMEOUT_MS, turns } from "./outage.ts";

/** A medium in memory whose calls wait for `gate` first. */
function gated(): {
  storage: StorageDriver;
  gate: () => Promise<void>;
  set(gate: () => Promise<void>): void;
} {
  const memory = createMemoryDriver();
  let gate = async (): Promise<void> => undefined;
  const storage: StorageDriver = {
    location: "gated",
    get: (...call) => gate().then(() => memory.get(...call)),
    version: (...call) => gate().then(() => memory.version(...call)),
    async *stream(key) {
      await gate();
      yield* memory.stream(key);
    },
    put: (...call) => gate().then(() => memory.put(...call)),
    append: (...call) => gate().then(() => memory.append(...call)),
    list: (...call) => gate().then(() => memory.list(...call)),
    delete: (...call) => gate().then(() => memory.delete(...call)),
  };
  return {
    storage,
    gate: () => gate(),
    set(next) {
      gate = next;
    },
  };
}

const never = (): Promise<void> => new Promise(() => undefined);
const full = (): Promise<void> =>
  Promise.reject(Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" }));

describe.each([undefined, "continue"] as const)(
  "FIT-7 with onFailure %s, a list that fits goes out",
  (onFailure) => {
    it.each([
      { name: "hangs", outage: never, silent: true },
      { name: "fails at once", outage: full, silent: false },
      {
        name: "is slower than it may be",
        outage: () => new Promise<void>((done) => setTimeout(done, 1000)),
        silent: true,
      },
    ])("while the medium $name", { timeout: 40_000 }, async ({ outage, silent }) => {
      const medium = gated();
      const begin = async () => {
        medium.set(outage);
        return async () => medium.set(async () => undefined);
      };
      await expectListsGoOut({ storage: medium.storage, begin, silent, ...(onFailure && { onFailure }) });
    });
  },
);

describe("FIT-7 a list over the budget", () => {
  it("is refused while the medium fails", async () => {
    const medium = gated();
    medium.set(full);
    await expectRefusedOverBudget(medium.storage);
  });

  it("waits for a medium that is slow, and is compacted", { timeout: 30_000 }, async () => {
    const medium = gated();
    medium.set(() => new Promise((done) => setTimeout(done, TIMEOUT_MS * 2)));
    const { manager } = managerOver(medium.storage);
    const { report } = await manager.preflight("large", turns(0, 14));
    expect(report.compacted).toBe(true);
  });
});

describe("FIT-7 what else waits for the medium", () => {
  it("ends in time: flush, search and recall", async () => {
    const medium = gated();
    const { manager, warnings } = managerOver(medium.storage);
    expect((await manager.preflight("s", turns(0, 7))).report.compacted).toBe(true);
    medium.set(never);
    const started = performance.now();
    await expect(manager.recall("s").search("question")).rejects.toMatchObject({ code: "StorageFailed" });
    await manager.preflight("s", turns(0, 8));
    await manager.flush();
    expect(performance.now() - started).toBeLessThan(TIMEOUT_MS * 3 + 1000);
    expect(warnings).toHaveLength(1);
  });
});

describe("FIT-7 a folder", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "compact-outage-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it("that is a file for a while", { timeout: 30_000 }, async () => {
    const archive = join(root, "archive");
    mkdirSync(archive);
    const begin = async () => {
      renameSync(archive, `${archive}-away`);
      writeFileSync(archive, "");
      return async () => {
        rmSync(archive);
        renameSync(`${archive}-away`, archive);
      };
    };
    await expectListsGoOut({ storage: createFsDriver({ root: archive }), begin, silent: false });
  });

  it.skipIf(process.getuid?.() === 0)("that may not be written", { timeout: 30_000 }, async () => {
    const archive = join(root, "archive");
    const begin = async () => {
      chmodSync(archive, 0o500);
      return async () => chmodSync(archive, 0o700);
    };
    await expectListsGoOut({ storage: createFsDriver({ root: archive }), begin, silent: false });
  });

  it("of a process that may open no more files", { timeout: 60_000 }, () => {
    const script = join(import.meta.dirname, "no-more-files.mjs");
    // A limit of its own: all files of this process would be held otherwise.
    const child = spawnSync(
      "sh",
      ["-c", `ulimit -n 128; exec "$0" "$1" "$2"`, process.execPath, script, root],
      {
        encoding: "utf8",
      },
    );
    expect(JSON.parse(child.stdout || child.stderr)).toEqual({
      passed: 40,
      rejected: [],
      warnings: 1,
      compacted: true,
    });
  });

  it("of 10,000 sessions is listed by a process that may open 64 files", { timeout: 120_000 }, () => {
    const sessions = 10_000;
    for (let session = 0; session < sessions; session += 1) {
      mkdirSync(join(root, `s${session}`));
      writeFileSync(join(root, `s${session}`, "transcript-pre-compact-001.jsonl"), "");
    }
    const script = join(import.meta.dirname, "..", "..", "bench", "load.mjs");
    const words = ["-c", 'ulimit -n 64; exec "$0" "$1" list "$2"', process.execPath, script, root];
    const { stdout, stderr } = spawnSync("sh", words, { encoding: "utf8" });
    expect(stdout.trim(), stderr).toBe(String(sessions));
  });
});
