import { CompactError, requireOptions, sha256Hex } from "../errors.ts";

// Names in the storage: the folder of a session and of its owner, and the keys of a session's files.

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
 * or not strings.
 */
export function ownedSession(sessionId: string, owner: SessionOwner): string {
  requireOptions(owner, "owner", "Pass { tenant, user }, or one of them.");
  const { tenant, user } = owner;
  const parts = [
    ...(tenant === undefined ? [] : ["~t", escaped(tenant, "tenant")]),
    ...(user === undefined ? [] : ["~u", escaped(user, "user")]),
    escaped(sessionId, "session"),
  ];
  return parts.length === 1 ? sessionId : parts.join("/");
}

function escaped(id: string, kind: "session" | "tenant" | "user"): string {
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
export function ownerFolder({ tenant, user }: SessionOwner): string {
  const ofTenant = tenant === undefined ? "" : `~t/${safeName(tenant, "tenant")}/`;
  const folder = user === undefined ? ofTenant : `${ofTenant}~u/${safeName(user, "user")}/`;
  if (folder !== "") return folder;
  throw new CompactError("InvalidArgument", "neither a tenant nor a user is named", {
    hint: "Pass { tenant }, { user } or both.",
  });
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
function safeName(id: string, kind: "session" | "tenant" | "user"): string {
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
