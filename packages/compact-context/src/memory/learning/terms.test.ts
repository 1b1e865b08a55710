import { expect, it } from "vitest";
import { kindOf } from "./terms.ts";

const none: ReadonlySet<string> = new Set();

it.each(["2_000", "1_2", "1+1", "5_", "2’3"])("%s is no value, unless it is part of a name", (term) => {
  expect(kindOf(term, { names: none })).toBeUndefined();
  expect(kindOf(term, { names: new Set([term]) })).toBe("name");
});

it.each(["ana@fern.example", "src/index.ts", "build7"])("%s is an address", (term) => {
  expect(kindOf(term, { names: none })).toBe("address");
});
