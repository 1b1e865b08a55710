import { CompactError, isObject } from "../errors.ts";

// Checksums without a Node builtin, and records that carry one.

/** What was stored as one JSON object. */
export interface OpenedRecord {
  /** Version of the record's layout; 1 where it says none, as no record did at first. */
  readonly schema: number;
  /** The record without schema and checksum. */
  readonly record: Readonly<Record<string, unknown>>;
}

const CHECKSUM = /,\s*"checksum": ?"([0-9a-f]{8})"\s*\}\s*$/;
const LONGEST_CHECKSUM = 64;

/** JSON text of a record: the version of its layout first, last a checksum of all that stands before it. */
export function sealRecord(schema: number, record: object, indent?: number): string {
  const text = JSON.stringify({ schema, ...record, checksum: "" }, undefined, indent);
  const sealed = text.slice(0, text.lastIndexOf(",", text.lastIndexOf('"checksum"')));
  return text.replace(/""(\s*\})$/, (_, end: string) => `"${crc32Hex(sealed)}"${end}\n`);
}

/**
 * Reads what `sealRecord` wrote, and records of the time before there were checksums. Throws `StorageFailed` for a
 * record of a newer release than one that knows schemas up to `newest`, and a plain error for a damaged one.
 */
export function openRecord(text: string, newest: number, place: string): OpenedRecord {
  const tail = Math.max(0, text.length - LONGEST_CHECKSUM);
  const found = CHECKSUM.exec(text.slice(tail));
  const matches = found !== null && crc32Hex(text.slice(0, tail + found.index)) === found[1];
  if (found !== null && !matches) throw new Error("it does not match its checksum");
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error("it is no JSON object");
  const { schema = 1, checksum: _, ...record } = value;
  if (Number.isSafeInteger(schema) && Number(schema) > newest) {
    const problem = `a stored record was written by a newer version of compact-context, in schema ${schema}`;
    throw new CompactError("StorageFailed", problem, {
      place,
      hint: `Update compact-context: this version reads schemas up to ${newest}.`,
    });
  }
  // Records have a checksum since they have a schema.
  if (value.schema !== undefined && (!matches || schema !== newest))
    throw new Error("it has no valid checksum");
  return { schema: Number(schema), record };
}

const POLYNOMIAL = 0xedb88320;
const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** CRC-32 (ISO-HDLC, as in zip files) of UTF-8 text: finds damage, proves no origin. */
export function crc32(text: string): number {
  let value = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}

/** The same in eight hex digits. */
export function crc32Hex(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

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
