import { lowercase, mark, number, otherLetter, space, uppercase } from "./character-classes.generated.ts";

// Plain numbers and not an object of them: the splitters compare them millions of times, and a module constant is free.
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
/** The byte behind the text. */
export const END = 8;
/** First byte of a character outside ASCII; only found in the byte tables. */
export const HIGH = 9;
// Characters that a pattern names; only found in the table of byte kinds.
export const BLANK = 10;
export const SLASH = 11;
export const APOSTROPHE = 12;

/** Never part of UTF-8, so it can stand behind the text and stop every loop. */
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

/** The class of every code point, by the Unicode version of tiktoken and not that of the engine. */
export function codePointClasses(): Uint8Array {
  const table = new Uint8Array(0x110000).fill(OTHER);
  fillRanges(table, lowercase, LOWER);
  fillRanges(table, uppercase, UPPER);
  fillRanges(table, otherLetter, LETTER);
  fillRanges(table, mark, MARK);
  fillRanges(table, number, NUMBER);
  fillRanges(table, space, SPACE);
  table[0x0a] = NEWLINE;
  table[0x0d] = NEWLINE;
  return table;
}

/** The class of a byte that begins a character: ASCII by its class, the rest HIGH or END. */
export function byteClasses(codePoints: Uint8Array): Uint8Array {
  const table = new Uint8Array(256).fill(HIGH);
  table.set(codePoints.subarray(0, 128));
  table[END_BYTE] = END;
  return table;
}
