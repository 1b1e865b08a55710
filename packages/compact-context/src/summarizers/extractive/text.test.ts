import { describe, expect, it } from "vitest";
import { measureLine } from "./text.ts";

describe("the measure of a line", () => {
  it.each([
    ["Never change the lock file", 4],
    ["src/queue/ledger.ts keeps what retry_count says", 3],
    ["camelCase SHOUT e.g. it-self", 0],
    ["再試行の回数", 1.5],
    ["", 0],
  ])("counts the plain words of %j", (text, words) => {
    expect(measureLine(text).words).toBe(words);
  });

  it("guesses tokens: blanks join words, digits come in threes, every line has one", () => {
    expect(measureLine("a few words").tokens).toBe(3);
    expect(measureLine("123456").tokens).toBe(2);
    expect(measureLine("").tokens).toBe(1);
  });
});
