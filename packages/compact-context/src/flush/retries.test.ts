import { expect, it } from "vitest";
import { retryAfter } from "./flush.ts";

it("RUN-5 a delivery that fails is repeated after one second, then two, four and so on, up to ten minutes", () => {
  expect([0, 1, 2, 9, 10, 1000].map(retryAfter)).toEqual([1000, 2000, 4000, 512_000, 600_000, 600_000]);
});
