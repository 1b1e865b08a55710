import { expect, it } from "vitest";
import { defaultConfig } from "./settings.ts";

it("MEM-3 MEM-13 recall is on, with 12 candidates, 5 items and 3,500 characters, where nothing is set", () => {
  expect(defaultConfig.memoryRecall).toMatchObject({
    enabled: true,
    maxCandidates: 12,
    maxInjected: 5,
    maxChars: 3500,
  });
});
