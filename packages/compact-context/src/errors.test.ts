import { expect, it } from "vitest";
import { once } from "./errors.ts";

it("opens once for calls at the same time and later ones", async () => {
  let times = 0;
  const open = once(async () => {
    times += 1;
    return times;
  });
  expect(await Promise.all([open(), open()])).toEqual([1, 1]);
  expect(await open()).toBe(1);
});

it("what could not be opened is tried again by the next call", async () => {
  let times = 0;
  const open = once(async () => {
    times += 1;
    if (times === 1) throw new Error("not yet");
    return "open";
  });
  await expect(Promise.all([open(), open()])).rejects.toThrow("not yet");
  expect([await open(), await open(), times]).toEqual(["open", "open", 2]);
});
