import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { CompactEvent, StorageDriver } from "./ports.ts";

const numbered = (length: number) =>
  Array.from({ length }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n} ${"word ".repeat(60)}`,
  }));
const list = numbered(80);

it.each([
  [
    new CompactError("StorageFailed", "full", { hint: "Free some disk space.", place: "/archive/s" }),
    'Free some disk space. Or set storage.onFailure to "continue" to prune without an archive.',
    "/archive/s",
  ],
  [
    new Error("full"),
    'Fix the storage. Or set storage.onFailure to "continue" to prune without an archive.',
    undefined,
  ],
])("an archive that fails says itself what to do about it, and where: %s", async (error, hint, place) => {
  const storage = { ...createMemoryDriver(), put: () => Promise.reject(error) };
  const manager = new CompactManager({ maxContextTokens: 4000 }, { storage, onWarning: () => undefined });
  const message = "the archive could not be written: full";
  await expect(manager.preflight("s", list)).rejects.toMatchObject({
    ...{ code: "StorageFailed", message, hint, place },
  });
});

it("compactions that go on without an archive have a step each, and the archive takes up behind them", async () => {
  const memory = createMemoryDriver();
  let down = true;
  const storage: StorageDriver = {
    ...memory,
    put: (key, ...rest) =>
      down && key.includes("transcript") ? Promise.reject(new Error("full")) : memory.put(key, ...rest),
  };
  const steps: unknown[] = [];
  const exporter = {
    export({ name, properties }: CompactEvent) {
      if (name === "compact.pruned_messages") steps.push(properties.step);
    },
  };
  const config = { maxContextTokens: 4000, storage: { onFailure: "continue" } } as const;
  const manager = new CompactManager(config, { storage, exporters: [exporter], onWarning: () => undefined });
  for (const length of [60, 120, 180]) {
    down = length < 180;
    const { report } = await manager.preflight("s", numbered(length));
    expect(report.compacted).toBe(true);
  }
  await manager.flush();
  expect(steps).toEqual([1, 2, 3]);
  expect(await manager.recall("s").steps()).toEqual([3]);
});
