import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { createDriverOutbox } from "../../packages/compact-context/src/storage/outbox.ts";
import { outboxCases } from "./outbox-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "compact-outbox-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let roots = 0;
const drivers: Record<string, () => StorageDriver> = {
  memory: createMemoryDriver,
  fs: () => {
    roots += 1;
    return createFsDriver({ root: join(folder, String(roots)) });
  },
};

for (const [name, create] of Object.entries(drivers)) {
  describe(`an outbox on the ${name} driver`, () => {
    it.each(outboxCases)("$name", async ({ run }) => {
      let now = 1_000_000;
      const outbox = createDriverOutbox(create(), () => now);
      await run({
        outbox,
        pass: async (ms) => {
          now += ms;
        },
      });
    });
  });
}

it("an item is not lost when its worker slept between its two writes", async () => {
  const driver = createMemoryDriver();
  let now = 0;
  let asleep = true;
  const sleepy: StorageDriver = {
    ...driver,
    async put(key, value, options) {
      if (key.endsWith(".jsonl") && asleep) {
        // Others look into the outbox while the claim is there and the item is not.
        asleep = false;
        now += 1000;
        expect(await createDriverOutbox(driver, () => now).claim({ by: "two", ms: 100 }, 9)).toEqual([]);
      }
      return driver.put(key, value, options);
    },
  };
  await createDriverOutbox(sleepy, () => now).add(
    { id: "a", session: "s", body: "x\n" },
    { by: "one", ms: 100 },
  );
  now += 1000;
  const found = await createDriverOutbox(driver, () => now).claim({ by: "two", ms: 100 }, 9);
  expect(found.map(({ id }) => id)).toEqual(["a"]);
});
