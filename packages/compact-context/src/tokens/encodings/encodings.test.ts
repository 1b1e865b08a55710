import { describe, expect, it } from "vitest";
import { whole } from "../../../../../test/whole.ts";
import { createEncoding, type Encoding } from "../bpe/encode.ts";
import { splitO200k } from "../bpe/split.ts";
import { readTables, storedTables, unpackVocabulary, type Vocabulary } from "../bpe/vocabulary.ts";
import { cl100kBase } from "./cl100k-base.ts";
import { cl100kVocabulary, o200kVocabulary } from "./embedded.ts";
import { o200kBase } from "./o200k-base.ts";
import { checksum, pairs } from "./o200k-base.vocabulary.generated.ts";

/** Milliseconds of processor time, the least of four runs: compiling and collecting garbage count as well. */
function cost(run: () => void): number {
  const times = [1, 2, 3, 4].map(() => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

function randomText(alphabet: string, length: number): string {
  let state = 1;
  let text = "";
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += alphabet[Math.floor((state / 2 ** 32) * alphabet.length)];
  }
  return text;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const BASE64 = `${LETTERS}${LETTERS.toUpperCase()}0123456789+/`;
const runs: Readonly<Record<string, (length: number) => string>> = {
  "one letter": (length) => "a".repeat(length),
  spaces: (length) => " ".repeat(length),
  "random letters": (length) => randomText(LETTERS, length),
  "one CJK character": (length) => "中".repeat(length),
  "one emoji": (length) => "😀".repeat(length / 2),
  "equals signs": (length) => "=".repeat(length),
  base64: (length) => randomText(BASE64, length),
  digits: (length) => randomText("0123456789", length),
  "lines of spaces": (length) => " \n".repeat(length / 2),
  "capitals behind an uncased letter": (length) => `文${"A".repeat(length - 1)}`,
};

describe.each([o200kBase, cl100kBase])("$name", (encoding: Encoding) => {
  it("TOK-2 counts known texts", () => {
    expect(encoding.count("")).toBe(0);
    expect(encoding.count("a")).toBe(1);
    expect(encoding.count("hello world")).toBe(2);
    expect(encoding.count("\ufeff")).toBe(1);
  });

  it.each(Object.entries(runs))("takes time in proportion to a text without a break: %s", (_, make) => {
    const small = make(1 << 15);
    const large = make(1 << 18);
    const smallCost = cost(() => encoding.count(small));
    // Eight times the text; a quadratic count would take 64 times as long.
    expect(cost(() => encoding.count(large))).toBeLessThan(Math.max(smallCost, 1) * 28);
  });

  const LONG = whole ? 1 << 20 : 1 << 18;

  it.each(Object.entries(runs))(`counts ${LONG / 1024} KB without a break: %s`, (_, make) => {
    const times = LONG >> 16;
    const ratio = encoding.count(make(LONG)) / encoding.count(make(1 << 16));
    expect(ratio).toBeGreaterThan(times * 0.97);
    expect(ratio).toBeLessThan(times * 1.03);
  });

  it("counts a run beyond the longest window in slices, off by a few tokens at most", () => {
    const slice = encoding.count("ab".repeat(1 << 19));
    expect(Math.abs(encoding.count("ab".repeat(1 << 20)) - 2 * slice)).toBeLessThan(8);
  });
});

describe("a vocabulary that is not what was packed", () => {
  const spoiled: Readonly<Record<string, string>> = {
    "one digit changed": `${pairs.slice(0, 600)}${pairs[600] === "A" ? "B" : "A"}${pairs.slice(601)}`,
    "cut off": pairs.slice(0, -6),
    empty: "",
  };

  it.each(Object.entries(spoiled))("throws at every count: %s", (_, text) => {
    const encoding = createEncoding("spoiled", () => unpackVocabulary({ pairs: text, checksum }), splitO200k);
    expect(() => encoding.count("text")).toThrow(/corrupt/);
    expect(() => encoding.count("text")).toThrow(/corrupt/);
  });
});

describe.each([
  { name: "o200k_base", load: o200kVocabulary },
  { name: "cl100k_base", load: cl100kVocabulary },
])("the stored tables of $name", ({ load }) => {
  const unpacked = load();
  const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array =>
    new Uint8Array(buffer, byteOffset, byteLength);

  it("are read as they were unpacked", () => {
    const read = readTables(storedTables(unpacked));
    for (const [name, table] of Object.entries(unpacked))
      expect(Buffer.compare(bytesOf(read[name as keyof Vocabulary]), bytesOf(table)), name).toBe(0);
  });

  it("are views of what was stored, not copies", () => {
    const stored = storedTables(unpacked);
    for (const [name, table] of Object.entries(readTables(stored)))
      expect(table.buffer, name).toBe(stored.buffer);
  });

  it("are refused where the file was cut off", () => {
    const stored = storedTables(unpacked);
    expect(() => readTables(stored.subarray(0, -1))).toThrow(/corrupt/);
  });
});
