import type { Message, Part, ToolResultPart } from "./message.ts";
import { jsonText } from "./native.ts";

/**
 * A 62-bit fingerprint of role and content, 12 characters in base 36, equal for equal content in other objects.
 * Ids, call ids and meta do not count. The mixing follows cyrb53 (bryc, public domain).
 */
export function contentHash({ role, parts }: Pick<Message, "role" | "parts">): string {
  const state: HashState = { high: 0xdeadbeef, low: 0x41c6ce57 };
  mix(state, role);
  for (const part of parts) mixPart(state, part);
  return finish(state);
}

/** A 53-bit fingerprint of a text; equal texts have equal ones. */
export function textHash(text: string): number {
  const state: HashState = { high: 0xdeadbeef, low: 0x41c6ce57 };
  mix(state, text);
  const { first, second } = finished(state);
  return (second >>> 11) * 2 ** 32 + (first >>> 0);
}

/** Hashes by list and not by message: thousands of entries in a WeakMap take longer than the hashing. */
const hashesByList = new WeakMap<readonly Message[], readonly (string | undefined)[]>();

/** Keeps the hashes of messages that were hashed when they were read, index by index, for `hashesOf` of this very list. */
export function keepHashes(messages: readonly Message[], hashes: readonly (string | undefined)[]): void {
  hashesByList.set(messages, hashes);
}

/** The content hash of the message at an index of the list. */
export function hashesOf(messages: readonly Message[]): (index: number, message: Message) => string {
  const kept = hashesByList.get(messages);
  return (index, message) => kept?.[index] ?? contentHash(message);
}

interface HashState {
  high: number;
  low: number;
}

/** Below this length the call of the encoder costs more than it saves. */
const SHORT = 64;
const PIECE = 4096;
const encoder = new TextEncoder();
const bytes = new Uint8Array(PIECE);
const words = new DataView(bytes.buffer);

function mix(state: HashState, text: string): void {
  const { length } = text;
  if (length < SHORT) mixCodes(state, text);
  else if (length <= PIECE) mixPiece(state, text);
  else for (let at = 0; at < length; at += PIECE) mixPiece(state, text.slice(at, at + PIECE));
  // The length closes a field, so that "ab" + "c" and "a" + "bc" differ.
  mixWord(state, length ^ 0x10000);
}

function mixWord(state: HashState, word: number): void {
  state.high = Math.imul(((state.high << 15) | (state.high >>> 17)) ^ word, 2654435761);
  state.low = Math.imul(((state.low << 13) | (state.low >>> 19)) ^ word, 1597334677);
}

/** ASCII goes in four characters at a time; anything else does not encode to one byte each and goes in by code unit. */
function mixPiece(state: HashState, text: string): void {
  const { read, written } = encoder.encodeInto(text, bytes);
  if (read !== text.length || written !== read) {
    mixCodes(state, text);
    return;
  }
  let { high, low } = state;
  const whole = written & ~3;
  for (let index = 0; index < whole; index += 4) {
    const word = words.getInt32(index, true);
    high = Math.imul(((high << 15) | (high >>> 17)) ^ word, 2654435761);
    low = Math.imul(((low << 13) | (low >>> 19)) ^ word, 1597334677);
  }
  state.high = high;
  state.low = low;
  for (let index = whole; index < written; index++) mixWord(state, bytes[index] ?? 0);
}

function mixCodes(state: HashState, text: string): void {
  let { high, low } = state;
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(((high << 15) | (high >>> 17)) ^ code, 2654435761);
    low = Math.imul(((low << 13) | (low >>> 19)) ^ code, 1597334677);
  }
  state.high = high;
  state.low = low;
}

function finish(state: HashState): string {
  const { first, second } = finished(state);
  return base36(second >>> 1) + base36(first >>> 1);
}

function finished({ high, low }: HashState): { readonly first: number; readonly second: number } {
  let first = Math.imul(high ^ (high >>> 16), 2246822507);
  first ^= Math.imul(low ^ (low >>> 13), 3266489909);
  let second = Math.imul(low ^ (low >>> 16), 2246822507);
  second ^= Math.imul(first ^ (first >>> 13), 3266489909);
  return { first, second };
}

/** All pairs of digits: text is put together from three of them per number. */
const PAIRS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, pair) =>
  pair.toString(36).padStart(2, "0"),
);

/** Six digits for 31 bits; `toString(36)` takes longer than all the rest on short messages. */
function base36(bits: number): string {
  const upper = Math.floor(bits / 1296);
  return `${PAIRS[Math.floor(upper / 1296)]}${PAIRS[upper % 1296]}${PAIRS[bits % 1296]}`;
}

function mixPart(state: HashState, part: Part): void {
  mix(state, part.type);
  if (part.type === "toolResult") mixContent(state, part.content);
  else for (const field of fieldsOf(part)) mix(state, field);
}

function fieldsOf(part: Exclude<Part, ToolResultPart>): readonly string[] {
  switch (part.type) {
    case "text":
      return [part.text];
    case "toolCall":
      return [part.name, jsonText(part.arguments)];
    case "reasoning":
      return [part.text, String(part.opaqueLength ?? 0)];
    case "media":
      return [part.mediaType, String(part.bytes), part.url ?? part.name ?? ""];
  }
}

function mixContent(state: HashState, content: ToolResultPart["content"]): void {
  if (typeof content === "string") mix(state, content);
  else for (const piece of content) mixPart(state, piece);
}
