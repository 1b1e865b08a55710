import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { defaultConfig } from "../../packages/compact-context/src/config/settings.ts";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";

const WINDOW = 20_000;
const list = Array.from({ length: 60 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `Part ${index}: ${`src/part${index}.ts reads the list and writes it back. `.repeat(27)}`,
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("SUM-12 a model that never answers is given up within a minute, and the built-in summarizer writes", async () => {
  let ask = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const hang = (): Promise<never> => {
    ask();
    return new Promise(() => undefined);
  };
  const model: TextModel = { name: "hanging", generate: hang };
  const manager = new CompactManager(
    { maxContextTokens: WINDOW, policy: { hardCapBuffer: 1000 } },
    { summarizer: model, storage: createMemoryDriver(), clock: () => Date.now() },
  );
  const work = manager.preflight("s", list);
  await asked;
  await vi.advanceTimersByTimeAsync(60_000);
  // Nothing waits for time any more: it would wait for ever.
  const { report } = await work;
  // On a slow machine the check of the list, which runs beside the call, may still wait for some turns of the loop.
  for (let turns = 0; turns < 100 && vi.getTimerCount() > 0; turns += 1) await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
  expect(report).toMatchObject({ compacted: true, summarizer: "builtin" });
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
