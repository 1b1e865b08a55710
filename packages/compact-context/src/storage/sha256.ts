const CONSTANTS = fractions(64, 1 / 3);
const START = fractions(8, 1 / 2);

/** SHA-256 (FIPS 180-4) of UTF-8 text in lower-case hex; for short text, where no Node builtin may be used. */
export function sha256Hex(text: string): string {
  const state = Uint32Array.from(START);
  const bytes = padded(new TextEncoder().encode(text));
  const view = new DataView(bytes.buffer);
  for (let offset = 0; offset < bytes.length; offset += 64) mixBlock(state, view, offset);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The first 32 bits of the fractional parts of roots of the first primes: where the standard takes its constants from. */
function fractions(count: number, power: number): Uint32Array {
  const words: number[] = [];
  for (let candidate = 2; words.length < count; candidate++) {
    let divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++;
    if (divisor * divisor > candidate) words.push(((candidate ** power % 1) * 2 ** 32) | 0);
  }
  return Uint32Array.from(words);
}

function padded(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  result.set(bytes);
  result[bytes.length] = 0x80;
  new DataView(result.buffer).setUint32(result.length - 4, bytes.length * 8);
  return result;
}

function mixBlock(state: Uint32Array, view: DataView, offset: number): void {
  const schedule = new Uint32Array(64);
  const word = (index: number): number => schedule[index] ?? 0;
  for (let t = 0; t < 64; t++) {
    schedule[t] =
      t < 16
        ? view.getUint32(offset + t * 4)
        : word(t - 16) + small(word(t - 15), 7, 18, 3) + word(t - 7) + small(word(t - 2), 17, 19, 10);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + big(e, 6, 11, 25) + choice + (CONSTANTS[t] ?? 0) + word(t)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = (big(a, 2, 13, 22) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = (state[index] ?? 0) + value;
  });
}

function rotated(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

function small(value: number, one: number, two: number, shift: number): number {
  return rotated(value, one) ^ rotated(value, two) ^ (value >>> shift);
}

function big(value: number, one: number, two: number, three: number): number {
  return rotated(value, one) ^ rotated(value, two) ^ rotated(value, three);
}
