import { expect, it } from "vitest";
import { closest, didYouMean } from "./did-you-mean.ts";

it("suggests the nearest name, and none when all are far", () => {
  const names = ["trigger_pct", "strategy", "max_tokens"];
  expect(closest("triger_pct", names)).toBe("trigger_pct");
  expect(closest("stratgey", names)).toBe("strategy");
  expect(closest("colour", names)).toBeUndefined();
});

it("suggests a setting however its name is spelled, also from another group", () => {
  const here = ["kmsKeyId", "triggerPct"];
  expect(didYouMean("trigger_pct", here)).toBe("; did you mean triggerPct?");
  expect(didYouMean("KMS_KEYID", here)).toBe("; did you mean kmsKeyId?");
  expect(didYouMean("maxTokens", here, [["maxTokens"], ["policy", "max_tokens"]])).toBe(
    "; did you mean policy.max_tokens?",
  );
  expect(didYouMean("colour", here, [["policy", "max_tokens"]])).toBe("");
});
