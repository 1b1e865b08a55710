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
