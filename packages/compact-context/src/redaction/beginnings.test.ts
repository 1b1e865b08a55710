import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginningsOf, createScan } from "./beginnings.ts";
import { createRunFinder } from "./finding.ts";

const { raw } = String;

describe("what a pattern begins with", () => {
  it.each([
    [raw`\bcookie["']?:`, ["\bcook"]],
    [raw`\b(?:bearer|basic)[ \t]`, ["\bbasic", "\bbeare"]],
    [raw`(?:\b|_)pin(?:_?code)?=`, ["\bpin=", "\bpincode", "\bpin_code", "_pin=", "_pincode", "_pin_code"]],
    [raw`(?<![a-z(])(?:a|b{3})c+(?=d)`, ["ac", "bbbc"]],
    [raw`\x41\(\d`, ["A("]],
    [raw`a?b|cd*e|f[^g]`, ["ab", "b", "cd", "ce", "f"]],
    [raw`x{2,3}|[yz]\.`, ["xx", "y.", "z."]],
    [raw`one|on|once`, ["on"]],
    [raw`[a-z]ab`, undefined],
    [raw`(?:one)?\w`, undefined],
    [raw`.a|b`, undefined],
  ])("%s", (source, words) => {
    expect(beginningsOf(source)?.toSorted()).toEqual(words?.toSorted());
  });
});

describe("a scan for beginnings", () => {
  const sources = [raw`\b(?:curl|my)\b`, raw`key[_-]`, raw`\*{2}`, "пароль|ключ", "密码", "é[,;]"];
  const scan = createScan(sources.map(beginningsOf));
  const visits = (text: string): number[][] => {
    const found: number[][] = [];
    scan(text, (pattern, at) => found.push([pattern, at]));
    return found;
  };

  it.each([
    ["", []],
    ["CURL it", [[0, 0]]],
    ["dummy xcurl _my", []],
    ["(my", [[0, 1]]],
    ["monKEY_", [[1, 3]]],
    ["ПАРОЛЬ", [[3, 0]]],
    [
      "***",
      [
        [2, 0],
        [2, 1],
      ],
    ],
  ])("%s", (text, expected) => {
    expect(visits(text)).toEqual(expected);
  });

  it("comes to every place where a pattern matches, in order", () => {
    const piece = fc.constantFrom(
      "curl",
      "MY",
      "Key",
      "_",
      "*",
      "**",
      " ",
      "Пароль",
      "ключ",
      "密码",
      "É",
      ";",
      "a",
      "\u212a",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        const found = visits(text);
        expect(found.map(([, at]) => at)).toEqual(
          found.map(([, at]) => at as number).toSorted((one, other) => (one as number) - (other as number)),
        );
        for (const [pattern, source] of sources.entries())
          for (const { index } of text.matchAll(new RegExp(source, "gi")))
            expect(found).toContainEqual([pattern, index]);
      }),
    );
  });
});

describe("runs of characters", () => {
  it("are those that a pattern finds", () => {
    const findRuns = createRunFinder(/[\w-]/, 4);
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "-", "_", " ", "é", ".") }), (text) => {
        const expected = [...text.matchAll(/[\w-]{4,}/g)];
        expect(findRuns(text)).toEqual(
          expected.map(({ 0: run, index }) => ({ start: index, end: index + run.length })),
        );
      }),
    );
  });
});
