import { archiveId, type Message } from "../core/message.ts";
import type { StorageDriver } from "../core/ports.ts";
import {
  archiveFiles,
  hasOwner,
  keysOf,
  openRecord,
  ownerFolder,
  PROBE_KEY,
  readTranscriptKey,
  type SessionOwner,
  sealRecord,
  sessionKey,
} from "../core/records.ts";
import type { ArchiveReceipt, CompactEvent, TranscriptStore } from "../core/report.ts";
import { batches, CompactError, hasCode, unlessOvertaken } from "../errors.ts";
import {
  type ArchivedTranscript,
  type ArchiveEntry,
  type ArchivePlace,
  archiveLine,
  type LineHead,
  linesOf,
  noTranscript,
  ownChecksum,
  type Redact,
  readLineHead,
  readTranscriptPieces,
  referringLine,
  sorted,
} from "./transcript.ts";

// The archive of a session: a folder with a transcript and a summary per compaction, and events. Transcripts
// have one line per message, see `transcript.ts`. Everything is redacted before it is written.

/** Append-only originals of many sessions. */
export interface ArchiveStore extends TranscriptStore {
  readonly location: string;
  appendEvents(sessionId: string, events: readonly CompactEvent[]): Promise<void>;
  /** The complete lines of `events.jsonl`. */
  streamEvents(sessionId: string): AsyncIterable<string>;
  /** The ids of all sessions with a transcript, sorted: the owner's, or those without owner. */
  sessions(owner?: SessionOwner): Promise<string[]>;
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
    saveTranscript: (...transcript) => saveTranscript(driver, redact, ...transcript),
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
    async readSummary(sessionId, step) {
      const key = archiveFiles.summary(sessionKey(sessionId), step);
      const stored = await driver.get(key);
      if (stored === undefined) return undefined;
      try {
        return openRecord(stored.value, SUMMARY_SCHEMA, `${driver.location}/${key}`).record;
      } catch (error) {
        if (CompactError.isInstance(error)) throw error;
        return undefined;
      }
    },
  };
}

/** Layout version of summary files; version 1 had neither schema nor checksum. */
const SUMMARY_SCHEMA = 2;

async function saveTranscript(
  driver: StorageDriver,
  redact: Redact,
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
      return driver.put(key, lines(messages, idAt, known, redact), put);
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

function* lines(
  messages: readonly Message[],
  idAt: (index: number) => string,
  known: ReadonlyMap<string, ArchivePlace>,
  redact: Redact,
): Generator<string> {
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
  const ids: string[] = [];
  for (const some of batches([...folders], AT_ONCE)) {
    ids.push(...(await Promise.all(some.map((folder) => readSessionId(driver, folder, warn)))));
  }
  return ids.sort();
}

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
    if (!hasCode(error, "StorageFailed")) throw error;
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
