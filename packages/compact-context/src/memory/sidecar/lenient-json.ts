/** A JSON value as it was meant, read from text that a model wrote. */
export interface LenientJson {
  readonly value: unknown;
  /** Where the value ended in the text. */
  readonly end: number;
  /** The text ended first; what was cut off in the middle is left out. */
  readonly truncated: boolean;
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["undefined", null],
  ["none", null],
  ["nan", null],
]);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };
const DEEPEST = 40;

const BLANK = /(?:[\s\u00a0\ufeff]|\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const SEPARATOR = /(?:[\s,\u00a0\ufeff]|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\.\.\.|…)*/y;
const BARE_KEY = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=[\s,}\]]|$)/y;
const BARE_VALUE = /\s*["'“‘{[]/y;
const BARE = /[^\n,}\]]+/y;
/** What may follow the quote that ends a string; a quote before anything else belongs to the text. */
const AFTER_KEY = /\s*(?::|=>?)/y;
const AFTER_VALUE =
  /\s*(?:$|[}\]]|,?\s*(?:\/\/|\/\*)|,\s*(?:$|[}\]]|["'`“‘]?[\p{L}_$][\p{L}\p{N}_$ -]{0,60}["'`”’]?\s*[:=])|\n\s*["'`“‘]?[\p{L}_$][\p{L}\p{N}_$ -]{0,60}["'`”’]?\s*[:=])/uy;
const AFTER_ITEM = /\s*(?:$|[}\]]|,\s*(?:$|["'`“‘{[\]}]|-?\d|true|false|null|\/\/|\/\*)|\n\s*["'`“‘{[])/y;

/** Stands for a value that the text's end cut off. */
const CUT = Symbol("cut");

type Place = "key" | "value" | "item";

const ENDINGS: Readonly<Record<Place, RegExp>> = { key: AFTER_KEY, value: AFTER_VALUE, item: AFTER_ITEM };

/**
 * Reads one object or list that begins at `start`: JSON as people and models write it, with comments, other quotes,
 * bare keys, commas too many or missing, line breaks and quotes inside strings, and brackets that are never closed.
 */
export function readLenientJson(text: string, start: number): LenientJson | undefined {
  const reader: Reader = { text, at: start, truncated: false };
  const value = text[start] === "{" ? readObject(reader, 0) : text[start] === "[" ? readList(reader, 0) : CUT;
  return value === CUT ? undefined : { value, end: reader.at, truncated: reader.truncated };
}

interface Reader {
  readonly text: string;
  at: number;
  truncated: boolean;
}

function readObject(reader: Reader, depth: number): unknown {
  const fields: Record<string, unknown> = {};
  reader.at += 1;
  while (depth < DEEPEST) {
    // A bracket of the list around it: this object was never closed.
    if (isOver(reader, "}", "]")) return fields;
    const key = readKey(reader);
    if (key === CUT) return fields;
    const names = take(reader, AFTER_KEY) !== "" || follows(reader, BARE_VALUE, reader.at);
    if (key === "") reader.at += 1;
    else if (names) set(fields, String(key), readValue(reader, "value", depth));
  }
  return cut(reader);
}

function readKey(reader: Reader): unknown {
  return (next(reader) ?? "") in QUOTES ? readString(reader, "key") : take(reader, BARE_KEY);
}

function readList(reader: Reader, depth: number): unknown {
  const items: unknown[] = [];
  reader.at += 1;
  while (depth < DEEPEST) {
    if (isOver(reader, "]", "}")) return items;
    const before = reader.at;
    const item = readValue(reader, "item", depth);
    if (item !== CUT) items.push(item);
    if (reader.at === before) reader.at += 1;
  }
  return cut(reader);
}

/** Whether the object or list ends here, by its own bracket, by one around it, or with the text. */
function isOver(reader: Reader, own: string, other: string): boolean {
  take(reader, SEPARATOR);
  const bracket = next(reader);
  if (bracket === undefined) reader.truncated = true;
  if (bracket === own) reader.at += 1;
  return bracket === undefined || bracket === own || bracket === other;
}

function readValue(reader: Reader, place: Place, depth: number): unknown {
  take(reader, BLANK);
  const first = next(reader);
  if (first === undefined) return cut(reader);
  if (first === "{") return readObject(reader, depth + 1);
  if (first === "[") return readList(reader, depth + 1);
  if (first in QUOTES) return readString(reader, place);
  const number = take(reader, NUMBER);
  if (number !== "") return Number(number);
  const bare = take(reader, BARE).trim();
  const known = WORDS.get(bare.toLowerCase());
  if (known !== undefined) return known;
  return reader.at >= reader.text.length ? cut(reader) : bare;
}

function readString(reader: Reader, place: Place): unknown {
  const { text } = reader;
  const close = QUOTES[next(reader) ?? ""] ?? '"';
  reader.at += 1;
  let said = "";
  while (reader.at < text.length) {
    const letter = text[reader.at] ?? "";
    if (letter === "\\") {
      said += readEscape(reader);
      continue;
    }
    reader.at += 1;
    if (letter === close && follows(reader, ENDINGS[place], reader.at)) return said;
    said += letter;
  }
  return cut(reader);
}

function readEscape(reader: Reader): string {
  const { text, at } = reader;
  const letter = text[at + 1] ?? "";
  const code = letter === "u" ? /^[0-9a-fA-F]{4}/.exec(text.slice(at + 2, at + 6))?.[0] : undefined;
  reader.at += code === undefined ? 2 : 6;
  return code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16));
}

function next({ text, at }: Reader): string | undefined {
  return text[at];
}

function take(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text)?.[0] ?? "";
  reader.at += found.length;
  return found;
}

function follows({ text }: Reader, pattern: RegExp, index: number): boolean {
  pattern.lastIndex = index;
  return pattern.test(text);
}

function cut(reader: Reader): typeof CUT {
  reader.truncated = true;
  return CUT;
}

function set(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (value === CUT) return;
  // Defined, not assigned: assigning `__proto__` would set the prototype instead of a key.
  Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
}
