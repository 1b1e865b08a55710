import { CompactError } from "../errors.ts";
import { sha256Hex } from "./sha256.ts";

const READABLE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$/;
const WINDOWS_RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/**
 * The folder name of a session: one safe storage key segment, different for different ids also where the file
 * system ignores case or folds Unicode. A plain lower-case id is its own name; an id with capitals gets `~` and
 * which of its characters are capitals in base 36; any other a shortened form, `~` and 160 bits of its SHA-256.
 * Throws `InvalidArgument` for what is no string or empty.
 */
export function sessionKey(sessionId: string): string {
  if (typeof sessionId !== "string" || sessionId === "") {
    throw new CompactError("InvalidArgument", "the session id must be a string that is not empty", {
      hint: "Pass one id for each conversation, such as a UUID.",
    });
  }
  const readable = READABLE.test(sessionId) && !sessionId.endsWith(".") && !WINDOWS_RESERVED.test(sessionId);
  if (!readable) return hashedName(sessionId);
  const capitals = capitalsOf(sessionId);
  return capitals === 0n ? sessionId : `${sessionId}~${capitals.toString(36)}`;
}

function capitalsOf(text: string): bigint {
  let bits = 0n;
  for (let index = 0; index < text.length; index++) {
    if (/[A-Z]/.test(text.charAt(index))) bits |= 1n << BigInt(index);
  }
  return bits;
}

function hashedName(sessionId: string): string {
  const shown = sessionId
    .slice(0, 40)
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  // JSON escapes lone surrogates, which UTF-8 would make equal to one another.
  return `${shown || "session"}~${sha256Hex(JSON.stringify(sessionId)).slice(0, 40)}`;
}
