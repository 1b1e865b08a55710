import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { bar, createPaint, table } from "./table.ts";
import {
  displayWidth,
  firstWords,
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatShort,
  oneLine,
  padEnd,
  padStart,
  plural,
  safeJson,
  safeLines,
  truncate,
  wrap,
} from "./text.ts";

const plain = createPaint(false, {});

describe("width", () => {
  it("counts two cells for wide characters and none for marks", () => {
    expect(displayWidth("abc")).toBe(3);
    expect(displayWidth("日本語")).toBe(6);
    expect(displayWidth("한국")).toBe(4);
    expect(displayWidth("🚀")).toBe(2);
    expect(displayWidth("e\u0301")).toBe(1);
    expect(displayWidth("█▏→−…")).toBe(5);
    expect(displayWidth("👩‍👩‍👧‍👦👍🏽🇫🇷")).toBe(6);
  });

  it("equals that of string-width for every character below the wide ones and every emoji, alone and in one line", () => {
    const characters = [
      [0x20, 0x2e80],
      [0x1f000, 0x1fb00],
    ].flatMap(([from = 0, to = 0]) =>
      Array.from({ length: to - from }, (_, index) => String.fromCodePoint(from + index)),
    );
    const printed = characters.filter((character) => !/\p{Cc}/u.test(character));
    for (const character of printed) expect(displayWidth(character)).toBe(stringWidth(character));
    expect(displayWidth(printed.join("\n"))).toBe(stringWidth(printed.join("\n")));
  });

  it.each([
    "❤️",
    "❤",
    "1️⃣",
    "1⃣",
    "©️",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "🤷‍♂️",
    "👩🏽‍🦰",
    "👁️‍🗨️",
    "🫱🏻‍🫲🏿",
    "🇫",
    "a\ufe0f",
    "각각",
    "कि",
    "ﾊﾞ",
    "தமிழ்",
    "ﷺ",
  ])("equals that of string-width for %s", (text) => expect(displayWidth(text)).toBe(stringWidth(text)));

  it("truncates to the width with an ellipsis", () => {
    expect(truncate("hello world", 8)).toBe("hello…");
    expect(truncate("a extraordinarily", 8)).toBe("a extra…");
    expect(truncate("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 5)).toBe("👩‍👩‍👧‍👦👩‍👩‍👧‍👦…");
    expect(truncate("hello", 5)).toBe("hello");
    expect(truncate("日本語", 5)).toBe("日本…");
    expect(truncate("日本語", 4)).toBe("日…");
    expect(truncate("abc", 0)).toBe("");
  });

  it("never returns more cells than requested", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, width) => {
        expect(displayWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        if (displayWidth(text) <= width) expect(truncate(text, width)).toBe(width === 0 ? "" : text);
      }),
    );
  });

  it("pads by cells, not by code units", () => {
    expect(padEnd("日", 4)).toBe("日  ");
    expect(padStart("日", 4)).toBe("  日");
    expect(padEnd("long", 2)).toBe("long");
  });

  it("wraps at spaces, never inside words, and loses nothing", () => {
    expect(wrap("the quick brown fox", 10)).toEqual(["the quick", "brown fox"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcdefghij"]);
    fc.assert(
      fc.property(fc.lorem({ maxCount: 30 }), fc.integer({ min: 2, max: 60 }), (text, width) => {
        const lines = wrap(text, width);
        for (const line of lines) expect(!line.includes(" ") || displayWidth(line) <= width).toBe(true);
        expect(lines.join(" ")).toBe(text);
      }),
    );
  });
});

describe("numbers", () => {
  it("formats counts, shares, sizes and times", () => {
    expect([0, 999, 1000, 12345, 1234567].map(formatCount)).toEqual([
      "0",
      "999",
      "1,000",
      "12,345",
      "1,234,567",
    ]);
    expect([840, 12_345, 128_000, 999_600, 1_500_000].map(formatShort)).toEqual([
      "840",
      "12.3k",
      "128k",
      "1M",
      "1.5M",
    ]);
    expect([
      formatPercent(1, 3),
      formatPercent(0, 5),
      formatPercent(5, 5),
      formatPercent(1, 1e6),
      formatPercent(1, 0),
      formatPercent(99_999, 100_000),
      formatPercent(5, 4),
    ]).toEqual(["33.3%", "0%", "100%", "<0.1%", "0%", "99.9%", "125.0%"]);
    expect([820, 12_000, 3_400_000, 2_000_000_000].map(formatBytes)).toEqual([
      "820 B",
      "12 kB",
      "3.4 MB",
      "2.0 GB",
    ]);
    expect([0.44, 840, 12_345, 7_500_000].map(formatDuration)).toEqual([
      "0.4 ms",
      "840 ms",
      "12.3 s",
      "2 h 5 min",
    ]);
    expect([5_000, 300_000, 10_800_000, 900_000_000].map(formatAge)).toEqual([
      "just now",
      "5 min ago",
      "3 h ago",
      "10 days ago",
    ]);
    expect([plural(1, "turn"), plural(2, "turn"), plural(3, "batch", "batches")]).toEqual([
      "1 turn",
      "2 turns",
      "3 batches",
    ]);
  });
});

describe("bars", () => {
  it("are as long as their share, at most the width, and visible above zero", () => {
    expect(bar(50, 100, 10)).toBe("█████");
    expect(bar(1, 1_000_000, 10)).toBe("▏");
    expect(bar(0, 100, 10)).toBe("");
    expect(bar(200, 100, 10)).toBe("██████████");
    expect(bar(55, 100, 10)).toBe("█████▌");
  });
});

describe("tables", () => {
  const columns = ["right", "left", "flexible"] as const;

  it("align numbers and cut the flexible column, so that no line is wider than the screen", () => {
    const rows = [
      ["1", "user", "x".repeat(200)],
      ["100", "assistant", "short"],
    ];
    const lines = table(rows, columns, { width: 40, paint: plain });
    expect(lines[1]).toBe("  100  assistant  short");
    expect(lines[0]?.startsWith("    1  user       xxx")).toBe(true);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
  });

  it("paints text without counting the paint as width", () => {
    const paint = createPaint(true, {});
    const [line = ""] = table([[{ text: "a", style: "bad" }, "b", "c"]], columns, { width: 40, paint });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches them on purpose
    expect(line.replace(/\u001b\[\d+m/g, "")).toBe("  a  b  c");
    expect(line).not.toBe("  a  b  c");
  });
});

describe("colours", () => {
  it("are for terminals only, not with NO_COLOR and not on dumb terminals", () => {
    expect(createPaint(true, {})("good", "x")).toBe("\u001b[32mx\u001b[39m");
    expect(createPaint(false, {})("good", "x")).toBe("x");
    expect(createPaint(true, { NO_COLOR: "1" })("good", "x")).toBe("x");
    expect(createPaint(true, { NO_COLOR: "" })("good", "x")).not.toBe("x");
    expect(createPaint(true, { TERM: "dumb" })("good", "x")).toBe("x");
  });
});

describe("untrusted text", () => {
  const attacks = [
    ["OSC 52 clipboard", "a\u001b]52;c;aGk=\u0007b"],
    ["title", "\u001b]0;owned\u0007"],
    ["C1 control", "a\u009b31mb"],
    ["alternate screen", "\u001b[?1049h"],
    ["device control", "\u001bP1;2q\u001b\\"],
    ["overwriting", "safe\rEVIL"],
    ["backspace", "good\b\b\b\bevil"],
    ["right to left", "file\u202etxt.exe"],
    ["zero width", "pass\u200bword"],
  ] as const;

  it.each(attacks)("%s is escaped", (_, text) => {
    for (const shown of [oneLine(text), firstWords(text), safeLines(text).join("\n")]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches them on purpose
      expect(shown).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/);
    }
  });

  it.each(attacks)("%s is escaped in JSON, and the parsed value is the same", (_, text) => {
    const value = { text, astral: "\u{e0041}", lines: ["a\n\tb", "👩‍💻 é"] };
    const json = safeJson(value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches them on purpose
    expect(json).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u{e0041}]/u);
    expect(JSON.parse(json)).toEqual(value);
  });

  it("joined emoji stay, a joiner anywhere else is shown", () => {
    const family = "👩‍💻 👨‍👩‍👧 ❤️‍🔥 👩🏽‍🚀";
    expect(oneLine(family)).toBe(family);
    expect(oneLine("pass\u200dword 👩\u200d")).toBe(String.raw`pass\u200dword 👩\u200d`);
  });

  it("a message cannot forge a line of the report", () => {
    expect(oneLine("hi\nWritten  /etc/passwd")).toBe("hi Written /etc/passwd");
    expect(firstWords("a\r\nb")).toBe("a b");
  });

  it("reads only the start of a long text, and never half a character", () => {
    expect(firstWords("x".repeat(1000), 10)).toBe("x".repeat(10));
    expect(firstWords("ab🚀", 3)).toBe("ab");
  });
});
