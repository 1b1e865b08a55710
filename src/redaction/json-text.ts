import { isNumericPassword } from "./json-values.ts";
import { flagName, redactByName } from "./named-string.ts";
import { REDACTED } from "./secret-names.ts";

/** An object or array that the reading is inside of. */
interface Frame {
  readonly array: boolean;
  /** What its items are called: the field that holds it. */
  readonly name: string | undefined;
  key: string | undefined;
  /** The next string is a field's name. */
  awaitsKey: boolean;
  /** The string before, in an array; what `name` says, in an object. */
  before: string | undefined;
}

const LONGEST_LINE_START = 200;
const [QUOTE, MINUS, ZERO, NINE] = [34, 45, 48, 57] as const;
const SCALAR = /[^\s,\]}]+/y;

/** How the strings inside are redacted for themselves, and who hears of those that were by their name. */
export interface JsonReading {
  readonly redactText: (text: string) => string;
  readonly onNamed?: () => void;
}

/**
 * JSON text with the strings inside redacted by their names and for themselves; everything else stays as it is,
 * numbers and spaces to the character. Undefined when the text is no JSON object or array.
 */
export function redactJsonText(text: string, reading: JsonReading): string | undefined {
  if (!isJson(text)) return undefined;
  const pieces: string[] = [];
  const frames: Frame[] = [];
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    const scalar = scalarAt(text, at, frames.at(-1), reading);
    if (scalar === undefined) {
      moveOn(text[at], frames);
      continue;
    }
    if (scalar.shown !== undefined) {
      pieces.push(text.slice(copied, at), scalar.shown);
      copied = scalar.end;
    }
    at = scalar.end - 1;
  }
  return copied === 0 ? text : pieces.join("") + text.slice(copied);
}

/** The string or number that begins here, and what is to stand in its place; undefined for anything else. */
function scalarAt(
  text: string,
  at: number,
  frame: Frame | undefined,
  reading: JsonReading,
): { end: number; shown: string | undefined } | undefined {
  const code = text.charCodeAt(at);
  if (code === QUOTE) {
    const end = endOfString(text, at);
    return { end, shown: redactLiteral(text.slice(at, end), frame, reading) };
  }
  if (code !== MINUS && !(code >= ZERO && code <= NINE)) return undefined;
  const end = endOfScalar(text, at);
  const isSecret = isNumericPassword(Number(text.slice(at, end)), nameOf(frame));
  if (isSecret) reading.onNamed?.();
  return { end, shown: isSecret ? JSON.stringify(REDACTED) : undefined };
}

/** True for text whose lines may be JSON each, as in a log. */
export function mayHoldJsonLines(text: string): boolean {
  return /^[ \t]*[{[]["{[]/m.test(text) && text.includes("\n");
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

function moveOn(char: string | undefined, frames: Frame[]): void {
  const top = frames.at(-1);
  if (char === "{" || char === "[") {
    const array = char === "[";
    frames.push({ array, name: nameOf(top), key: undefined, awaitsKey: !array, before: undefined });
  } else if (char === "}" || char === "]") frames.pop();
  else if (char === "," && top !== undefined && !top.array) top.awaitsKey = true;
}

function nameOf(frame: Frame | undefined): string | undefined {
  if (frame === undefined) return undefined;
  if (frame.array) return flagName(frame.before) ?? frame.name;
  return frame.key === "value" ? (frame.before ?? frame.key) : frame.key;
}

/** The literal as it is to be shown; undefined when it stays. */
function redactLiteral(
  literal: string,
  frame: Frame | undefined,
  { redactText, onNamed }: JsonReading,
): string | undefined {
  const value = JSON.parse(literal) as string;
  if (frame?.awaitsKey === true) {
    frame.awaitsKey = false;
    frame.key = value;
    const shown = redactText(value);
    return shown === value ? undefined : JSON.stringify(shown);
  }
  const named = redactByName({ value, name: nameOf(frame) });
  if (named !== undefined && named !== value) onNamed?.();
  const shown = named ?? redactText(value);
  if (frame !== undefined && (frame.array || frame.key === "name" || frame.key === "key"))
    frame.before = value;
  return shown === value ? undefined : JSON.stringify(shown);
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
