import { CompactError, hasCode, openRecord, requireOptions, sealRecord, sha256Hex } from "../errors.ts";
import type { Message } from "./message.ts";
import type { Redaction, StorageDriver } from "./ports.ts";
import type { ArchiveReceipt, CompactEvent } from "./report.ts";
import {
  type ArchivedTranscript,
  type ArchiveEntry,
  type ArchivePlace,
  archiveId,
  archiveLine,
  type LineHead,
  linesOf,
  noTranscript,
  ownChecksum,
  readLineHead,
  readTranscriptPieces,
  referringLine,
  sorted,
} from "./transcript.ts";

// The archive of a session: a folder with a transcript and a summary per compaction, and events. Transcripts
// have one line per message, see `transcript.ts`. Everything is redacted before it is written.

type Redact = Pick<Redaction, "redactText" | "redactValue">;

/** Append-only originals of many sessions. */
export interface ArchiveStore {
  readonly location: string;
  /**
   * Complete and durable when it resolves; saving the same messages again is a no-op. The step is the
   * requested one, or the next one without a different transcript.
   */
  saveTranscript(sessionId: string, step: number, messages: readonly Message[]): Promise<ArchiveReceipt>;
  saveSummary(sessionId: string, step: number, record: object): Promise<void>;
  appendEvents(sessionId: string, events: readonly CompactEvent[]): Promise<void>;
  /** The complete lines of `events.jsonl`. */
  streamEvents(sessionId: string): AsyncIterable<string>;
  /**
   * Undefined if there is none or it is damaged; rejects with `StorageFailed` for one written by a newer
   * release.
   */
  readSummary(sessionId: string, step: number): Promise<object | undefined>;
  /** The ids of all sessions with a transcript, sorted: the owner's, or those without owner. */
  sessions(owner?: SessionOwner): Promise<string[]>;
  /** The steps that have a transcript, ascending. */
  steps(sessionId: string): Promise<number[]>;
  /** Messages and problems, line by line; rejects with `NotFound` if there is no transcript. */
  streamTranscript(sessionId: string, step: number): AsyncIterable<ArchiveEntry>;
  /** Like `streamTranscript`, but all at once. */
  readTranscript(sessionId: string, step: number): Promise<ArchivedTranscript>;
}

/** An archive over any driver; its keys are those of `archiveFiles`. `warn` is called for damaged sessions. */
export function createArchiveStore(
  driver: StorageDriver,
  redact: Redact,
  warn: (message: string) => void = () => undefined,
): ArchiveStore {
  const steps = async (sessionId: string): Promise<number[]> => {
    const keys = await driver.list(`${sessionKey(sessionId)}/`);
    const found = keys.map((key) => readTranscriptKey(key)?.step).filter((step) => step !== undefined);
    return found.sort((one, other) => one - other);
  };
  const streamTranscript = async function* (sessionId: string, step: number): AsyncGenerator<ArchiveEntry> {
    let isThere = false;
    const textOf = (one: number) => driver.stream(archiveFiles.transcript(sessionKey(sessionId), one));
    const pieces = async function* (): AsyncGenerator<string> {
      for await (const piece of textOf(step)) {
        isThere = true;
        yield piece;
      }
    };
    for await (const entry of readTranscriptPieces(pieces(), textOf)) {
      const known = isThere ? [step] : await steps(sessionId);
      if (!known.includes(step)) throw noTranscript(sessionId, step, known);
      yield entry;
    }
  };

  return {
    sessions: (owner) => sessions(driver, owner, warn),
    steps,
    streamTranscript,
    async readTranscript(sessionId, step) {
      const entries: ArchiveEntry[] = [];
      for await (const entry of streamTranscript(sessionId, step)) entries.push(entry);
      return sorted(entries);
    },
    location: driver.location,
    saveTranscript: (...transcript) => saveTranscript({ driver, redact }, ...transcript),
    async saveSummary(sessionId, step, record) {
      const key = archiveFiles.summary(sessionKey(sessionId), step);
      await driver.put(key, sealRecord(SUMMARY_SCHEMA, redact.redactValue(record) as object, 2));
    },
    async appendEvents(sessionId, events) {
      const records = events.map((event) => {
        const safe = redact.redactValue({ properties: event.properties, payload: event.payload });
        return eventLine({ ...event, ...(safe as Pick<CompactEvent, "properties" | "payload">) });
      });
      if (records.length > 0) await driver.append(archiveFiles.events(sessionKey(sessionId)), records);
    },
    async *streamEvents(sessionId) {
      const pieces = driver.stream(archiveFiles.events(sessionKey(sessionId)));
      for await (const { text, torn } of linesOf(pieces)) if (torn === undefined) yield text;
    },
    readSummary: (sessionId, step) => readRecord(driver, archiveFiles.summary(sessionKey(sessionId), step)),
  };
}

/** Layout version of summary files; version 1 had neither schema nor checksum. */
const SUMMARY_SCHEMA = 2;

async function readRecord(driver: StorageDriver, key: string): Promise<object | undefined> {
  const stored = await driver.get(key);
  if (stored === undefined) return undefined;
  try {
    return openRecord(stored.value, SUMMARY_SCHEMA, `${driver.location}/${key}`).record;
  } catch (error) {
    if (CompactError.isInstance(error)) throw error;
    return undefined;
  }
}

async function saveTranscript(
  { driver, redact }: { readonly driver: StorageDriver; readonly redact: Redact },
  sessionId: string,
  step: number,
  messages: readonly Message[],
): Promise<ArchiveReceipt> {
  const session = sessionKey(sessionId);
  const ids: string[] = [];
  // Hashed when a line is written or compared: hashing all at once would block the event loop.
  const idAt = (index: number): string => (ids[index] ??= archiveId(messages[index] as Message));
  if (session !== sessionId) await saveName(driver, session, sessionId);
  let ifVersion: string | null = null;
  for (let free = step; ; free++) {
    const key = archiveFiles.transcript(session, free);
    const overlap: Overlap =
      ifVersion === null ? "extends" : await compare(headsOf(driver, key), messages, idAt);
    const put = { ifVersion };
    const write = async () => {
      const known = await knownPlaces(driver, session, free - 1);
      return driver.put(key, lines(messages, { idAt, known, redact }), put);
    };
    const isWritten = overlap === "extends" && (await unlessOvertaken(write));
    if (isWritten || overlap === "holds") return { location: `${driver.location}/${key}`, step: free, ids };
    // The step was left by a crash or saved by another worker: compare it. A different one is left unchanged.
    if (overlap === "extends") free -= 1;
    ifVersion = overlap === "differs" ? null : ((await driver.version(key)) ?? null);
  }
}

/** The heads of a transcript's lines; undefined for unreadable lines. */
async function* headsOf(driver: StorageDriver, key: string): AsyncGenerator<LineHead | undefined> {
  for await (const { text, torn } of linesOf(driver.stream(key))) {
    const head = torn ?? readLineHead(text);
    yield typeof head === "string" ? undefined : head;
  }
}

/**
 * Where the messages of a transcript have their originals, by `nameOf`. What cannot be read is left out: those
 * messages are stored once more.
 */
async function knownPlaces(
  driver: StorageDriver,
  session: string,
  step: number,
): Promise<ReadonlyMap<string, ArchivePlace>> {
  const places = new Map<string, ArchivePlace>();
  if (step < 1) return places;
  let line = 0;
  try {
    for await (const head of headsOf(driver, archiveFiles.transcript(session, step))) {
      line += 1;
      if (head?.own !== undefined) places.set(nameOf(head), head.at ?? [step, line]);
    }
  } catch {
    // The storage may refuse reading alone, as an archive does that may only be written.
  }
  return places;
}

function nameOf({ hash, id, own }: Pick<LineHead, "hash" | "id" | "own">): string {
  return JSON.stringify([hash, own, id]);
}

interface Writing {
  readonly idAt: (index: number) => string;
  readonly known: ReadonlyMap<string, ArchivePlace>;
  readonly redact: Redact;
}

function* lines(messages: readonly Message[], { idAt, known, redact }: Writing): Generator<string> {
  const of = messages.length;
  for (const [index, message] of messages.entries()) {
    const hash = idAt(index);
    const n = index + 1;
    const own = ownChecksum(message);
    const at = own === undefined ? undefined : known.get(nameOf({ hash, id: message.id, own }));
    yield at === undefined
      ? archiveLine(message, { n, of, hash, own }, redact)
      : referringLine(message, { n, of, hash, own, at });
  }
}

/** A transcript holds all of the messages, they extend it and may replace it, or it differs. */
type Overlap = "holds" | "extends" | "differs";

/** Compares messages with an existing transcript of the same step, left by a crash or another worker. */
async function compare(
  stored: AsyncIterable<LineHead | undefined>,
  messages: readonly Message[],
  idAt: (index: number) => string,
): Promise<Overlap> {
  let index = 0;
  for await (const head of stored) {
    const isOurs = (): boolean =>
      head?.n === index + 1 && head.id === messages[index]?.id && head.hash === idAt(index);
    if (index < messages.length && !isOurs()) return "differs";
    index += 1;
  }
  return index >= messages.length ? "holds" : "extends";
}

async function saveName(driver: StorageDriver, session: string, sessionId: string): Promise<void> {
  const text = `${JSON.stringify({ session_id: sessionId })}\n`;
  await unlessOvertaken(() => driver.put(archiveFiles.name(session), text, { ifVersion: null }));
}

/** Values read concurrently: each one is an open file. */
const AT_ONCE = 16;

async function sessions(
  driver: StorageDriver,
  owner: SessionOwner | undefined,
  warn: (message: string) => void,
): Promise<string[]> {
  const folders = new Set<string>();
  for await (const key of keysOf(driver, owner === undefined ? "" : ownerFolder(owner))) {
    const place = readTranscriptKey(key);
    if (place !== undefined && (owner !== undefined || !hasOwner(place.session))) folders.add(place.session);
  }
  const names = [...folders];
  const ids: string[] = [];
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const some = names.slice(start, start + AT_ONCE);
    ids.push(...(await Promise.all(some.map((folder) => readSessionId(driver, folder, warn)))));
  }
  return ids.sort();
}

/** True for the folder of a tenant's or a user's session. */
export function hasOwner(folder: string): boolean {
  return folder.startsWith("~");
}

const PAGE = 1000;

/** The keys that start with `prefix`, read page by page. */
export async function* keysOf(driver: StorageDriver, prefix: string): AsyncGenerator<string> {
  for (let after = ""; ; ) {
    const page = await driver.list(prefix, { after, limit: PAGE });
    yield* page;
    after = page.at(-1) ?? "";
    if (page.length < PAGE) return;
  }
}

/** A key that is never written: reading it shows whether the storage works. */
export const PROBE_KEY = "~probe";

/**
 * Reads something of one session; undefined, with a warning, if only that cannot be read: a damaged session
 * hides no others. Rejects if the whole storage fails.
 */
export async function unlessDamaged<T>(
  driver: StorageDriver,
  read: () => Promise<T>,
  warn: (message: string) => void,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!CompactError.isInstance(error) || error.code !== "StorageFailed") throw error;
    await driver.get(PROBE_KEY);
    const { place = driver.location, message, hint } = error;
    warn(`a session of the archive is damaged, at ${place}: ${message}. ${hint}`.trim());
    return undefined;
  }
}

/** The session id of a folder: the folder name, unless a valid file in it says otherwise. */
export async function readSessionId(
  driver: StorageDriver,
  folder: string,
  warn: (message: string) => void,
): Promise<string> {
  const stored = await unlessDamaged(driver, () => driver.get(archiveFiles.name(folder)), warn);
  if (stored === undefined) return folder;
  try {
    const { session_id } = JSON.parse(stored.value) as { session_id: string };
    return sessionKey(session_id) === folder ? session_id : folder;
  } catch {
    return folder;
  }
}

/**
 * An event as one JSON line, including the newline. JSON escapes line breaks, so content cannot forge a
 * record.
 */
export function eventLine(event: CompactEvent): string {
  const record = {
    version: event.version,
    name: event.name,
    session_id: event.sessionId,
    trace_id: event.host?.traceId,
    span_id: event.host?.spanId,
    started_at: event.startedAt,
    ended_at: event.endedAt,
    status: event.status,
    properties: event.properties,
    payload: event.payload,
  };
  return `${JSON.stringify(record)}\n`;
}

/** The error of a put whose `ifVersion` no longer holds. */
export function conflict(key: string): CompactError {
  return new CompactError("Conflict", "the stored value was changed by another writer", {
    place: key,
    hint: "Read it again and redo the change on what is there now.",
  });
}

/** False if another writer was faster; other failures are rethrown. */
export async function unlessOvertaken(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (hasCode(error, "Conflict")) return false;
    throw error;
  }
}

// ---- names in the storage: the folder of a session and of its owner, and the keys of a session's files.

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
