import { expect, it } from "vitest";
import type { StorageDriver, StoredEntry } from "../core/ports.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { deleteSession, guardDeleted, sweep } from "./deletion.ts";

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

it("a deletion is remembered for 30 days, then its mark is swept", async () => {
  let days = 0;
  const now = (): Date => new Date(days * DAY_MS);
  const memory = createMemoryDriver();
  const driver = guardDeleted(memory, now);
  await driver.put("chat/state.json", "{}");
  await deleteSession(driver, "chat", { now });
  const [mark = ""] = await memory.list("~deleted/");
  const entries: StorageDriver["entries"] = async function* () {
    yield { key: mark, bytes: 1, at: 0 };
  };
  for (days of [0, 1, 30]) {
    await expect(driver.put("chat/state.json", "{}")).rejects.toMatchObject({ code: "NotFound" });
    await sweep([{ ...memory, entries }], {}, { now });
    expect(await memory.list("~deleted/")).toEqual([mark]);
  }
  days = 31;
  await driver.put("chat/state.json", "{}");
  await sweep([{ ...memory, entries }], {}, { now });
  expect(await memory.list("~deleted/")).toEqual([]);
});
