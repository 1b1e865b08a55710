import { describe, expect, it } from "vitest";
import { beginningsOf, createWordGate } from "./finding.ts";

describe("what a pattern begins with", () => {
  it.each([
    [String.raw`\bcookie["']?:`, ["cookie"]],
    [String.raw`\b(?:bearer|basic)[ \t]`, ["bearer", "basic"]],
    [
      String.raw`\b(?:api[_-]?key|(?:secret|my)[ )|]key|7za?|mysqli?_c)`,
      ["api", "secret", "my", "7z", "mysql"],
    ],
    [String.raw`\b(?:passw(?:or)?d|\x41b)`, undefined],
    [String.raw`\b(?:one)?two`, undefined],
    [String.raw`\b[a-z]ab`, undefined],
    ["(?:one|two)", undefined],
    [String.raw`\ba?b`, undefined],
    [String.raw`\bone|two`, undefined],
    [String.raw`\bone|\btwo)|three`, ["one", "two"]],
  ])("%s", (source, words) => {
    expect(beginningsOf(source)).toEqual(words);
  });
});

describe("the gate of words", () => {
  const gate = createWordGate([String.raw`\b(?:curl|my)\b`, String.raw`\b7zr?`, "[?&]sig="]);
  const open = (text: string): number[] => [...gate(text)].filter((pattern) => pattern !== 2).toSorted();

  it.each([
    ["", []],
    ["CURL it", [0]],
    ["é7Z", [1]],
    ["(my", [0]],
    ["dummy xcurl a7zr _my", []],
    ["cur", []],
  ])("%s", (text, expected) => {
    expect(open(text)).toEqual(expected);
  });

  it("is always open to a pattern that can start with anything", () => {
    expect([...gate("")]).toEqual([2]);
  });

  it("is open wherever the pattern matches", () => {
    for (const text of ["a curl", "\ncurl", "ｃurl curl", "My", "x-7zr", "7z"]) {
      expect(open(text).includes(0) || !/\b(?:curl|my)\b/i.test(text)).toBe(true);
      expect(open(text).includes(1) || !/\b7zr?/i.test(text)).toBe(true);
    }
  });
});
