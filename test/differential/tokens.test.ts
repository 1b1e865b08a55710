import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { get_encoding } from "tiktoken";
import { describe, expect, it } from "vitest";
import type { Encoding } from "../../packages/compact-context/src/tokens/bpe/encode.ts";
import { cl100kBase } from "../../packages/compact-context/src/tokens/encodings/cl100k-base.ts";
import { o200kBase } from "../../packages/compact-context/src/tokens/encodings/o200k-base.ts";
import { partOf, whole } from "../whole.ts";

// COMPACT_DIFFERENTIAL=full puts every code point into every context, sequences of 5 kinds, and runs each family 20,000 times: minutes, not seconds.
const full = process.env.COMPACT_DIFFERENTIAL === "full";
const every = full || whole;
const transcripts = fileURLToPath(new URL("../../../shared/transcripts", import.meta.url));
const transcriptsPresent = existsSync(transcripts);

/** Around each code point: case and letter neighbours, repetition, spaces, digits, apostrophes, newlines, punctuation. */
const contexts: readonly ((character: string) => string)[] = [
  (c) => `Ab${c}cD${c}${c} ${c}1${c}'s${c}\n${c}`,
  (c) => `${c}ABC${c}abc `,
  (c) => `  ${c} ${c}${c}X${c}.${c}`,
  (c) => `x'${c} '${c}\t${c}12${c}345`,
  (c) => `文${c}A${c}\r\n\n${c}/${c}`,
  (c) => `e\u0301${c}\u0301B${c}\u3000${c}`,
];

const specialTokens = [
  "<|endoftext|>",
  "<|endofprompt|>",
  "<|fim_prefix|>",
  "<|fim_middle|>",
  "<|fim_suffix|>",
  "<|im_start|>",
  "<|im_end|>",
];

const alphabets: Readonly<Record<string, readonly string[]>> = {
  "white space": [
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\u0085",
    "\ufeff",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\v",
    "\f",
    "a",
    ".",
  ],
  "contractions and case": [
    "'",
    "’",
    "s",
    "S",
    "ſ",
    "t",
    "T",
    "re",
    "RE",
    "vE",
    "ll",
    "LL",
    "d",
    "M",
    "m",
    "I",
    "x",
    " ",
    "K",
    "ǅ",
    "ß",
  ],
  "scripts and marks": [
    "é",
    "e\u0301",
    "\u0301",
    "\u0300",
    "Ж",
    "ж",
    "中",
    "あ",
    "한",
    "अ",
    "ि",
    "ع",
    "ª",
    "ʰ",
    "A",
    "a",
    " ",
    "1",
    "½",
    "٣",
    "Ⅷ",
  ],
  "emoji and joiners": [
    "👩",
    "\u200d",
    "💻",
    "🏽",
    "🇩",
    "🇪",
    "\ufe0f",
    "❤",
    "a",
    " ",
    "\n",
    "😀",
    "𝐀",
    "𝟙",
    "𐐀",
    "𐐨",
  ],
  "east of Asia": [
    ..."的是不我一有大在人了中國漢字餐饕籲龘かなカナ한국어뷁，。「」“”…Ａ１　",
    "a",
    " ",
    "\n",
  ],
  "lone surrogates": ["\ud800", "\udbff", "\udc00", "\udfff", "\ud83d", "\ude00", "a", " ", "\n", "中"],
  punctuation: [
    "/",
    "//",
    "\n",
    "\r",
    "-",
    "_",
    "=",
    "(",
    ")",
    "{",
    "}",
    "<|",
    "|>",
    "\\",
    '"',
    "'",
    " ",
    "a",
    "B",
    "0",
    "\u0000",
    "\u007f",
  ],
  digits: ["0", "1", "12", "999", "1234567", " ", ".", ",", "a", "٣", "𝟙", "½"],
  "special tokens": [...specialTokens, " ", "a", "<|", "\n"],
  runs: [
    "a".repeat(50),
    "A".repeat(70),
    " ".repeat(60),
    "=".repeat(90),
    "─".repeat(45),
    "\n".repeat(20),
    "中".repeat(40),
    "x",
    "\t",
  ],
};

/** One character of each kind that the patterns tell apart. */
const kinds = ["a", "B", "s", "'", "1", " ", "\t", "\n", "\r", "/", "(", "é", "中", "\u0301", "\u3000", "½"];

function* shortStrings(length: number): Generator<string> {
  for (let i = 0; i < kinds.length ** length; i += 1) {
    let text = "";
    for (let rest = i; text.length < length; rest = Math.floor(rest / kinds.length))
      text += kinds[rest % kinds.length];
    yield text;
  }
}

const families: Readonly<Record<string, fc.Arbitrary<string>>> = {
  "any unit": fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    maxLength: 60,
  }),
  "any code point": fc.string({ unit: "binary", maxLength: 60 }),
  "printable ASCII": fc.string({ unit: "grapheme-ascii", maxLength: 120 }),
  graphemes: fc.string({ unit: "grapheme", maxLength: 60 }),
  base64: fc.base64String({ maxLength: 200 }),
  "random letters": fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), maxLength: 200 }),
  json: fc.json(),
  ...Object.fromEntries(
    Object.entries(alphabets).map(([name, parts]) => [
      name,
      fc.array(fc.constantFrom(...parts), { maxLength: 40 }).map((list) => list.join("")),
    ]),
  ),
};

function transcriptTexts(): string[] {
  const names = readdirSync(transcripts, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => /\.(jsonl?|md|traj)$/.test(name));
  return (full ? files : partOf(files, 25)).map((name) =>
    readFileSync(join(transcripts, name), "utf8").slice(0, full ? 400_000 : 40_000),
  );
}

describe.each([o200kBase, cl100kBase])("$name against tiktoken", (encoding: Encoding) => {
  const reference = get_encoding(encoding.name as "o200k_base" | "cl100k_base");
  const expected = (text: string): number => reference.encode_ordinary(text).length;
  const differing = (texts: Iterable<string>): string[] => {
    const found: string[] = [];
    for (const text of texts) if (encoding.count(text) !== expected(text)) found.push(text);
    return found.slice(0, 5);
  };

  function* everyCodePoint(): Generator<string> {
    for (let point = 0; point < 0x30000; point += every || point < 0x800 ? 1 : 19) {
      const character = String.fromCodePoint(point);
      // Of the sampled contexts each code point sees one, in turn.
      for (const context of full
        ? contexts
        : [contexts[point % contexts.length] as (typeof contexts)[number]])
        yield context(character);
    }
  }

  it(`TOK-2 counts as tiktoken does around ${every ? "every" : "every 19th"} code point`, {
    timeout: 600_000,
  }, () => {
    expect(differing(everyCodePoint())).toEqual([]);
  });

  it("TOK-2 counts as tiktoken does: every short sequence of kinds", { timeout: 600_000 }, () => {
    for (let length = 1; length <= (full ? 5 : every ? 4 : 3); length += 1) {
      expect(differing(shortStrings(length))).toEqual([]);
    }
  });

  it("TOK-2 counts as tiktoken does: the text of every token", () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const tokens = reference.token_byte_values().map((bytes) => decoder.decode(Uint8Array.from(bytes)));
    expect(tokens.length).toBeGreaterThan(100_000);
    expect(differing(tokens)).toEqual([]);
  });

  it.each(Object.entries(families))(
    "TOK-2 counts as tiktoken does: %s",
    (_, family) => {
      fc.assert(
        fc.property(family, (text) => {
          expect(encoding.count(text)).toBe(expected(text));
        }),
        { numRuns: full ? 20_000 : every ? 500 : 100 },
      );
    },
    600_000,
  );

  it("TOK-2 counts special-token strings as plain text", () => {
    for (const token of specialTokens) {
      expect(encoding.count(token)).toBe(expected(token));
      expect(encoding.count(token)).toBeGreaterThan(1);
    }
  });

  it("TOK-2 counts a byte order mark, NEL and lone surrogates as tiktoken does", () => {
    expect(
      differing([
        "\ufeff",
        "\ufeffusing",
        "a\u0085b",
        "\u0085\u0085 x",
        "\ud800",
        "a\udc00b",
        "\ud83d\ude00\ud83d",
      ]),
    ).toEqual([]);
  });

  // tiktoken itself is quadratic on such runs, which bounds their length here.
  it.each(["a", " ", "A", "=", "─", "中", "😀", "ab", "0", "\n", " \n", "aB", "。"])(
    "TOK-2 is exact on runs of %j",
    (unit) => {
      const lengths = [
        1,
        2,
        3,
        7,
        48,
        49,
        50,
        97,
        255,
        256,
        1000,
        ...(every ? [4097, full ? 16_384 : 5000] : []),
      ];
      expect(differing(lengths.map((length) => unit.repeat(Math.ceil(length / unit.length))))).toEqual([]);
    },
    600_000,
  );

  it("TOK-2 is exact where a text is longer than what is read at a time", () => {
    const parts = [
      "word ",
      "Über",
      "文ABCdef",
      "ABC",
      "  \n",
      "12345",
      "'ll ",
      "😀",
      "…///\n",
      "\t\t",
      "\ud800",
    ];
    for (let shift = 0; shift < 12; shift += every ? 1 : 5) {
      let text = "x".repeat(shift);
      for (let i = 0; text.length < 140_000; i += 1) text += parts[(i * i + shift) % parts.length];
      expect(encoding.count(text)).toBe(expected(text));
      const boundary = `${"ok ".repeat(21_845)}${parts[shift % parts.length]}${" ".repeat(shift)}文ABCABCabc'll\n`;
      expect(encoding.count(boundary)).toBe(expected(boundary));
    }
  });

  it.skipIf(!transcriptsPresent)(
    "TOK-2 counts agent transcripts as tiktoken does",
    { timeout: 600_000 },
    () => {
      expect(differing(transcriptTexts())).toEqual([]);
    },
  );
});
