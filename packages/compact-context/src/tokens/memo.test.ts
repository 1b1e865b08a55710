import { describe, expect, it, vi } from "vitest";
import { createTextMemo } from "./token-counter.ts";

describe("createTextMemo", () => {
  it("computes each text once while it is remembered", () => {
    const memo = createTextMemo();
    const compute = vi.fn((text: string) => text.length);
    expect([memo.get("abc", compute), memo.get("abc", compute), memo.get("", compute)]).toEqual([3, 3, 0]);
    expect(compute).toHaveBeenCalledTimes(2);
  });

  it("forgets what was not asked for during two generations, and keeps what was", () => {
    const memo = createTextMemo(2);
    const compute = vi.fn((text: string) => text.length);
    for (const text of ["kept", "lost", "kept", "c", "d", "kept", "e", "f"]) memo.get(text, compute);
    compute.mockClear();
    memo.get("kept", compute);
    expect(compute).not.toHaveBeenCalled();
    memo.get("lost", compute);
    expect(compute).toHaveBeenCalledTimes(1);
  });

  it("knows a text by its content, and tells long texts apart that differ in one character", () => {
    const memo = createTextMemo();
    const compute = vi.fn((text: string) => text.length);
    const long = "a".repeat(10_000);
    for (const text of [long, `${long}b`, `${long}c`, `b${long}`, ["a".repeat(9_999), "a"].join("")])
      memo.get(text, compute);
    expect(compute).toHaveBeenCalledTimes(4);
  });

  it("starts anew when cleared", () => {
    const memo = createTextMemo();
    memo.get("abc", () => 1);
    memo.clear();
    expect(memo.get("abc", () => 2)).toBe(2);
  });
});
