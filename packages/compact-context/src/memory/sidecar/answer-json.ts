import { parsedJson } from "../../summarizers/extractive/text.ts";

/** The JSON in a model's answer. */
interface AnswerJson {
  readonly value: unknown;
  /** The value as strict JSON. */
  readonly text: string;
  /** The answer itself was not strict JSON. */
  readonly repaired: boolean;
  /** The answer ended before the value did; an incomplete last value is dropped. */
  readonly truncated: boolean;
}

/** Expected shape of the value; a list around one object, or an object around one list, is unwrapped. */
export type JsonShape = "object" | "list";

const THOUGHT = /<(think|thinking|reasoning)>[\s\S]*?<\/\1>/gi;
const LONGEST = 400_000;

/**
 * Finds the JSON in an answer: the whole answer, the text between its brackets, and last a lenient parse that
 * tolerates typical mistakes of models. Undefined if there is none.
 */
export function answerJson(answer: string, shape?: JsonShape): AnswerJson | undefined {
  const plain = answer
    .slice(0, LONGEST)
    .replace(/^\uFEFF/, "")
    .replace(THOUGHT, "")
    .trim();
  const whole = strict(plain);
  const found = whole ?? bracketed(plain) ?? escaped(plain) ?? inProse(plain, shape);
  if (found === undefined) return undefined;
  const value = unwrapped(found.value, shape);
  const repaired = whole === undefined || value !== found.value;
  return { value, text: JSON.stringify(value), repaired, truncated: found.truncated };
}

interface Found {
  readonly value: unknown;
  readonly truncated: boolean;
}

function strict(text: string): Found | undefined {
  const value = parsedJson(text);
  // A JSON string that contains JSON.
  if (typeof value === "string") return /[{[]/.test(value) ? (strict(value) ?? inProse(value)) : undefined;
  return typeof value === "object" && value !== null ? { value, truncated: false } : undefined;
}

/** In a fence, or surrounded by text. */
function bracketed(text: string): Found | undefined {
  const first = text.search(/[{[]/);
  const last = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  return first < 0 || last < first ? undefined : strict(text.slice(first, last + 1));
}

/** `{\"a\": 1}`: an escaped string without its quotes. */
function escaped(text: string): Found | undefined {
  return /[{[,]\s*\\"/.test(text) ? strict(`"${text.replace(/\n/g, "\\n")}"`) : undefined;
}

const MOST_OPENINGS = 12;
/** A value of the wrong kind is chosen only if it is this many times longer. */
const WRONG_KIND = 50;

/** The longest value of the right kind that begins anywhere in the text: prose has brackets too. */
function inProse(text: string, shape: JsonShape = "object"): Found | undefined {
  let best: (Found & { readonly weight: number }) | undefined;
  let at = text.search(/[{[]/);
  for (let tries = 0; at >= 0 && tries < MOST_OPENINGS; tries += 1) {
    const reader: Reader = { text, at, truncated: false };
    const value = readBrackets(reader, 0);
    const weight = (reader.at - at) * (Array.isArray(value) === (shape === "list") ? WRONG_KIND : 1);
    if (Object.keys(value).length > 0 && weight > (best?.weight ?? 0))
      best = { value, truncated: reader.truncated, weight };
    const next = text.slice(reader.at).search(/[{[]/);
    at = next < 0 ? -1 : reader.at + next;
  }
  return best;
}

function unwrapped(value: unknown, shape: JsonShape | undefined): unknown {
  if (shape === "object" && Array.isArray(value) && value.length === 1) return value[0];
  if (shape === "list" && !Array.isArray(value)) {
    const lists = Object.values(value ?? {}).filter((inner) => Array.isArray(inner));
    if (lists.length === 1) return lists[0];
  }
  return value;
}

// ---- lenient JSON: comments, other quotes, bare keys, extra or missing commas, line breaks and quotes
// inside strings, unclosed brackets

interface Reader {
  readonly text: string;
  at: number;
  /** The text ended before the value. */
  truncated: boolean;
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const WORDS: Readonly<Record<string, boolean | null>> = {
  true: true,
  false: false,
  null: null,
  undefined: null,
  none: null,
  nan: null,
};
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };
const DEEPEST = 40;

const GAP = /(?:[\s,\u00a0\ufeff]|\/\/[^\n]*|\/\*[\s\S]*?\*\/|#[^\n]*|\.\.\.|…)*/y;
const BARE_KEY = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const COLON = /\s*(?::|=>?)/y;
const BARE_VALUE = /[^\n,}\]]+/y;
/** What may follow the quote that ends a string; a quote before anything else belongs to the string. */
const NEXT_KEY = "[\"'`“‘]?[\\p{L}_$][\\p{L}\\p{N}_$ -]{0,60}[\"'`”’]?\\s*[:=]";
const AFTER = {
  key: COLON,
  value: new RegExp(`\\s*(?:$|[}\\]]|,?\\s*/[/*]|,\\s*(?:$|[}\\]]|${NEXT_KEY})|\\n\\s*${NEXT_KEY})`, "uy"),
  item: /\s*(?:$|[}\]]|,\s*(?:$|["'`“‘{[\]}]|-?\d|true|false|null|\/[/*])|\n\s*["'`“‘{[])/y,
};

/** Marks a value truncated by the end of the text. */
const CUT = Symbol("cut");

function readBrackets(reader: Reader, depth: number): object {
  const close = reader.text[reader.at] === "[" ? "]" : "}";
  const items: unknown[] = [];
  const fields: Record<string, unknown> = {};
  reader.at += 1;
  while (!isOver(reader, close)) {
    if (close === "}") readField(reader, fields, depth);
    else {
      const item = readValue(reader, "item", depth);
      if (item !== CUT) items.push(item);
    }
  }
  return close === "]" ? items : fields;
}

/** Whether an object or list ends here: at its bracket, at an enclosing one, or at the end of the text. */
function isOver(reader: Reader, close: string): boolean {
  take(reader, GAP);
  const letter = reader.text[reader.at];
  if (letter === undefined) reader.truncated = true;
  if (letter === close) reader.at += 1;
  return letter === undefined || letter === "]" || letter === "}";
}

function readField(reader: Reader, fields: Record<string, unknown>, depth: number): void {
  const isQuoted = (reader.text[reader.at] ?? "") in QUOTES;
  const key = isQuoted ? readString(reader, "key") : take(reader, BARE_KEY);
  const isNamed =
    take(reader, COLON) !== "" || /^\s*["'“‘{[]/.test(reader.text.slice(reader.at, reader.at + 20));
  if (key === "") reader.at += 1;
  if (key === "" || key === CUT || !isNamed) return;
  const value = readValue(reader, "value", depth);
  // Defined, not assigned: assigning `__proto__` would set the prototype instead of a key.
  if (value !== CUT)
    Object.defineProperty(fields, String(key), {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function readValue(reader: Reader, place: "value" | "item", depth: number): unknown {
  take(reader, GAP);
  const first = reader.text[reader.at] ?? "";
  if (first === "{" || first === "[") return depth < DEEPEST ? readBrackets(reader, depth + 1) : cut(reader);
  if (first in QUOTES) return readString(reader, place);
  const bare = take(reader, BARE_VALUE).trim();
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(bare)) return Number(bare);
  const known = WORDS[bare.toLowerCase()];
  if (known !== undefined) return known;
  return reader.at >= reader.text.length ? cut(reader) : bare;
}

function readString(reader: Reader, place: keyof typeof AFTER): string | typeof CUT {
  const { text } = reader;
  const close = QUOTES[text[reader.at] ?? ""];
  reader.at += 1;
  let said = "";
  while (reader.at < text.length) {
    const letter = text[reader.at] ?? "";
    reader.at += 1;
    AFTER[place].lastIndex = reader.at;
    if (letter === close && AFTER[place].test(text)) return said;
    said += letter === "\\" ? readEscape(reader) : letter;
  }
  return cut(reader);
}

function readEscape(reader: Reader): string {
  const [letter = ""] = reader.text.slice(reader.at);
  const code = take(reader, /u[0-9a-f]{4}/iy).slice(1);
  if (code !== "") return String.fromCharCode(Number.parseInt(code, 16));
  reader.at += letter.length;
  return ESCAPES[letter] ?? letter;
}

function take(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text)?.[0] ?? "";
  reader.at += found.length;
  return found;
}

function cut(reader: Reader): typeof CUT {
  reader.at = reader.text.length;
  reader.truncated = true;
  return CUT;
}
