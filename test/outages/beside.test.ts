import { describe, expect, it } from "vitest";
import {
  CompactManager,
  type Exporter,
  type StorageDriver,
} from "../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { TIMEOUT_MS, turns } from "./outage.ts";

// What stands beside a call and may fail: exporters, a memory, the search index. None of it holds up a list.

const config = {
  maxContextTokens: 6000,
  policy: { hardCapBuffer: 200, keepRecentTurns: 2, triggerPct: 0.5 },
  storage: { timeoutMs: TIMEOUT_MS },
};
const never = (): Promise<void> => new Promise(() => undefined);
const broken = async (): Promise<void> => {
  throw new Error("503");
};

/** One list that fits and one that is compacted; a call that waits for what hangs ends with the test's time. */
async function expectCompacts(manager: CompactManager): Promise<void> {
  for (const to of [2, 9]) {
    const { report } = await manager.preflight("s", turns(0, to));
    expect(report.compacted).toBe(to === 9);
  }
}

describe.each([
  { name: "hangs", work: never },
  { name: "fails", work: broken },
])("FIT-7 an exporter that $name", ({ work }) => {
  it("holds up no call, ends a flush in time, and is told", { timeout: 30_000 }, async () => {
    const warnings: string[] = [];
    const seen: string[] = [];
    const exporters: Exporter[] = [
      { name: "Dead", export: work },
      { name: "Alive", export: async ({ name }) => void seen.push(name) },
    ];
    const manager = new CompactManager(config, {
      storage: createMemoryDriver(),
      exporters,
      onWarning: (message) => warnings.push(message),
    });
    await expectCompacts(manager);
    await manager.flush();
    expect(warnings.filter((one) => one.startsWith("[Dead]")).length).toBeGreaterThan(0);
    expect(seen).toContain("compact.pruned_messages");
  });
});

describe.each([
  { name: "hangs", work: never },
  { name: "fails", work: broken },
])("FIT-7 a memory that $name", ({ work }) => {
  it("holds up no call, and gets later what it missed", { timeout: 30_000 }, async () => {
    const storage = createMemoryDriver();
    const ports = { storage, onWarning: () => undefined };
    await expectCompacts(new CompactManager(config, { ...ports, memoryFlushHook: work }));
    expect((await storage.list("~outbox/")).length).toBeGreaterThan(0);
    const later = Date.now() + 3_600_000;
    const heard: unknown[] = [];
    const next = new CompactManager(config, {
      ...ports,
      now: () => new Date(later),
      memoryFlushHook: (messages) => void heard.push(...messages),
    });
    await next.recover();
    expect(JSON.stringify(heard)).toContain("UNIQ-0-x");
    expect(await storage.list("~outbox/")).toEqual([]);
  });

  it("holds up no call where it looks at the list first", { timeout: 30_000 }, async () => {
    const ports = { storage: createMemoryDriver(), onWarning: () => undefined };
    await expectCompacts(new CompactManager(config, { ...ports, beforeCompaction: work }));
  });
});

describe("FIT-7 a queue for the memory that is slower than a call may wait", () => {
  it("lets a list go out that fits, and is waited for by one that does not", {
    timeout: 30_000,
  }, async () => {
    const memory = createMemoryDriver();
    let slow = true;
    const storage: StorageDriver = {
      ...memory,
      async put(key, ...rest) {
        if (slow && key.startsWith("~outbox/")) await new Promise((done) => setTimeout(done, TIMEOUT_MS * 3));
        return memory.put(key, ...rest);
      },
    };
    const heard: unknown[] = [];
    const manager = new CompactManager(config, {
      storage,
      memoryFlushHook: (messages) => void heard.push(...messages),
      onWarning: () => undefined,
    });
    const large = await manager.preflight("large", turns(0, 14));
    expect(large.report.compacted).toBe(true);
    const fits = turns(20, 27);
    const passed = await manager.preflight("small", fits);
    expect(passed.report.compacted).toBe(false);
    expect(passed.messages).toBe(fits);
    slow = false;
    await manager.flush();
    expect(JSON.stringify(heard)).toContain("UNIQ-0-x");
    expect(JSON.stringify(heard)).not.toContain("UNIQ-20-x");
  });
});

describe("FIT-7 a search index that cannot be written", () => {
  it("keeps neither calls nor searches from working, and is told once", async () => {
    const memory = createMemoryDriver();
    const storage: StorageDriver = {
      ...memory,
      put: (key, ...rest) =>
        (key.includes("/search/") ? broken() : Promise.resolve()).then(() => memory.put(key, ...rest)),
    };
    const warnings: string[] = [];
    const manager = new CompactManager(config, { storage, onWarning: (message) => warnings.push(message) });
    await expectCompacts(manager);
    for (const query of ["UNIQ-0-x", "question 1"]) {
      const { hits } = await (await manager.archive()).search(query, { sessionId: "s" });
      expect(hits.length).toBeGreaterThan(0);
    }
    expect((await manager.preflight("s", turns(0, 10))).messages.length).toBeGreaterThan(0);
    expect(warnings.filter((one) => one.includes("search index"))).toHaveLength(1);
  });
});

describe("ARC-6 the daily sweep of a manager", () => {
  it("deletes expired sessions where states and archive have drivers of their own", async () => {
    let now = Date.UTC(2026, 0, 1);
    const clock = (): Date => new Date(now);
    const media = { storage: createMemoryDriver(clock), archive: createMemoryDriver(clock) };
    const timers: { readonly ms: number; work(): void }[] = [];
    const begin = (): CompactManager =>
      new CompactManager(
        { ...config, retention: { days: 2 } },
        {
          ...media,
          now: clock,
          later(ms, work) {
            timers.push({ ms, work });
            return () => undefined;
          },
          onWarning: () => undefined,
        },
      );
    const keys = async (session: string): Promise<string[]> =>
      (await Promise.all([media.storage.list(`${session}/`), media.archive.list(`${session}/`)])).flat();
    const first = begin();
    expect((await first.preflight("old", turns(0, 9))).report.compacted).toBe(true);
    await first.flush();
    expect((await keys("old")).length).toBeGreaterThan(2);
    now += 86_400_000 * 1.5;
    await first.preflight("young", turns(0, 9));
    await first.flush();
    const stays = await keys("young");

    const DAY = 86_400_000;
    timers.length = 0;
    now += DAY;
    const second = begin();
    await second.preflight("new", turns(0, 2));
    const starts = timers.filter(({ ms }) => ms === 0);
    expect(starts).toHaveLength(1);
    for (const { work } of starts) work();
    await expect.poll(() => keys("old")).toEqual([]);
    expect(await keys("young")).toEqual(stays);
    await expect.poll(() => timers.filter(({ ms }) => ms === DAY).length).toBe(1);
    now += 2 * DAY;
    for (const { ms, work } of [...timers]) if (ms === DAY) work();
    await expect.poll(() => keys("young")).toEqual([]);
  });
});
