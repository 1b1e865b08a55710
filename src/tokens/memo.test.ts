import { describe, expect, it, vi } from "vitest";
import { createTextMemo } from "./memo.ts";

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

  it("is bounded by characters too", () => {
    const memo = createTextMemo(1_000, 10);
    const compute = vi.fn((text: string) => text.length);
    for (const text of ["a".repeat(20), "b".repeat(20), "c".repeat(20)]) memo.get(text, compute);
    memo.get("a".repeat(20), compute);
    expect(compute).toHaveBeenCalledTimes(4);
  });

  it("starts anew when cleared", () => {
    const memo = createTextMemo();
    memo.get("abc", () => 1);
    memo.clear();
    expect(memo.get("abc", () => 2)).toBe(2);
  });
});
