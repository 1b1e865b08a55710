import { expect, it } from "vitest";
import { crc32Hex } from "../errors.ts";

it("gives the check value of the standard", () => {
  expect(crc32Hex("123456789")).toBe("cbf43926");
  expect(crc32Hex("")).toBe("00000000");
});
