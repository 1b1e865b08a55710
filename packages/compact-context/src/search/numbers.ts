const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, DIGITS.indexOf(String.fromCharCode(code))),
);
const MORE = 32;

/** A whole number from 0 to 2^31 - 1 as one character for each five bits, the lowest first (as in source maps). */
export function writeNumber(value: number): string {
  let text = "";
  let rest = value;
  while (rest >= MORE) {
    text += DIGITS[(rest & 31) | MORE];
    rest >>>= 5;
  }
  return text + DIGITS[rest];
}

/** Reads numbers one after the other from `start` to `end`; the text must be what `writeNumber` wrote. */
export function readNumbers(text: string, start: number, end: number): { next(): number; more(): boolean } {
  let at = start;
  return {
    more: () => at < end,
    next() {
      let value = 0;
      for (let shift = 0; at < end; shift += 5) {
        const digit = VALUES[text.charCodeAt(at++) & 127] ?? 0;
        value |= (digit & 31) << shift;
        if (digit < MORE) break;
      }
      return value;
    },
  };
}
