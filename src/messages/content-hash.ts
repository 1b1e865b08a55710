import type { Message, Part, Role, ToolResultPart } from "./message.ts";
import { jsonText } from "./native.ts";

/**
 * A 62-bit fingerprint of role and content, 12 characters in base 36, equal for equal content in other objects.
 * Ids, call ids and meta do not count. The mixing is that of cyrb53 (bryc, public domain).
 */
export function contentHash({ role, parts }: Pick<Message, "role" | "parts">): string {
  const known = hashedParts.get(parts);
  if (known?.role === role) return known.hash;
  const hash = hashOf(role, parts);
  hashedParts.set(parts, { role, hash });
  return hash;
}

/** Parts are never changed in place, so that each list of them is hashed once. */
const hashedParts = new WeakMap<readonly Part[], { readonly role: Role; readonly hash: string }>();

function hashOf(role: Role, parts: readonly Part[]): string {
  const state: HashState = { high: 0xdeadbeef, low: 0x41c6ce57 };
  mix(state, role);
  for (const part of parts) mixPart(state, part);
  return finish(state);
}

interface HashState {
  high: number;
  low: number;
}

function mix(state: HashState, text: string): void {
  let { high, low } = state;
  const length = text.length;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  // The length closes a field, so that "ab" + "c" and "a" + "bc" differ.
  state.high = Math.imul(high ^ length ^ 0x10000, 2654435761);
  state.low = Math.imul(low ^ length ^ 0x20000, 1597334677);
}

function finish({ high, low }: HashState): string {
  let first = Math.imul(high ^ (high >>> 16), 2246822507);
  first ^= Math.imul(low ^ (low >>> 13), 3266489909);
  let second = Math.imul(low ^ (low >>> 16), 2246822507);
  second ^= Math.imul(first ^ (first >>> 13), 3266489909);
  return base36(second >>> 1) + base36(first >>> 1);
}

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Six digits for 31 bits; `toString(36)` takes longer than all the rest on short messages. */
function base36(bits: number): string {
  let rest = bits;
  let text = "";
  for (let digit = 0; digit < 6; digit++) {
    text = DIGITS.charAt(rest % 36) + text;
    rest = Math.floor(rest / 36);
  }
  return text;
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
