import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { StorageDriver } from "./ports.ts";
import type { CompactEvent } from "./report.ts";

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

it("what is cleared without an archive names no id in it, in every later call", async () => {
  const memory = createMemoryDriver();
  const storage: StorageDriver = {
    ...memory,
    put: (key, ...rest) =>
      key.includes("transcript") ? Promise.reject(new Error("full")) : memory.put(key, ...rest),
  };
  const policy = { hardCapBuffer: 200, targetContextTokens: 3000, keepRecentTurns: 1, keepToolIoPairs: 1 };
  const config = { maxContextTokens: 4000, policy, storage: { onFailure: "continue" } } as const;
  const manager = new CompactManager(config, { storage, onWarning: () => undefined });
  const calls = Array.from({ length: 12 }, (_, n) => [
    { role: "user", content: `look at file ${n}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: `c${n}`, type: "function", function: { name: "read", arguments: `{"n":${n}}` } }],
    },
    { role: "tool", tool_call_id: `c${n}`, content: `${n} ${"word ".repeat(280)}` },
  ]).flat();
  const first = await manager.preflight("s", calls);
  const later = await manager.preflight("s", structuredClone([...calls, { role: "user", content: "go on" }]));
  for (const { messages } of [first, later]) {
    const text = JSON.stringify(messages);
    expect(text).toContain("tool output cleared");
    expect(text).not.toContain("archive id");
  }
  expect(later.messages.slice(0, -1)).toEqual(first.messages);
});
