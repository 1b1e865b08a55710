import { describe, expect, it } from "vitest";
import { parseTokens, parseTokensOrShare } from "./render/text.ts";

describe("amounts of tokens", () => {
  it.each([
    ["20000", 20_000],
    ["20k", 20_000],
    ["20K", 20_000],
    ["1.5M", 1_500_000],
    ["20,000", 20_000],
    ["1_000_000", 1_000_000],
  ])("%s is %d", (text, tokens) => {
    expect(parseTokens(text, "--window")).toBe(tokens);
  });

  it.each(["", "abc", "-5", "0", "1e3", "20 kb", "1.2.3", "99999999999999999999"])(
    "%j is refused, naming the flag",
    (text) => {
      expect(() => parseTokens(text, "--window")).toThrow(
        expect.objectContaining({ code: "InvalidUsage", place: "--window" }),
      );
    },
  );

  it("a share is of the whole", () => {
    expect(parseTokensOrShare("25%", "--target", 1000)).toBe(250);
    expect(parseTokensOrShare("12.5%", "--target", 1000)).toBe(125);
    expect(parseTokensOrShare("300", "--target", 1000)).toBe(300);
    expect(parseTokensOrShare("1%", "--target", 10)).toBe(1);
  });

  it.each(["0%", "101%", "%", "-5%"])("%s is refused", (text) => {
    expect(() => parseTokensOrShare(text, "--target", 1000)).toThrow(
      expect.objectContaining({ code: "InvalidUsage" }),
    );
  });
});
