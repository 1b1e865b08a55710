import fc from "fast-check";
import { expect, it } from "vitest";
import { toCamelCase, toSnakeCase } from "./names.ts";

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
