/** The JSON in a model's answer. */
export interface AnswerJson {
  readonly value: unknown;
  /** The value as strict JSON. */
  readonly text: string;
  /** The answer was not strict JSON by itself. */
  readonly repaired: boolean;
  /** The answer ended before the value did; what was cut off in the middle is left out. */
  readonly truncated: boolean;
}

/** What the value should be; a list around a single object, or an object around a single list, is then taken off. */
export type JsonShape = "object" | "list";

const THOUGHT = /<(think|thinking|reasoning)>[\s\S]*?<\/\1>/gi;
const FENCED = /(?:```|~~~)[^\n`]*\n([\s\S]*?)(?:\n[ \t]*(?:```|~~~)|$)/g;
const MOST_OPENINGS = 12;
/** How many times longer a value of the wrong kind must be to be taken. */
const WRONG_KIND = 50;
const LONGEST = 400_000;

/**
 * Finds the JSON in an answer: the whole of it, what stands in a fence, an object within prose, and last a reading that
 * forgives what models do wrong. Undefined where there is none.
 */
export function answerJson(answer: string, shape?: JsonShape): AnswerJson | undefined {
  const plain = answer
    .slice(0, LONGEST)
    .replace(/^\uFEFF/, "")
    .replace(THOUGHT, "")
    .trim();
  const whole = strict(plain);
  if (whole !== undefined) return shaped(whole.value, { shape, repaired: false, truncated: false });
  for (const text of [...fenced(plain), plain]) {
    const found = strict(text) ?? escaped(text) ?? inProse(text, shape);
    if (found !== undefined)
      return shaped(found.value, { shape, repaired: true, truncated: found.truncated });
  }
  return undefined;
}

interface Found {
  readonly value: unknown;
  readonly truncated: boolean;
}

function strict(text: string): Found | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // JSON as a text in JSON.
    if (typeof value === "string") return /[{[]/.test(value) ? (strict(value) ?? inProse(value)) : undefined;
    return typeof value === "object" && value !== null ? { value, truncated: false } : undefined;
  } catch {
    return undefined;
  }
}

function fenced(text: string): string[] {
  return [...text.matchAll(FENCED)]
    .map(([, inner]) => (inner ?? "").trim())
    .filter((inner) => /^[{["]/.test(inner));
}

/** Of all values that begin somewhere in the text the longest of the right kind: prose has brackets too. */
function inProse(text: string, shape: JsonShape = "object"): Found | undefined {
  let best: (Found & { readonly weight: number }) | undefined;
  let at = text.search(/[{[]/);
  for (let tries = 0; at >= 0 && tries < MOST_OPENINGS; tries += 1) {
    const read = readLenientJson(text, at);
    const length = read === undefined ? 0 : read.end - at;
    const fits = Array.isArray(read?.value) === (shape === "list");
    const weight = fits ? length * WRONG_KIND : length;
    if (read !== undefined && !isEmpty(read.value) && weight > (best?.weight ?? 0))
      best = { ...read, weight };
    const next = text.slice(at + Math.max(1, length)).search(/[{[]/);
    at = next < 0 ? -1 : at + Math.max(1, length) + next;
  }
  return best;
}

/** `{\"a\": 1}`: the inside of a text without its quotes. */
function escaped(text: string): Found | undefined {
  return /[{[,]\s*\\"/.test(text) ? strict(`"${text.replace(/\n/g, "\\n")}"`) : undefined;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shaped(
  value: unknown,
  { shape, ...how }: { shape: JsonShape | undefined; repaired: boolean; truncated: boolean },
): AnswerJson {
  const inner = unwrapped(value, shape);
  return { value: inner, text: JSON.stringify(inner), ...how, repaired: how.repaired || inner !== value };
}

function unwrapped(value: unknown, shape: JsonShape | undefined): unknown {
  if (shape === "object" && Array.isArray(value) && value.length === 1) return value[0];
  if (shape === "list" && !Array.isArray(value)) {
    const lists = Object.values(value ?? {}).filter((inner) => Array.isArray(inner));
    if (lists.length === 1) return lists[0];
  }
  return value;
}

/** A JSON value as it was meant, read from text that a model wrote. */
interface LenientJson {
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
function readLenientJson(text: string, start: number): LenientJson | undefined {
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
