import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { takeLock } from "./lock.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compact-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

it.each([
  ["is missing", undefined],
  ["is empty", ""],
  ["is cut off", '{"token":"a'],
  ["is something else", "null"],
])("a lock whose owner's name %s is taken over after its lease, not before", async (_name, owner) => {
  await mkdir(join(folder, "lock", "token"), { recursive: true });
  if (owner !== undefined) await writeFile(join(folder, "lock", "owner.json"), owner);
  let now = 0;
  const ports = {
    randomId: () => "mine",
    clock: () => now,
    sleep: async () => {
      now += 100;
    },
    leaseMs: 1_000,
  };
  await expect(takeLock(folder, { ...ports, waitMs: 500 })).rejects.toMatchObject({ code: "Conflict" });
  const before = now;
  const lock = await takeLock(folder, { ...ports, waitMs: 5_000 });
  expect(now - before).toBeGreaterThan(1_000);
  await lock.release();
});
