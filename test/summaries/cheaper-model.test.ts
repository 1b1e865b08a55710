import { expect, it } from "vitest";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { lookUpModel } from "../../packages/compact-context/src/tokens/models.ts";

const AGENT = "gpt-5.4";
const CHEAPER = "gpt-5.4-mini";

it("SUM-12 the model that writes the summary may be a cheaper one than the agent's", async () => {
  const [agent, cheaper] = [AGENT, CHEAPER].map((name) => lookUpModel(name).prices);
  expect(cheaper?.in).toBeLessThan(agent?.in ?? 0);
  expect(cheaper?.out).toBeLessThan(agent?.out ?? 0);

  let asked = 0;
  const model: TextModel = {
    name: CHEAPER,
    window: lookUpModel(CHEAPER).window,
    generate: async () => {
      asked += 1;
      return { text: "### State\n- Every part up to here was read.", stop: "end" };
    },
  };
  const config = { model: AGENT, maxContextTokens: 20_000, policy: { hardCapBuffer: 1000 } };
  const manager = new CompactManager(config, { summarizer: model, storage: createMemoryDriver() });
  const messages = Array.from({ length: 60 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `Part ${index}: ${`src/part${index}.ts reads the list and writes it back. `.repeat(27)}`,
  }));
  const { report, summary } = await manager.preflight("s", messages);
  expect(asked).toBeGreaterThan(0);
  expect(report.summarizer).toContain(CHEAPER);
  expect(new Set(report.attempts.map((attempt) => attempt.model))).toEqual(new Set([CHEAPER]));
  expect(summary).toContain("Every part up to here was read.");
});
