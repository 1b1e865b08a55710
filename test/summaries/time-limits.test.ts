import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { defaultConfig } from "../../packages/compact-context/src/config/settings.ts";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
// Loaded before time stands still: else the first summary would load it.
import "../../packages/compact-context/src/summarizers/llm/create.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";

const WINDOW = 20_000;
const list = Array.from({ length: 60 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `Part ${index}: ${`src/part${index}.ts reads the list and writes it back. `.repeat(27)}`,
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("SUM-12 a model that never answers is given up within a minute, and the built-in summarizer writes", async () => {
  const model: TextModel = { name: "hanging", generate: () => new Promise(() => undefined) };
  const manager = new CompactManager(
    { maxContextTokens: WINDOW, policy: { hardCapBuffer: 1000 } },
    { summarizer: model, storage: createMemoryDriver(), clock: () => Date.now() },
  );
  let made: Awaited<ReturnType<typeof manager.preflight>> | undefined;
  const work = manager.preflight("s", list).then((result) => {
    made = result;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(made?.report).toMatchObject({ compacted: true, summarizer: "builtin" });
  await work;
  expect(defaultConfig.summarizer.deadlineSeconds).toBeLessThanOrEqual(60);
});

it("SUM-12 a model is asked for no more than a tenth of the agent's window", async () => {
  const asked: number[] = [];
  const model: TextModel = {
    name: "quick",
    window: 200_000,
    generate: async ({ maxOutputTokens }) => {
      asked.push(maxOutputTokens);
      return { text: "### State\n- Every part up to here was read.", stop: "end" };
    },
  };
  const manager = new CompactManager(
    { maxContextTokens: WINDOW, policy: { hardCapBuffer: 1000 } },
    { summarizer: model, storage: createMemoryDriver() },
  );
  const { report } = await manager.preflight("s", list);
  expect(report.compacted).toBe(true);
  expect(asked.length).toBeGreaterThan(0);
  expect(Math.max(...asked)).toBeLessThanOrEqual(WINDOW / 10);
});
