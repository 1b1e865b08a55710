import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { disk } from "./faulty-disk.ts";

vi.mock("../../packages/compact-context/src/storage/fs/disk.ts", async (load) => {
  const { faultyDisk } = await import("./faulty-disk.ts");
  return faultyDisk(await load());
});

const folder = mkdtempSync(join(tmpdir(), "compact-swapped-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  disk.before = undefined;
});

/** The same names as the session has. */
const PLANTED = { "state.json": "planted", "events.jsonl": "planted\n" };

interface Trap {
  readonly driver: StorageDriver;
  /** What lies where the link leads. */
  outside(): Record<string, string>;
  /** Puts the folder in its place again. */
  restore(): void;
}

/** A session whose folder becomes a link to another one right before the disk's operation `step`. */
async function trap(step: number): Promise<Trap> {
  const place = mkdtempSync(join(folder, "trap-"));
  const [root, outside] = [join(place, "archive"), join(place, "outside")];
  const session = join(root, "s");
  mkdirSync(outside);
  for (const [name, text] of Object.entries(PLANTED)) writeFileSync(join(outside, name), text);
  const driver = createFsDriver({ root });
  disk.before = undefined;
  await driver.put("s/state.json", "first");
  await driver.append("s/events.jsonl", "first\n");
  disk.steps = 0;
  disk.before = (now) => {
    if (now !== step) return;
    renameSync(session, `${session}.away`);
    symlinkSync(outside, session);
  };
  return {
    driver,
    outside: () =>
      Object.fromEntries(
        readdirSync(outside).map((name) => [name, readFileSync(join(outside, name), "utf8")]),
      ),
    restore: () => {
      disk.before = undefined;
      if (!existsSync(`${session}.away`)) return;
      unlinkSync(session);
      renameSync(`${session}.away`, session);
    },
  };
}

const WORK: Readonly<Record<string, (driver: StorageDriver) => Promise<unknown>>> = {
  "a first value": (driver) => driver.put("s/new.json", "second"),
  "an overwrite": (driver) => driver.put("s/state.json", "second"),
  "an addition": (driver) => driver.append("s/events.jsonl", "second\n"),
  "a removal": (driver) => driver.delete("s/state.json"),
  "a read": async (driver) => expect((await driver.get("s/state.json"))?.value).not.toBe("planted"),
  "a stream": async (driver) => {
    for await (const piece of driver.stream("s/events.jsonl")) expect(piece).not.toContain("planted");
  },
  "a listing": (driver) => driver.list("s/"),
};

describe.skipIf(process.platform !== "linux")("a session folder that is swapped for a link", () => {
  it.each(Object.entries(WORK))("attack 12: %s never reaches where the link leads", async (_, work) => {
    const untouched = await trap(Number.POSITIVE_INFINITY);
    await work(untouched.driver);
    const steps = disk.steps;
    let [finished, refused] = [0, 0];
    for (let step = 1; step <= steps; step++) {
      const { driver, outside, restore } = await trap(step);
      try {
        await work(driver);
        finished += 1;
      } catch (error) {
        expect(error).toMatchObject({ code: "StorageFailed" });
        refused += 1;
      }
      expect(outside()).toEqual(PLANTED);
      restore();
      const left = await driver.get("s/state.json");
      expect(["first", "second", undefined]).toContain(left?.value);
    }
    expect(finished).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
  });
});
