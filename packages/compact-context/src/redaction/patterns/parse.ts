import type { CharacterTest, PatternNode } from "./program.ts";

interface Reader {
  readonly source: string;
  readonly flags: string;
  at: number;
}

const ASSERTIONS = /\^|\$|\\b|\\B/y;
const CLASS = /\[(?:\\[\s\S]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[\s\S])/y;
const COUNT = /\{(\d+)(?:(,)(\d+)?)?\}/y;
const GROUP = /\((?:\?:|\?<(?![=!])[^>]*>)?/y;
const UNLIMITED = Number.POSITIVE_INFINITY;

/** True for flags by which a character outside the first plane is one character and not two halves. */
export function readsCodePoints(flags: string): boolean {
  return /[uv]/.test(flags);
}

/**
 * A JavaScript pattern that V8 accepts, as a tree. Throws `RangeError` for what cannot be matched in linear time:
 * lookahead, lookbehind and references to groups.
 */
export function parsePattern(source: string, flags: string): PatternNode {
  const reader: Reader = { source, flags, at: 0 };
  const node = readEither(reader);
  if (reader.at < source.length)
    throw new RangeError(`it is not understood from character ${reader.at + 1} on`);
  return node;
}

function readEither(reader: Reader): PatternNode {
  const branches = [readSequence(reader)];
  while (reader.source[reader.at] === "|") {
    reader.at += 1;
    branches.push(readSequence(reader));
  }
  return branches.length === 1 && branches[0] !== undefined ? branches[0] : { type: "either", branches };
}

function readSequence(reader: Reader): PatternNode {
  const items: PatternNode[] = [];
  for (;;) {
    const next = reader.source[reader.at];
    if (next === undefined || next === "|" || next === ")") return { type: "sequence", items };
    items.push(readRepeat(reader));
  }
}

function readRepeat(reader: Reader): PatternNode {
  const item = readItem(reader);
  const counted = take(reader, COUNT);
  const sign = counted === undefined ? (/[*+?]/.exec(reader.source[reader.at] ?? "")?.[0] ?? "") : "";
  if (counted === undefined && sign === "") return item;
  reader.at += sign.length;
  const lazy = reader.source[reader.at] === "?";
  if (lazy) reader.at += 1;
  const [least, most] = counted === undefined ? bounds(sign) : countBounds(counted);
  return { type: "repeat", item, least, most, lazy };
}

function bounds(sign: string): [number, number] {
  return [sign === "+" ? 1 : 0, sign === "?" ? 1 : UNLIMITED];
}

function countBounds(counted: readonly (string | undefined)[]): [number, number] {
  const least = Number(counted[1]);
  const open = counted[2] !== undefined;
  return [least, counted[3] === undefined ? (open ? UNLIMITED : least) : Number(counted[3])];
}

function readItem(reader: Reader): PatternNode {
  const assertion = take(reader, ASSERTIONS)?.[0];
  if (assertion !== undefined) return { type: "assert", holds: assertionOf(assertion, reader.flags) };
  if (reader.source[reader.at] === "(") return readGroup(reader);
  const atom = (take(reader, CLASS) ?? take(reader, ESCAPE))?.[0] ?? takeCharacter(reader);
  if (/^\\(?:[1-9]|k<)/.test(atom) || (atom === "\\k" && reader.source[reader.at] === "<"))
    throw new RangeError("it refers to a group (\\1)");
  return { type: "char", test: testOf(atom, reader.flags) };
}

function takeCharacter(reader: Reader): string {
  const character = readsCodePoints(reader.flags)
    ? String.fromCodePoint(reader.source.codePointAt(reader.at) ?? 0)
    : reader.source.charAt(reader.at);
  reader.at += character.length;
  return character;
}

function readGroup(reader: Reader): PatternNode {
  const opening = take(reader, GROUP)?.[0] ?? "(";
  if (opening === "(" && reader.source[reader.at] === "?")
    throw new RangeError("it looks ahead or behind: (?= (?! (?<= (?<!");
  const inner = readEither(reader);
  reader.at += 1;
  return inner;
}

/** Whether a character fits an atom is asked of V8 itself, once for each character. */
function testOf(atom: string, flags: string): CharacterTest {
  const source = /^[[\\.]/.test(atom) ? atom : atom.replace(/[$()*+?.{}|^/\]]/, "\\$&");
  const pattern = new RegExp(`^(?:${source})$`, flags.replace(/[gym]/g, ""));
  const known = new Map<number, boolean>();
  return (code) => {
    let fits = known.get(code);
    if (fits === undefined) {
      fits = pattern.test(String.fromCodePoint(code));
      known.set(code, fits);
    }
    return fits;
  };
}

function assertionOf(sign: string, flags: string): (text: string, at: number) => boolean {
  const lines = flags.includes("m");
  if (sign === "^") return (text, at) => at === 0 || (lines && isLineEnd(text.charCodeAt(at - 1)));
  if (sign === "$") return (text, at) => at === text.length || (lines && isLineEnd(text.charCodeAt(at)));
  const wanted = sign === "\\b";
  return (text, at) => (isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))) === wanted;
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

function isWord(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
  );
}

function take(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.source);
  if (match === null) return undefined;
  reader.at += match[0].length;
  return match;
}
