import { afterEach, expect, it, vi } from "vitest";
import { errorMessage, once } from "./errors.ts";

afterEach(() => void vi.unstubAllGlobals());

it.each([
  ["lacks setImmediate", undefined],
  [
    "refuses it, as the edge runtime of Next.js does",
    () => {
      throw new Error("not supported in the Edge Runtime");
    },
  ],
])("work gets its next round where the platform %s", async (_, given) => {
  vi.resetModules();
  vi.stubGlobal("setImmediate", given);
  const { nextRound } = await import("./errors.ts");
  await new Promise<void>((go) => void nextRound(go));
});

it("says why a fetch failed", () => {
  const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  expect(errorMessage(new TypeError("fetch failed", { cause: refused }))).toBe("fetch failed: ECONNREFUSED");
  const closed = new TypeError("terminated", { cause: new Error("other side closed") });
  expect(errorMessage(closed)).toBe("terminated: other side closed");
  const itself = new TypeError("fetch failed");
  itself.cause = itself;
  expect(errorMessage(itself)).toBe("fetch failed: fetch failed: fetch failed");
  expect(errorMessage(new Error("the disk is full", { cause: refused }))).toBe("the disk is full");
  expect([errorMessage(new RangeError()), errorMessage(7)]).toEqual(["RangeError", "7"]);
  expect(errorMessage(new DOMException("", "TimeoutError"))).toBe("TimeoutError");
});

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
