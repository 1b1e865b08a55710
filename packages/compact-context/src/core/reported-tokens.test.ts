import { expect, it } from "vitest";
import { countTokens } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

it.each([0.6, 1, 1.4])(
  "a report tells what the provider would, which counts %f of our tokens",
  async (ratio) => {
    const window = 20_000;
    const manager = new CompactManager(
      { model: "gpt-4o", maxContextTokens: window },
      { storage: createMemoryDriver(), onWarning: () => undefined },
    );
    let list: object[] = [];
    let usage: object | undefined;
    let compactions = 0;
    for (let call = 0; call < 60; call += 1) {
      list.push({ role: "user", content: `${call}: ${"tide rope lamp ".repeat(350)}` });
      const { messages, report } = await manager.preflight("s", list, { usage });
      const counted = countTokens(messages, { model: "gpt-4o" }).tokens * ratio;
      expect(report.tokensAfter).toBeLessThanOrEqual(window);
      expect(manager.getState("s").totalTokens).toBe(report.tokensAfter);
      if (call > 3) expect(report.tokensAfter / counted).toBeGreaterThan(0.85);
      if (call > 3) expect(report.tokensAfter / counted).toBeLessThan(1.15 / Math.min(1, ratio));
      if (report.compacted) compactions += 1;
      usage = { prompt_tokens: Math.round(counted), completion_tokens: 0 };
      list = [...messages, { role: "assistant", content: `done ${call}` }] as object[];
    }
    expect(compactions).toBeGreaterThan(1);
  },
);

it("a report over the window, such as a sum over several requests, teaches nothing", async () => {
  const manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: 20_000 },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );
  const list = [{ role: "user", content: "tide rope lamp ".repeat(350) }];
  const first = (await manager.preflight("s", list)).report.tokensAfter;
  const usage = { prompt_tokens: 20_001, completion_tokens: 0 };
  const second = (await manager.preflight("s", list, { usage })).report.tokensAfter;
  expect(second).toBe(first);
  const within = { prompt_tokens: 2 * first, completion_tokens: 0 };
  expect((await manager.preflight("s", list, { usage: within })).report.tokensAfter).toBe(2 * first);
});

it("usage is about the list that went out, not about one that was refused since", async () => {
  const list = [{ role: "user", content: "tide rope lamp ".repeat(350) }];
  const next = [...list, { role: "assistant", content: "done" }, { role: "user", content: "and the sail?" }];
  const huge = [...list, { role: "user", content: "tide rope lamp ".repeat(20_000) }];
  const tokensAfter = async (refused: boolean): Promise<number> => {
    const manager = new CompactManager(
      { model: "gpt-4o", maxContextTokens: 20_000 },
      { storage: createMemoryDriver(), onWarning: () => undefined },
    );
    const { report } = await manager.preflight("s", list);
    const usage = { prompt_tokens: report.tokensAfter + 500, completion_tokens: 0 };
    if (refused)
      await expect(manager.preflight("s", huge)).rejects.toMatchObject({ code: "InsufficientBudget" });
    return (await manager.preflight("s", next, { usage })).report.tokensAfter;
  };
  expect(await tokensAfter(true)).toBe(await tokensAfter(false));
});

it("usage after a failed call teaches nothing: its list may have gone out as it was", async () => {
  const manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: 20_000, policy: { triggerPct: 0.5, keepRecentTurns: 1 } },
    {
      storage: createMemoryDriver(),
      onWarning: () => undefined,
      summarizer: { name: "hangs", generate: () => new Promise(() => undefined) },
    },
  );
  const turns = (count: number) => [
    { role: "user", content: "tide rope lamp ".repeat(count) },
    { role: "assistant", content: "done ".repeat(count) },
  ];
  const list = turns(10);
  await manager.preflight("s", list);
  const long = [...list, ...turns(3000), ...turns(10)];
  const slow = manager.preflight("s", long, { signal: AbortSignal.timeout(50) });
  await expect(slow).rejects.toMatchObject({ code: "Aborted" });
  const { totalTokens } = manager.getState("s");
  const next = [...long, { role: "user", content: "and the sail?" }];
  const usage = { prompt_tokens: totalTokens, completion_tokens: 0 };
  await expect(manager.preflight("s", next, { usage, signal: AbortSignal.timeout(50) })).rejects.toThrow();
  expect(manager.getState("s").totalTokens).toBeLessThan(totalTokens + 50);
});
