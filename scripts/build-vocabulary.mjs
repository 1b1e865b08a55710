// Writes the vocabularies and the Unicode tables that exact token counting needs, all taken from the development
// dependency `tiktoken`, into src/tokens of the library: encodings/*.vocabulary.generated.ts and
// bpe/character-classes.generated.ts. Files that already come from this script and this tiktoken are left alone.
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);
const version = JSON.parse(
  readFileSync(join(root, "node_modules", "tiktoken", "package.json"), "utf8"),
).version;
const self = createHash("sha256")
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .digest("hex");
const header = `// Written by scripts/build-vocabulary.mjs (${self.slice(0, 16)}) from tiktoken ${version} (MIT, OpenAI; see THIRD_PARTY_NOTICES.md).`;

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function upToDate(file) {
  if (!existsSync(file)) return false;
  const start = Buffer.alloc(Buffer.byteLength(header));
  const handle = openSync(file, "r");
  readSync(handle, start, 0, start.length, 0);
  closeSync(handle);
  return start.toString() === header;
}

/** FNV-1a over char codes, 32 bits; unpacking computes the same. */
function checksum(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Token bytes (latin1) by rank, from lines of "! firstRank base64 base64 …". */
function readTokens(encoding) {
  const { bpe_ranks: text } = require(`tiktoken/encoders/${encoding}.json`);
  const tokens = [];
  for (const line of text.split("\n")) {
    const [, first, ...encoded] = line.split(" ");
    encoded.forEach((token, index) => {
      tokens[Number(first) + index] = Buffer.from(token, "base64").toString("latin1");
    });
  }
  return tokens;
}

/** What is left of a token's bytes after every merge of a lower rank: [left, right] unless the vocabulary is no true BPE. */
function mergeBelow(bytes, limit, rankOf) {
  const parts = [...bytes];
  for (;;) {
    let best = limit;
    let at = -1;
    for (let i = 0; i + 1 < parts.length; i += 1) {
      const rank = rankOf.get(parts[i] + parts[i + 1]);
      if (rank !== undefined && rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return parts;
    parts.splice(at, 2, parts[at] + parts[at + 1]);
  }
}

/**
 * Six base64 digits for each token above the 256 single bytes: three for the left part, three for the right one.
 * A part is a byte's value below 256, a rank from 256 on. That every token falls into exactly two parts of lower rank is
 * what makes counting by pairs equal to tiktoken's lookup of the joined bytes; a vocabulary where it does not is refused.
 */
function packPairs(encoding) {
  const tokens = readTokens(encoding);
  const rankOf = new Map(tokens.map((token, rank) => [token, rank]));
  if (rankOf.size !== tokens.length || tokens.slice(0, 256).some((token) => token.length !== 1)) {
    throw new Error(`${encoding}: ranks have gaps, or the first 256 are not the single bytes`);
  }
  const digits = (id) => BASE64[id >> 12] + BASE64[(id >> 6) & 63] + BASE64[id & 63];
  const identity = (part) => (part.length === 1 ? part.charCodeAt(0) : rankOf.get(part));
  const packed = [];
  for (let rank = 256; rank < tokens.length; rank += 1) {
    const parts = mergeBelow(tokens[rank], rank, rankOf);
    if (parts.length !== 2) throw new Error(`${encoding}: token ${rank} is not a merge of two lower ones`);
    packed.push(digits(identity(parts[0])) + digits(identity(parts[1])));
  }
  return packed.join("");
}

/** Code point ranges of one class as tiktoken's own regex engine sees them: "gap length" pairs in base 36. */
function rangesOf(pattern, everything) {
  const { Tiktoken } = require("tiktoken/lite");
  const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.from([byte]).toString("base64"));
  // Only what the pattern matches is encoded, and with single bytes for a vocabulary the tokens are the matched bytes.
  const probe = new Tiktoken(`! 0 ${bytes.join(" ")}`, {}, pattern);
  const members = Buffer.from(probe.encode_ordinary(everything)).toString("utf8");
  probe.free();
  const numbers = [];
  let end = 0;
  for (const character of members) {
    const point = character.codePointAt(0);
    if (point === end && numbers.length > 0) numbers[numbers.length - 1] += 1;
    else numbers.push(point - end, 1);
    end = point + 1;
  }
  return numbers.map((number) => number.toString(36)).join(" ");
}

function characterClasses() {
  const points = [];
  for (let point = 0; point < 0x110000; point += 1) {
    if (point < 0xd800 || point > 0xdfff) points.push(String.fromCodePoint(point));
  }
  const everything = points.join("");
  const classes = {
    uppercase: "[\\p{Lu}\\p{Lt}]",
    lowercase: "\\p{Ll}",
    otherLetter: "[\\p{Lm}\\p{Lo}]",
    mark: "\\p{M}",
    number: "\\p{N}",
    space: "\\s",
  };
  return Object.entries(classes)
    .map(([name, pattern]) => `export const ${name}: string =\n  "${rangesOf(pattern, everything)}";\n`)
    .join("");
}

function write(path, content) {
  const file = join(root, ...path.split("/"));
  if (upToDate(file)) return;
  writeFileSync(file, `${header}\n${content()}`);
}

for (const [encoding, name] of [
  ["cl100k_base", "cl100k-base"],
  ["o200k_base", "o200k-base"],
]) {
  write(`packages/compact-context/src/tokens/encodings/${name}.vocabulary.generated.ts`, () => {
    const pairs = packPairs(encoding);
    return `export const pairs: string =\n  "${pairs}";\nexport const checksum: number = ${checksum(pairs)};\n`;
  });
}
write("packages/compact-context/src/tokens/bpe/character-classes.generated.ts", characterClasses);
