import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeControl } from "./escape.ts";

describe("escapeControl", () => {
  it.each([
    ["\x1b[2Jx", String.raw`\x1b[2Jx`],
    ["\x9b31m", String.raw`\x9b31m`],
    ["\x1bP1;2|dcs\x1b\\", `${String.raw`\x1bP1;2|dcs\x1b`}\\`],
    ["over\rwritten\b\x00\x7f", String.raw`over\x0dwritten\x08\x00\x7f`],
    ["\u202eabc\u2066d\u200b\u200d\ufeff", String.raw`\u202eabc\u2066d\u200b\u200d\ufeff`],
    ["a\u2028b\u00adc", String.raw`a\u2028b\xadc`],
    ["\u{e0041}\ud800", String.raw`\u{e0041}\ud800`],
    ["é 漢字 😀\n\tkept", "é 漢字 😀\n\tkept"],
  ])("makes %j visible", (text, expected) => expect(escapeControl(text)).toBe(expected));

  it("leaves nothing of the C0, C1, bidi and zero-width characters but newline and tab", () => {
    const units = fc.string({ unit: "binary", maxLength: 40 });
    fc.assert(
      fc.property(units, (text) => {
        expect(escapeControl(text)).not.toMatch(
          /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u200b-\u200d\ufeff\u2028\u2029]/u,
        );
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
