import { createLruMap } from "../errors.ts";
import { type Finder, REDACTED } from "./finding.ts";
import { isHintingName, isPasswordName, isSecretName } from "./lexicon.ts";
import { isPair } from "./places.ts";
import { withoutSplitSecrets } from "./private-keys.ts";
import { isGiven, isHintedAt, isQuotedSecret } from "./values.ts";

/** Fields that name another field's value: `{ "name": "DB_PASSWORD", "value": "…" }`, `ParameterKey`. */
const NAMES_ANOTHER = /^(?:\w{0,12}(?:Name|Key)|name|key)$/;
const isNamedValue = (key: string): boolean => key.endsWith("alue") && /^(?:\w{0,12}Value|value)$/.test(key);
const SCHEME = /^(?:bearer|basic|token|digest|apikey|negotiate)[ \t]+(?=\S+$)/i;

/** A string in structured data and its name. */
interface NamedString {
  readonly value: string;
  /** The field that holds it, or the preceding flag (`--password`) or name. */
  readonly name: string | undefined;
}

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

/** Redacts a string by its field's name; undefined if the name does not identify a secret. */
function redactByName({ value, name }: NamedString): string | undefined {
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

/** The name that a flag such as `--password` gives to the next word; undefined for other words. */
function flagName(word: string | undefined): string | undefined {
  return word === undefined ? undefined : /^--?([a-z][\w-]{1,60})$/i.exec(word)?.[1];
}

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
const MAY_BE_PART = new Set([...PARTS_BESIDE.values()].flat());

interface Walk {
  readonly redactText: (text: string) => string;
  readonly find: Finder | undefined;
  /** The ancestors of the current value. */
  readonly above: Set<object>;
  readonly deepest: number;
}

/** Options of a walk. */
interface WalkOptions {
  readonly deepest?: number;
  /** Finds secrets split across two adjacent array items. Default: not searched. */
  readonly find?: Finder;
}

/**
 * Redacts strings by field name and by content. Values without a secret are returned as the same object. A
 * circular reference becomes `<CIRCULAR>`; `toJSON` is called. Values nested deeper than `deepest` become
 * `TOO_DEEP`.
 */
export function redactJson(
  value: unknown,
  redactText: (text: string) => string,
  { deepest = DEEPEST, find }: WalkOptions = {},
): unknown {
  return walkValue(value, undefined, { redactText, find, above: new Set(), deepest });
}

function walkValue(value: unknown, name: string | undefined, walk: Walk): unknown {
  if (typeof value === "string") return redactByName({ value, name }) ?? walk.redactText(value);
  if (typeof value === "number") return isNumericPassword(value, name) ? REDACTED : value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (walk.above.has(value)) return "<CIRCULAR>";
  if (walk.above.size >= walk.deepest) return TOO_DEEP;
  walk.above.add(value);
  const walked = walkObject(value, name, walk);
  walk.above.delete(value);
  return walked;
}

/** True for `"password": 12345678`; numbers with other names are counts. */
function isNumericPassword(value: number, name: string | undefined): boolean {
  return name !== undefined && isSecretName(name) && isPasswordName(name) && Math.abs(value) >= 1000;
}

function walkObject(value: object, name: string | undefined, walk: Walk): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = value.toJSON(name ?? "");
    const walked = walkValue(plain, name, walk);
    return walked === plain ? value : walked;
  }
  if (Array.isArray(value)) return walkArray(value, name, walk);
  return walkFields(value, name, walk);
}

function walkArray(value: readonly unknown[], name: string | undefined, walk: Walk): unknown {
  const whole = walk.find === undefined ? value : withoutSplitSecrets(value, walk.find);
  const items = whole.map((item, index) => {
    const before: unknown = whole[index - 1];
    if (isPaired(before, item)) return REDACTED;
    return walkValue(item, (typeof before === "string" ? flagName(before) : undefined) ?? name, walk);
  });
  return items.every((item, index) => Object.is(item, value[index])) ? value : items;
}

function walkFields(value: object, name: string | undefined, walk: Walk): unknown {
  const fields = new Map<string, unknown>();
  let changed = false;
  const given = Object.keys(value).some((key) => isNamedValue(key)) ? nameGiven(value) : undefined;
  const parts = [...PARTS_BESIDE].flatMap(([mark, own]) => (mark in value ? own : []));
  for (const [key, before] of Object.entries(value)) {
    const after =
      parts.includes(key) && typeof before === "string"
        ? REDACTED
        : walkValue(before, isNamedValue(key) ? (given ?? name ?? key) : key, walk);
    const shownKey = freeName(walk.redactText(key), fields);
    changed ||= after !== before || shownKey !== key;
    fields.set(shownKey, after);
  }
  return changed ? Object.fromEntries(fields) : value;
}

/** The name that `{ "name": "DB_PASSWORD", "value": "…" }` gives its value. */
function nameGiven(value: object): string | undefined {
  const name: unknown = Object.entries(value).find(([key]) => NAMES_ANOTHER.test(key))?.[1];
  return typeof name === "string" ? name : undefined;
}

/** A unique field name, so that two redacted names do not collide. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}#${number}`;
  return free;
}

/** An open object or array during reading. */
interface Frame {
  readonly array: boolean;
  /** The name of its items: that of the field that holds the array. */
  readonly name: string | undefined;
  key: string | undefined;
  /** The next string is a field's name. */
  awaitsKey: boolean;
  /** In an array: the previous string. In an object: the value of its `name` field. */
  before: string | undefined;
  /** Fields that hold a secret because another field is present. */
  parts: readonly string[];
  /** Strings that are secrets only if another field of the object identifies them. */
  held: Held[] | undefined;
}

interface Held {
  readonly start: number;
  readonly end: number;
  readonly key: string;
  readonly value: string;
}

/** A replacement for a part of the text. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

const LONGEST_LINE_START = 200;
const [QUOTE, MINUS, ZERO, NINE] = [34, 45, 48, 57] as const;
const SCALAR = /[^\s,\]}]+/y;

/** How strings are redacted by content, and a callback for those redacted by name. */
interface JsonReading {
  readonly redactText: (text: string) => string;
  readonly onNamed?: () => void;
}

/**
 * Redacts the strings in JSON text by name and by content; everything else, including numbers and whitespace,
 * is unchanged. Undefined if the text is not a JSON object or array.
 */
export function redactJsonText(text: string, reading: JsonReading): string | undefined {
  if (!isJson(text)) return undefined;
  const edits: Edit[] = [];
  const frames: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const scalar = scalarAt(text, at, frames.at(-1), reading);
    if (scalar === undefined) {
      const closed = moveOn(text[at], frames);
      if (closed?.held !== undefined) addLateEdits(edits, closed, reading);
      continue;
    }
    if (scalar.shown !== undefined) edits.push({ start: at, end: scalar.end, shown: scalar.shown });
    at = scalar.end - 1;
  }
  return edited(text, edits);
}

/** Redacts values that precede the field that names them; called at the end of the object. */
function addLateEdits(edits: Edit[], { parts, before, held = [] }: Frame, { onNamed }: JsonReading): void {
  for (const { start, end, key, value } of held) {
    const isPart = parts.includes(key) && value !== REDACTED;
    const shown = isPart ? REDACTED : isNamedValue(key) ? redactByName({ value, name: before }) : undefined;
    if (shown === undefined || shown === value) continue;
    onNamed?.();
    edits.push({ start, end, shown: JSON.stringify(shown) });
  }
}

function edited(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let copied = 0;
  for (const { start, end, shown } of edits.toSorted((one, other) => one.start - other.start)) {
    pieces.push(text.slice(copied, start), shown);
    copied = end;
  }
  return copied === 0 ? text : pieces.join("") + text.slice(copied);
}

/** The string or number at this position and its replacement; undefined for any other token. */
function scalarAt(
  text: string,
  at: number,
  frame: Frame | undefined,
  reading: JsonReading,
): { end: number; shown: string | undefined } | undefined {
  const code = text.charCodeAt(at);
  if (code === QUOTE) {
    const end = endOfString(text, at);
    const value = JSON.parse(text.slice(at, end)) as string;
    const isName = frame?.awaitsKey === true;
    const shown = redactString(value, frame, reading);
    if (shown !== value) return { end, shown: JSON.stringify(shown) };
    if (frame !== undefined && !frame.array && !isName) note(frame, { start: at, end, value });
    return { end, shown: undefined };
  }
  if (code !== MINUS && !(code >= ZERO && code <= NINE)) return undefined;
  const end = endOfScalar(text, at);
  const isSecret = isNumericPassword(Number(text.slice(at, end)), nameOf(frame));
  if (isSecret) reading.onNamed?.();
  return { end, shown: isSecret ? JSON.stringify(REDACTED) : undefined };
}

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

/** Enters or leaves an object or array; returns the frame that ends here. */
function moveOn(char: string | undefined, frames: Frame[]): Frame | undefined {
  const top = frames.at(-1);
  if (char === "{" || char === "[") {
    const array = char === "[";
    const name = nameOf(top);
    const fresh = { key: undefined, before: undefined, parts: [], held: undefined };
    frames.push({ array, name, awaitsKey: !array, ...fresh });
  } else if (char === "}" || char === "]") return frames.pop();
  else if (char === "," && top !== undefined && !top.array) top.awaitsKey = true;
  return undefined;
}

/** Records a string of an object until the object ends, if it may still turn out to be a secret. */
function note(frame: Frame, { start, end, value }: Omit<Held, "key">): void {
  const { key } = frame;
  if (key === undefined) return;
  frame.parts = PARTS_BESIDE.get(key) ?? frame.parts;
  if (isNamedValue(key) || MAY_BE_PART.has(key)) {
    frame.held ??= [];
    frame.held.push({ start, end, key, value });
  }
}

function nameOf(frame: Frame | undefined): string | undefined {
  if (frame === undefined) return undefined;
  if (frame.array) return flagName(frame.before) ?? frame.name;
  return isNamedValue(frame.key ?? "") ? (frame.before ?? frame.name ?? frame.key) : frame.key;
}

/** The string after redaction. */
function redactString(value: string, frame: Frame | undefined, { redactText, onNamed }: JsonReading): string {
  if (frame?.awaitsKey === true) {
    frame.awaitsKey = false;
    frame.key = value;
    return redactText(value);
  }
  const isSecond = frame?.array === true && isPaired(frame.before, value);
  const named = isSecond ? REDACTED : redactByName({ value, name: nameOf(frame) });
  if (named !== undefined && named !== value) onNamed?.();
  if (frame !== undefined && (frame.array || NAMES_ANOTHER.test(frame.key ?? ""))) frame.before = value;
  return named ?? redactText(value);
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === '"') return at + 1;
  }
  return text.length;
}

function endOfScalar(text: string, at: number): number {
  SCALAR.lastIndex = at;
  return at + (SCALAR.exec(text)?.[0].length ?? 1);
}
