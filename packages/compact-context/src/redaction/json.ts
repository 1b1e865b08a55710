import { createLruMap } from "../errors.ts";
import { type Finder, REDACTED } from "./finding.ts";
import { isHintingName, isPasswordName, isSecretName } from "./names.ts";
import { isPair } from "./places.ts";
import { withoutSplitSecrets } from "./private-keys.ts";
import { isGiven, isHintedAt, isQuotedSecret } from "./values.ts";

/** Fields that name another field's value: `{ "name": "DB_PASSWORD", "value": "…" }`, `ParameterKey`. */
const NAMES_ANOTHER = /^(?:\w{0,12}(?:Name|Key)|name|key)$/;
const isNamedValue = (key: string): boolean => key.endsWith("alue") && /^(?:\w{0,12}Value|value)$/.test(key);
const SCHEME = /^(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+(?=\S+$)/i;

type Meaning = "cookie" | "secret" | "hint" | "nothing";
/** Cached meanings of field names: a session has few names, repeated often. */
const meanings = createLruMap<Meaning>(1024);

function meaningOf(name: string): Meaning {
  const known = meanings.get(name);
  if (known !== undefined) return known;
  const isNamed = isSecretName(name) ? "secret" : isHintingName(name) ? "hint" : "nothing";
  const meaning = /^(?:set-)?cookie$/i.test(name) ? "cookie" : isNamed;
  meanings.set(name, meaning);
  return meaning;
}

/** Redacts a string by the name of its field, or the flag before it; undefined if that names no secret. */
function redactByName(value: string, name: string | undefined): string | undefined {
  if (name === undefined || value === "") return undefined;
  if (/key_?id$/i.test(name) && /^A[KS]IA[A-Z\d]{16}$/.test(value)) return value;
  const meaning = meaningOf(name);
  if (meaning === "nothing") return undefined;
  if (meaning === "cookie" && isPair(value)) return REDACTED;
  const scheme = SCHEME.exec(value)?.[0] ?? "";
  const bare = value.slice(scheme.length);
  const isSecret =
    meaning === "secret"
      ? isQuotedSecret(bare, name)
      : /^[\w.+/=~-]{12,4096}$/.test(bare) && isHintedAt(bare, name);
  return isSecret ? scheme + REDACTED : undefined;
}

/** A flag such as `--password`, which names the next word. */
const FLAG = /^--?([a-z][\w-]{1,60})$/i;

/** True for the second item of a pair whose first item names a secret, as in `["x-api-key", "…"]`. */
function isPaired(word: unknown, value: unknown): boolean {
  return typeof word === "string" && typeof value === "string" && isSecretName(word) && isGiven(value, word);
}

/** Replaces a value that is nested too deeply to be searched. */
const TOO_DEEP = "<REDACTED:too-deep>";
const DEEPEST = 500;
/** Fields that hold a secret if another field is present: JSON Web Keys (RFC 7518), Terraform's values. */
const PARTS_BESIDE: ReadonlyMap<string, readonly string[]> = new Map([
  ["kty", ["d", "p", "q", "dp", "dq", "qi", "k"]],
  ["bcrypt_hash", ["result"]],
]);

/** How strings are redacted by content, and a callback for those redacted by name. */
interface JsonReading {
  readonly redactText: (text: string) => string;
  readonly onNamed?: (() => void) | undefined;
}

interface Walk extends JsonReading {
  /** Finds secrets split across two adjacent array items; undefined: they are not searched. */
  readonly find: Finder | undefined;
  /** The ancestors of the current value. */
  readonly above: Set<object>;
  readonly deepest: number;
  /** What replaces parts of a JSON text, in order. */
  readonly edits: { readonly scalar: Scalar; readonly shown: unknown }[];
}

/** A string or number in a JSON text. */
class Scalar {
  readonly value: string | number;
  readonly start: number;
  readonly end: number;

  constructor(text: string, start: number, end: number) {
    this.value = JSON.parse(text.slice(start, end)) as string | number;
    this.start = start;
    this.end = end;
  }
}

/** The fields of an object, in order; in a JSON text, with those of the same name. */
type Entries = (readonly [key: unknown, value: unknown])[];

/** An object in a JSON text. */
class Fields {
  readonly entries: Entries = [];
  #key: Scalar | undefined;

  /** Adds a key, then its value. */
  push(node: unknown): void {
    if (this.#key !== undefined) this.entries.push([this.#key, node]);
    this.#key = this.#key === undefined ? (node as Scalar) : undefined;
  }
}

const plainOf = (value: unknown): unknown => (value instanceof Scalar ? value.value : value);

/**
 * Redacts strings by field name and by content. Values without a secret are returned as the same object. A
 * circular reference becomes `<CIRCULAR>`; `toJSON` is called. Values nested deeper than `deepest` become
 * `TOO_DEEP`.
 */
export function redactJson(
  value: unknown,
  redactText: (text: string) => string,
  { deepest = DEEPEST, find }: { readonly deepest?: number; readonly find?: Finder } = {},
): unknown {
  return walkValue(value, undefined, {
    redactText,
    onNamed: undefined,
    find,
    above: new Set(),
    deepest,
    edits: [],
  });
}

/**
 * Redacts the strings in JSON text by name and by content; everything else, including numbers and whitespace,
 * is unchanged. Undefined if the text is not a JSON object or array, or is nested too deeply.
 */
export function redactJsonText(text: string, reading: JsonReading): string | undefined {
  const tree = isJson(text) ? readTree(text) : undefined;
  if (tree === undefined) return undefined;
  const { redactText, onNamed } = reading;
  const walk: Walk = { redactText, onNamed, find: undefined, above: new Set(), deepest: DEEPEST, edits: [] };
  walkValue(tree, undefined, walk);
  const pieces: string[] = [];
  let copied = 0;
  for (const { scalar, shown } of walk.edits) {
    pieces.push(text.slice(copied, scalar.start), JSON.stringify(shown));
    copied = scalar.end;
  }
  return copied === 0 ? text : pieces.join("") + text.slice(copied);
}

function walkValue(value: unknown, name: string | undefined, walk: Walk): unknown {
  const plain = plainOf(value);
  if (typeof plain === "string") {
    const named = redactByName(plain, name);
    return named === undefined ? changed(value, walk.redactText(plain), walk) : taken(value, named, walk);
  }
  if (typeof plain === "number") return isNumericPassword(plain, name) ? taken(value, REDACTED, walk) : value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (value instanceof Fields) return walkFields(value.entries, name, walk);
  if (walk.above.has(value)) return "<CIRCULAR>";
  if (walk.above.size >= walk.deepest) return TOO_DEEP;
  walk.above.add(value);
  const walked = walkObject(value, name, walk);
  walk.above.delete(value);
  return walked;
}

/** Redacts a key, a string or a number by its name. */
function taken(value: unknown, shown: string, walk: Walk): unknown {
  if (shown !== plainOf(value)) walk.onNamed?.();
  return changed(value, shown, walk);
}

/** The value after redaction; in a JSON text the change is noted. */
function changed(value: unknown, shown: string, walk: Walk): unknown {
  if (!(value instanceof Scalar)) return shown;
  if (shown !== value.value) walk.edits.push({ scalar: value, shown });
  return value;
}

/** True for `"password": 12345678`; numbers with other names are counts. */
function isNumericPassword(value: number, name: string | undefined): boolean {
  return Math.abs(value) >= 1000 && name !== undefined && isSecretName(name) && isPasswordName(name);
}

function walkObject(value: object, name: string | undefined, walk: Walk): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = value.toJSON(name ?? "");
    const walked = walkValue(plain, name, walk);
    return walked === plain ? value : walked;
  }
  if (Array.isArray(value)) return walkArray(value, name, walk);
  const before = Object.entries(value);
  const after = walkFields(before, name, walk);
  if (after.every(([key, item], index) => key === before[index]?.[0] && Object.is(item, before[index]?.[1])))
    return value;
  const fields = new Map<string, unknown>();
  for (const [key, item] of after) fields.set(freeName(key as string, fields), item);
  return Object.fromEntries(fields);
}

function walkArray(value: readonly unknown[], name: string | undefined, walk: Walk): unknown {
  const whole = walk.find === undefined ? value : withoutSplitSecrets(value, walk.find);
  const items = whole.map((item, index) => {
    const before = plainOf(whole[index - 1]);
    if (isPaired(before, plainOf(item))) return taken(item, REDACTED, walk);
    const flag = typeof before === "string" ? FLAG.exec(before)?.[1] : undefined;
    return walkValue(item, flag ?? name, walk);
  });
  return items.every((item, index) => Object.is(item, value[index])) ? value : items;
}

function walkFields(entries: Entries, name: string | undefined, walk: Walk): Entries {
  const keys = entries.map(([key]) => plainOf(key) as string);
  const given = keys.some(isNamedValue) ? nameGiven(entries) : undefined;
  const parts = keys.flatMap((key) => PARTS_BESIDE.get(key) ?? []);
  return entries.map(([key, value], index) => {
    const own = keys[index] as string;
    const shownKey = changed(key, walk.redactText(own), walk);
    if (parts.includes(own) && typeof plainOf(value) === "string")
      return [shownKey, taken(value, REDACTED, walk)];
    return [shownKey, walkValue(value, isNamedValue(own) ? (given ?? name ?? own) : own, walk)];
  });
}

/** The name that `{ "name": "DB_PASSWORD", "value": "…" }` gives its value, the first that means something. */
function nameGiven(entries: Entries): string | undefined {
  const names = entries
    .filter(([key]) => NAMES_ANOTHER.test(plainOf(key) as string))
    .map(([, value]) => plainOf(value))
    .filter((name) => typeof name === "string");
  return names.find((name) => meaningOf(name) !== "nothing") ?? names[0];
}

/** A unique field name, so that two redacted names do not collide. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}#${number}`;
  return free;
}

const LONGEST_LINE_START = 200;

/** True for text whose lines may each be JSON, such as a log. */
export function mayHoldJsonLines(text: string): boolean {
  return text.includes("\n") && /^[ \t]*[{[]["{[]/m.test(text);
}

function isJson(text: string): boolean {
  const start = text.slice(0, LONGEST_LINE_START).trimStart();
  if (!/^[{[]/.test(start) || !/[}\]]\s*$/.test(text.slice(-LONGEST_LINE_START))) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The arrays, `Fields` and `Scalar`s of a valid JSON text; undefined if it is nested too deeply. */
function readTree(text: string): unknown {
  const root: unknown[] = [];
  const open: (unknown[] | Fields)[] = [root];
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "}" || char === "]") open.pop();
    const node = nodeAt(text, at, char);
    if (node === undefined) continue;
    if (node instanceof Scalar) at = node.end - 1;
    open.at(-1)?.push(node);
    if (node instanceof Fields || Array.isArray(node)) open.push(node);
    if (open.length > DEEPEST) return undefined;
  }
  return root[0];
}

/** The value that begins at a character; null for `true` and its like, undefined where none begins. */
function nodeAt(text: string, at: number, char: string): Scalar | Fields | unknown[] | null | undefined {
  if (char === '"') return new Scalar(text, at, endOfString(text, at));
  if (char === "{") return new Fields();
  if (char === "[") return [];
  if (char === "t" || char === "f" || char === "n") return null;
  if (char !== "-" && !(char >= "0" && char <= "9")) return undefined;
  NUMBER.lastIndex = at;
  return new Scalar(text, at, at + (NUMBER.exec(text)?.[0].length ?? 1));
}

const NUMBER = /[-+.\deE]+/y;

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}
