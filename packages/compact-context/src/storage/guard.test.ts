import { expect, it } from "vitest";
import type { StorageDriver } from "../core/ports.ts";
import { guardStorage } from "./guard.ts";
import { createMemoryDriver } from "./memory/driver.ts";

/** A clock that stands until it is told to go on. */
function createTime(): {
  clock: () => number;
  later: (ms: number, work: () => void) => () => void;
  pass: (ms: number) => Promise<void>;
} {
  let now = 0;
  const due = new Set<{ at: number; work: () => void }>();
  return {
    clock: () => now,
    later(ms, work) {
      const entry = { at: now + ms, work };
      due.add(entry);
      return () => due.delete(entry);
    },
    async pass(ms) {
      for (const end = now + ms; ; ) {
        const next = [...due].sort((one, other) => one.at - other.at)[0];
        if (next === undefined || next.at > end) {
          now = end;
          return;
        }
        now = next.at;
        due.delete(next);
        next.work();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

const CALLS = 100;
const EACH_MS = 50;

/** A medium that answers one call after another; the calls of `stuck` never. */
function createSlow(
  time: ReturnType<typeof createTime>,
  stuck: ReadonlySet<string> = new Set(),
): StorageDriver {
  let free = 0;
  return {
    ...createMemoryDriver(),
    get: (key) =>
      new Promise((resolve) => {
        if (stuck.has(key)) return;
        free = Math.max(free, time.clock()) + EACH_MS;
        time.later(free - time.clock(), () => resolve(undefined));
      }),
  };
}

it("FIT-7 a call that waits behind others of its own process is no outage, however many there are", async () => {
  const time = createTime();
  const warnings: string[] = [];
  const { quick } = guardStorage(createSlow(time), {
    timeoutMs: 1000,
    clock: time.clock,
    later: time.later,
    turn: async () => undefined,
    warn: (message) => warnings.push(message),
  });
  const answers = Promise.all(Array.from({ length: CALLS }, (_, index) => quick.get(`s${index}/state.json`)));
  await time.pass(CALLS * EACH_MS);
  expect(await answers).toHaveLength(CALLS);
  expect(warnings).toEqual([]);
});

it("FIT-7 storage that takes one piece after another is no outage, however busy the machine is", async () => {
  const time = createTime();
  const warnings: string[] = [];
  const { quick } = guardStorage(createMemoryDriver(), {
    timeoutMs: 10_000,
    clock: time.clock,
    later: time.later,
    turn: async () => undefined,
    warn: (message) => warnings.push(message),
  });
  const pieces = Array.from({ length: 30 }, () => "a line of the archive\n".repeat(12_000));
  const written = quick.put("large.jsonl", pieces);
  // Each round of the event loop, in which one piece is taken, lasts a second.
  await time.pass(60_000);
  await expect(written).resolves.toHaveProperty("version");
  expect(warnings).toEqual([]);
});

it("FIT-7 an outage is over when the call that failed works again, or one of its kind ten minutes later", async () => {
  const time = createTime();
  const warnings: string[] = [];
  const broken = new Set<string>();
  const driver: StorageDriver = {
    ...createMemoryDriver(),
    get: async (key) => {
      if (broken.has(key)) throw new Error(`${key} is broken`);
      return undefined;
    },
  };
  const { quick } = guardStorage(driver, {
    timeoutMs: 1000,
    clock: time.clock,
    later: time.later,
    turn: async () => undefined,
    warn: (message) => warnings.push(message),
  });
  const fails = async (key: string): Promise<void> => {
    broken.add(key);
    await expect(quick.get(key)).rejects.toMatchObject({ code: "StorageFailed" });
    broken.delete(key);
  };
  await fails("one");
  await quick.get("other");
  await fails("one");
  expect(warnings).toHaveLength(1);
  await quick.get("one");
  await fails("one");
  expect(warnings).toHaveLength(2);
  await time.pass(600_000);
  await quick.get("other");
  await fails("one");
  expect(warnings).toHaveLength(2);
  await time.pass(600_001);
  await quick.get("other");
  await fails("one");
  expect(warnings).toHaveLength(3);
});

it("a disk that is full for hours is told once, though reads, deletions and small appends work", async () => {
  const time = createTime();
  const warnings: string[] = [];
  const memory = createMemoryDriver();
  let full = true;
  const { quick } = guardStorage(
    { ...memory, put: (...put) => (full ? Promise.reject(new Error("ENOSPC")) : memory.put(...put)) },
    {
      timeoutMs: 1000,
      clock: time.clock,
      later: time.later,
      turn: async () => undefined,
      warn: (message) => warnings.push(message),
    },
  );
  for (let call = 0; call < 120; call += 1) {
    await expect(quick.put(`s${call}/state.json`, "{}")).rejects.toMatchObject({ code: "StorageFailed" });
    await time.pass(700_000);
    await quick.append(`s${call}/events.jsonl`, "{}\n");
    await quick.get(`s${call}/state.json`);
    await quick.delete(`s${call}/events.jsonl`);
  }
  expect(warnings).toHaveLength(1);
  full = false;
  await quick.put("s/state.json", "{}");
  full = true;
  await expect(quick.put("s/state.json", "{}")).rejects.toMatchObject({ code: "StorageFailed" });
  expect(warnings).toHaveLength(2);
});

it("FIT-7 a call that is not answered while later ones are is given up after its time", async () => {
  const time = createTime();
  const warnings: string[] = [];
  const { quick } = guardStorage(createSlow(time, new Set(["hangs"])), {
    timeoutMs: 1000,
    clock: time.clock,
    later: time.later,
    turn: async () => undefined,
    warn: (message) => warnings.push(message),
  });
  const hangs = quick.get("hangs").catch((error: unknown) => error);
  for (let index = 0; index < CALLS; index += 1) void quick.get(`s${index}`).catch(() => undefined);
  await time.pass(1100);
  expect(await hangs).toMatchObject({ code: "StorageFailed" });
  expect(warnings).toHaveLength(1);
});

it("a value that can never be written is told once, however many others are written between", async () => {
  const warnings: string[] = [];
  const memory = createMemoryDriver();
  const put: StorageDriver["put"] = (key, ...rest) =>
    key === "s/state.json" ? Promise.reject(new Error("EISDIR")) : memory.put(key, ...rest);
  const time = createTime();
  const { patient } = guardStorage(
    { ...memory, put },
    {
      timeoutMs: 1000,
      clock: time.clock,
      later: time.later,
      turn: async () => undefined,
      warn: (message) => warnings.push(message),
    },
  );
  for (let call = 0; call < 3; call += 1) {
    await expect(patient.put("s/state.json", "{}")).rejects.toMatchObject({ code: "StorageFailed" });
    await patient.append("s/events.jsonl", "{}\n");
  }
  expect(warnings).toHaveLength(1);
});
