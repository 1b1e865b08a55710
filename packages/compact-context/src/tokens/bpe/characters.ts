import { lowercase, mark, number, otherLetter, space, uppercase } from "./character-classes.generated.ts";

// Plain numbers instead of an object: the splitters compare them millions of times, and module constants are
// free.
export const LOWER = 0;
/** Uppercase and titlecase letters. */
export const UPPER = 1;
/** Letters without case, modifier letters. */
export const LETTER = 2;
export const MARK = 3;
export const NUMBER = 4;
/** Everything else, unassigned code points included. */
export const OTHER = 5;
/** White_Space without the two characters of NEWLINE. */
export const SPACE = 6;
/** CR and LF. */
export const NEWLINE = 7;
/** The byte after the text. */
export const END = 8;
/** First byte of a character outside ASCII; only found in the byte tables. */
export const HIGH = 9;
// Characters that a pattern names; only in the table of byte kinds.
export const BLANK = 10;
export const SLASH = 11;
export const APOSTROPHE = 12;

/** Never part of UTF-8, so it can follow the text and stop every loop. */
export const END_BYTE = 0xff;

function fillRanges(table: Uint8Array, packed: string, value: number): void {
  const numbers = packed.split(" ");
  let at = 0;
  for (let i = 0; i + 1 < numbers.length; i += 2) {
    const start = at + Number.parseInt(numbers[i] as string, 36);
    at = start + Number.parseInt(numbers[i + 1] as string, 36);
    table.fill(value, start, at);
  }
}

// Filled on the first count (takes 3 ms), as most processes that load this never count.
/** The class of every code point, by tiktoken's Unicode version, not the engine's. */
const byCodePoint = new Uint8Array(0x110000);
/** The class of a byte that starts a character: ASCII by its class, others HIGH or END. */
const byByte = new Uint8Array(256);

function fillClasses(): void {
  byCodePoint.fill(OTHER);
  fillRanges(byCodePoint, lowercase, LOWER);
  fillRanges(byCodePoint, uppercase, UPPER);
  fillRanges(byCodePoint, otherLetter, LETTER);
  fillRanges(byCodePoint, mark, MARK);
  fillRanges(byCodePoint, number, NUMBER);
  fillRanges(byCodePoint, space, SPACE);
  byCodePoint[0x0a] = NEWLINE;
  byCodePoint[0x0d] = NEWLINE;
  byByte.fill(HIGH);
  byByte.set(byCodePoint.subarray(0, 128));
  byByte[END_BYTE] = END;
}

const BLANK_BYTE = 0x20;
const APOSTROPHE_BYTE = 0x27;
const SLASH_BYTE = 0x2f;

/**
 * The class of each byte; blank, slash and apostrophe have their own. Call before any other function here.
 */
export function byteKinds(): Uint8Array {
  if (byByte[END_BYTE] !== END) fillClasses();
  const kinds = Uint8Array.from(byByte);
  kinds[BLANK_BYTE] = BLANK;
  kinds[APOSTROPHE_BYTE] = APOSTROPHE;
  kinds[SLASH_BYTE] = SLASH;
  return kinds;
}

/** The class of an ASCII character; HIGH for any other, END after the text. */
function classOfByte(text: Uint8Array, at: number): number {
  return byByte[text[at] as number] as number;
}

/** Class and UTF-8 width of the character at `at`, as `class | width << 4`; the width of END is 0. */
export function characterAt(text: Uint8Array, at: number): number {
  const first = text[at] as number;
  if (first < 0x80) return (byByte[first] as number) | 0x10;
  const second = (text[at + 1] as number) & 0x3f;
  if (first < 0xe0) return (byCodePoint[((first & 0x1f) << 6) | second] as number) | 0x20;
  const third = (text[at + 2] as number) & 0x3f;
  if (first < 0xf0) {
    return (byCodePoint[((first & 0x0f) << 12) | (second << 6) | third] as number) | 0x30;
  }
  if (first === 0xff) return END;
  const fourth = (text[at + 3] as number) & 0x3f;
  return (byCodePoint[((first & 0x07) << 18) | (second << 12) | (third << 6) | fourth] as number) | 0x40;
}

/** End of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, or `at`; U+017F folds to `s`. */
export function contractionEnd(text: Uint8Array, at: number): number {
  if (text[at] !== APOSTROPHE_BYTE) return at;
  const first = (text[at + 1] as number) | 0x20;
  if (first === 0x73 || first === 0x74 || first === 0x6d || first === 0x64) return at + 2;
  if (text[at + 1] === 0xc5 && text[at + 2] === 0xbf) return at + 3;
  const second = (text[at + 2] as number) | 0x20;
  const two = (first === 0x6c && second === 0x6c) || ((first === 0x76 || first === 0x72) && second === 0x65);
  return two ? at + 3 : at;
}

/** End of `\p{N}{1,3}`, whose first character is known to be a number. */
export function numberEnd(text: Uint8Array, at: number): number {
  let end = at;
  for (let digits = 0; digits < 3; digits += 1) {
    const kind = classOfByte(text, end);
    if (kind === NUMBER) {
      end += 1;
    } else {
      if (kind !== HIGH) return end;
      const character = characterAt(text, end);
      if ((character & 15) !== NUMBER) return end;
      end += character >> 4;
    }
  }
  return end;
}

/** End of `[^\s\p{L}\p{N}]+`, or `at` if there is none. */
export function symbolsEnd(text: Uint8Array, at: number): number {
  let end = at;
  for (;;) {
    const ascii = classOfByte(text, end);
    if (ascii === OTHER) {
      end += 1;
    } else {
      if (ascii !== HIGH) return end;
      const character = characterAt(text, end);
      const kind = character & 15;
      if (kind !== OTHER && kind !== MARK) return end;
      end += character >> 4;
    }
  }
}

function blanksEnd(text: Uint8Array, at: number): number {
  let end = at;
  while (text[end] === BLANK_BYTE) end += 1;
  return end;
}

/** End of `\s*[\r\n]+|\s+(?!\S)|\s+`, whose first character is known to be white space. */
export function spaceEnd(text: Uint8Array, at: number): number {
  let end = blanksEnd(text, at);
  let last = Math.max(at, end - 1);
  let behindNewline = at;
  let character = characterAt(text, end);
  while (isSpace(character & 15)) {
    const behind = end + (character >> 4);
    if ((character & 15) === NEWLINE) behindNewline = behind;
    const blanks = blanksEnd(text, behind);
    last = blanks > behind ? blanks - 1 : end;
    end = blanks;
    character = characterAt(text, end);
  }
  if (behindNewline > at) return behindNewline;
  // The last space joins the following piece, unless it is the only one or nothing follows.
  return character === END || last === at ? end : last;
}

function isSpace(kind: number): boolean {
  return kind === SPACE || kind === NEWLINE;
}

/** True for letters of any case. */
export function isLetter(kind: number): boolean {
  return kind <= LETTER;
}
