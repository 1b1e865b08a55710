import { CompactError, isObject } from "../errors.ts";
import { requireFields } from "./request.ts";

// How things are named and sealed in a storage: the folder of a session and of its owner, the keys of a session's files,
// and records that carry a checksum.

// ---- names

const READABLE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$/;
const WINDOWS_RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/**
 * The owner of a session: a tenant, a user of a tenant, or a user alone. Session ids are unique per owner.
 */
export interface SessionOwner {
  readonly tenant?: string;
  readonly user?: string;
}

/**
 * The id of an owner's session; accepted wherever a session id is expected. Its parts are escaped, so an id
 * chosen by a user cannot refer to another owner's session. Throws `InvalidArgument` for parts that are empty
 * or not strings, and for an owner without parts.
 */
export function ownedSession(sessionId: string, owner: SessionOwner): string {
  return `${pathOf(owner, escaped)}${escaped(sessionId, "session")}`;
}

/** A misspelled part would name everything of the other one, and an owner without parts what nobody owns. */
function pathOf(owner: SessionOwner, segment: (id: string, kind: IdKind) => string): string {
  const parts = { tenant: "unchecked", user: "unchecked" } as const;
  requireFields(owner, parts, "owner", "Pass { tenant, user }, or one of them.");
  const { tenant, user } = owner;
  const ofTenant = tenant === undefined ? "" : `~t/${segment(tenant, "tenant")}/`;
  if (user !== undefined) return `${ofTenant}~u/${segment(user, "user")}/`;
  if (tenant !== undefined) return ofTenant;
  throw new CompactError("InvalidArgument", "neither a tenant nor a user is named", {
    place: "owner",
    hint: "Pass { tenant }, { user } or both.",
  });
}

type IdKind = "session" | "tenant" | "user";

function escaped(id: string, kind: IdKind): string {
  safeName(id, kind);
  try {
    return encodeURIComponent(id);
  } catch {
    throw new CompactError("InvalidArgument", `the ${kind} id is not well-formed text`, {
      hint: "It holds half of a surrogate pair: use another id.",
    });
  }
}

const OWNED = /^(?:~t\/([^/]+)\/)?(?:~u\/([^/]+)\/)?([^/]+)$/;

/** The parts of an id that `ownedSession` made; undefined for any other. */
function readOwned(sessionId: string): { id: string; owner: SessionOwner } | undefined {
  if (typeof sessionId !== "string" || !/^~[tu]\//.test(sessionId)) return undefined;
  try {
    const [tenant, user, id = ""] = (OWNED.exec(sessionId) ?? [])
      .slice(1)
      .map((part) => (part === undefined ? undefined : decodeURIComponent(part)));
    const owner = { tenant, user };
    return id !== "" && ownedSession(id, owner) === sessionId ? { id, owner } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The folder that contains all sessions of an owner, with a trailing slash. Throws `InvalidArgument` if no
 * owner is named.
 */
export function ownerFolder(owner: SessionOwner): string {
  return pathOf(owner, safeName);
}

/**
 * The folder of a session: `chat-1`; with owner `~t/acme/chat-1`, `~u/max/chat-1` or `~t/acme/~u/max/chat-1`.
 * The owner can also be part of the id, as written by `ownedSession`. Throws `InvalidArgument` for ids that
 * are empty or not strings.
 */
export function sessionKey(sessionId: string, owner?: SessionOwner): string {
  const owned = owner === undefined ? readOwned(sessionId) : undefined;
  const { tenant, user } = owned?.owner ?? owner ?? {};
  const name = safeName(owned?.id ?? sessionId, "session");
  return (tenant ?? user) === undefined ? name : `${ownerFolder({ tenant, user })}${name}`;
}

/** The session folder of a key, including keys of queued work; undefined for keys without a session. */
export function sessionOfKey(key: string): string | undefined {
  return SESSION_OF_KEY.exec(key)?.[1];
}

const SESSION_OF_KEY = /^(?:~outbox\/)?((?:~t\/[^/]+\/)?(?:~u\/[^/]+\/)?[^~/][^/]*)\//;

/**
 * An id as one safe segment of storage keys, unique even if the file system ignores case or folds Unicode. A
 * plain lower-case id is unchanged; an id with capitals is followed by `~` and the positions of its capitals
 * in base 36; any other id is shortened and followed by `~` and 160 bits of its SHA-256. None begins with
 * `~`.
 */
function safeName(id: string, kind: IdKind): string {
  if (typeof id !== "string" || id === "") {
    throw new CompactError("InvalidArgument", `the ${kind} id must be a string that is not empty`, {
      hint: kind === "session" ? "Pass one id for each conversation, such as a UUID." : "Leave it out.",
    });
  }
  const readable = READABLE.test(id) && !id.endsWith(".") && !WINDOWS_RESERVED.test(id);
  if (!readable) return hashedName(id, kind);
  const capitals = capitalsOf(id);
  return capitals === 0n ? id : `${id}~${capitals.toString(36)}`;
}

function capitalsOf(text: string): bigint {
  let bits = 0n;
  for (let index = 0; index < text.length; index++) {
    if (/[A-Z]/.test(text.charAt(index))) bits |= 1n << BigInt(index);
  }
  return bits;
}

function hashedName(id: string, kind: string): string {
  const shown = id
    .slice(0, 40)
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  // JSON escapes lone surrogates, which would be indistinguishable in UTF-8.
  return `${shown || kind}~${sha256Hex(JSON.stringify(id)).slice(0, 40)}`;
}

const TRANSCRIPT = /^transcript-pre-compact-(\d{3,})\.jsonl$/;

/** The keys of one session's files, below its folder `session` (a `sessionKey`). */
export const archiveFiles = {
  transcript: (session: string, step: number): string =>
    `${session}/transcript-pre-compact-${stepName(step)}.jsonl`,
  summary: (session: string, step: number): string => `${session}/summary-${stepName(step)}.json`,
  events: (session: string): string => `${session}/events.jsonl`,
  /** Contains the session id if the folder name differs from it. */
  name: (session: string): string => `${session}/session.json`,
  state: (session: string): string => `${session}/state.json`,
  /** The folder of its queued work. */
  queue: (session: string): string => `~outbox/${session}/`,
};

/** The session folder and step of a transcript key; undefined for other keys. */
export function readTranscriptKey(key: string): { session: string; step: number } | undefined {
  const end = key.lastIndexOf("/");
  const step = TRANSCRIPT.exec(key.slice(end + 1))?.[1];
  const session = key.slice(0, end);
  return step === undefined || sessionOfKey(key) !== session ? undefined : { session, step: Number(step) };
}

function stepName(step: number): string {
  if (Number.isSafeInteger(step) && step >= 0) return String(step).padStart(3, "0");
  throw new CompactError("InvalidArgument", `the step must be a whole number from 0, not ${step}`, {
    hint: "Number the compactions of a session 1, 2, 3, …",
  });
}

/** True for the folder of a tenant's or a user's session. */
export function hasOwner(folder: string): boolean {
  return folder.startsWith("~");
}

const PAGE = 1000;

/** The keys that start with `prefix`, read page by page. */
export async function* keysOf(
  driver: {
    list(prefix: string, page: { readonly after: string; readonly limit: number }): Promise<string[]>;
  },
  prefix: string,
): AsyncGenerator<string> {
  for (let after = ""; ; ) {
    const page = await driver.list(prefix, { after, limit: PAGE });
    yield* page;
    after = page.at(-1) ?? "";
    if (page.length < PAGE) return;
  }
}

/** A key that is never written: reading it shows whether the storage works. */
export const PROBE_KEY = "~probe";

// ---- checksums without a Node builtin, and records that carry one

const CHECKSUM = /,\s*"checksum": ?"([0-9a-f]{8})"\s*\}\s*$/;
const LONGEST_CHECKSUM = 64;

/** JSON text of a record: its layout version first, and last a checksum of everything before it. */
export function sealRecord(schema: number, record: object, indent?: number): string {
  const text = JSON.stringify({ schema, ...record, checksum: "" }, undefined, indent);
  const sealed = text.slice(0, text.lastIndexOf(",", text.lastIndexOf('"checksum"')));
  return text.replace(/""(\s*\})$/, (_, end: string) => `"${crc32Hex(sealed)}"${end}\n`);
}

/**
 * Reads the output of `sealRecord`, and records from before checksums: the layout version, 1 if unstated, and the
 * record without version and checksum. Throws `StorageFailed` for a record from a release newer than `newest`, and a
 * plain error for a damaged one.
 */
export function openRecord(
  text: string,
  newest: number,
  place: string,
): { readonly schema: number; readonly record: Readonly<Record<string, unknown>> } {
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
  // Records have had a checksum since they have had a schema.
  const isKnown = Number.isSafeInteger(schema) && Number(schema) > 1;
  if (value.schema !== undefined && !(matches && isKnown)) throw new Error("it has no valid checksum");
  return { schema: Number(schema), record };
}

const POLYNOMIAL = 0xedb88320;
/** Four tables of 256: the remainder of a byte, and of one followed by one, two or three zero bytes. */
const TABLES: Int32Array = remainders();
const ENCODER = new TextEncoder();

function remainders(): Int32Array {
  const tables = new Int32Array(4 * 256);
  for (let at = 0; at < 256; at++) {
    let value = at;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    tables[at] = value;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256] as number;
    tables[at] = (before >>> 8) ^ (tables[before & 0xff] as number);
  }
  return tables;
}

/** CRC-32 (ISO-HDLC, as in zip files) of UTF-8 text: detects damage, not tampering. */
export function crc32(text: string): number {
  const tables = TABLES;
  const bytes = ENCODER.encode(text);
  const { length } = bytes;
  let value = -1;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const first = (value ^ (bytes[at] as number)) & 0xff;
    const second = ((value >>> 8) ^ (bytes[at + 1] as number)) & 0xff;
    const third = ((value >>> 16) ^ (bytes[at + 2] as number)) & 0xff;
    const fourth = (value >>> 24) ^ (bytes[at + 3] as number);
    value =
      (tables[768 + first] as number) ^
      (tables[512 + second] as number) ^
      (tables[256 + third] as number) ^
      (tables[fourth] as number);
  }
  for (; at < length; at++)
    value = (value >>> 8) ^ (tables[(value ^ (bytes[at] as number)) & 0xff] as number);
  return ~value >>> 0;
}

/** `crc32` as eight hex digits. */
export function crc32Hex(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

const CONSTANTS = fractions(64, 1 / 3);
const START = fractions(8, 1 / 2);

/**
 * SHA-256 (FIPS 180-4) of UTF-8 text in lower-case hex; for short text where Node builtins are not available.
 */
export function sha256Hex(text: string): string {
  const state = Uint32Array.from(START);
  const bytes = padded(new TextEncoder().encode(text));
  const view = new DataView(bytes.buffer);
  for (let offset = 0; offset < bytes.length; offset += 64) mixBlock(state, view, offset);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The first 32 bits of the fractional parts of roots of the first primes: the standard's constants. */
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
