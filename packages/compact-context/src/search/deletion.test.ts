import { expect, it } from "vitest";
import type { StorageDriver, StoredEntry } from "../core/ports.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { sweep } from "./deletion.ts";

const DAY_MS = 86_400_000;

it("a delivery that is tried again and again does not keep an unused session", async () => {
  const entries: StoredEntry[] = [
    { key: "old/state.json", bytes: 10, at: 0 },
    { key: "~outbox/old/001-a.json", bytes: 5, at: 40 * DAY_MS },
    { key: "used/state.json", bytes: 10, at: 40 * DAY_MS },
  ];
  const driver: StorageDriver = {
    ...createMemoryDriver(),
    async *entries() {
      yield* entries;
    },
  };
  const now = (): Date => new Date(41 * DAY_MS);
  expect(await sweep([driver], { days: 30 }, { now, dryRun: true })).toEqual({
    sessions: ["old"],
    bytes: 15,
    kept: { sessions: 1, bytes: 10 },
  });
});
