import fc from "fast-check";
import { expect, it } from "vitest";
import { closest, didYouMean } from "../errors.ts";
import { toCamelCase, toSnakeCase } from "./schema.ts";

it("names survive the way to the other spelling and back", () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      const name = words.join("_");
      expect(toSnakeCase(toCamelCase(name))).toBe(name);
    }),
  );
  expect(toCamelCase("keep_tool_io_pairs")).toBe("keepToolIoPairs");
});

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
