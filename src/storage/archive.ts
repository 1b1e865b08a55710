import type { Message } from "../messages/message.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { CompactEvent } from "../tracing/event.ts";
import { eventLine } from "../tracing/record.ts";
import { archiveFiles, readTranscriptKey } from "./archive-files.ts";
import { archiveId, archiveLine } from "./archive-line.ts";
import {
  type ArchivedTranscript,
  type ArchiveEntry,
  collectTranscript,
  noTranscript,
  readTranscriptPieces,
} from "./archive-reader.ts";
import {
  createArchiveSearch,
  type FoundMessage,
  type SearchOptions,
  type SearchResult,
} from "./archive-search.ts";
import { putInChunks, versionOf } from "./chunked.ts";
import { unlessOvertaken } from "./conflict.ts";
import type { StorageDriver } from "./driver.ts";
import { linesOf } from "./search-index/transcript-lines.ts";
import { sessionKey } from "./session-key.ts";

export interface SavedTranscript {
  /** Where it is, for people: folder and file, or URL. */
  readonly location: string;
  /** The step it was saved under: the one asked for, or the next that was free of another transcript. */
  readonly step: number;
  /** One archive id per message, in order. */
  readonly ids: readonly string[];
}

/** Append-only originals of many sessions; everything written has its secrets taken out first. */
export interface Archive {
  readonly location: string;
  /** Whole and durable when it resolves; saving the same messages again changes nothing. */
  saveTranscript(sessionId: string, step: number, messages: readonly Message[]): Promise<SavedTranscript>;
  saveSummary(sessionId: string, step: number, record: object): Promise<{ readonly location: string }>;
  appendEvent(sessionId: string, event: CompactEvent): Promise<void>;
  /** The lines of `events.jsonl` as they were written; a last one that was cut short is left out. */
  streamEvents(sessionId: string): AsyncIterable<string>;
  /** What `saveSummary` was given, secrets taken out; undefined where there is none that can be read. */
  readSummary(sessionId: string, step: number): Promise<object | undefined>;
  /** The ids of all sessions with a transcript, sorted. */
  sessions(): Promise<string[]>;
  /** The steps that have a transcript, ascending. */
  steps(sessionId: string): Promise<number[]>;
  /** Its messages and what is wrong with it, a line at a time; rejects with `NotFound` where there is none. */
  streamTranscript(sessionId: string, step: number): AsyncIterable<ArchiveEntry>;
  /** The same at once. */
  readTranscript(sessionId: string, step: number): Promise<ArchivedTranscript>;
  /** By archive id or the message's own id, as it was archived first; nothing for an id that is not of this session. */
  findMessage(sessionId: string, id: string): Promise<FoundMessage | undefined>;
  /** Messages by their words, best first, each once; see `ArchiveSearch`. */
  search(text: string, options?: SearchOptions): Promise<SearchResult>;
}

export interface ArchiveOptions {
  readonly redact: Pick<Redactor, "redactText" | "redactValue">;
  /** Told when the search index cannot be stored. */
  warn?(message: string): void;
}

/** An archive over any driver; on the file system its files are those of `archiveFiles` under the driver's root. */
export function createArchive(driver: StorageDriver, options: ArchiveOptions): Archive {
  const { redact } = options;
  const place = (key: string): string => `${driver.location}/${key}`;

  const steps = async (sessionId: string): Promise<number[]> => {
    const keys = await driver.list(`${sessionKey(sessionId)}/`);
    const found = keys.map((key) => readTranscriptKey(key)?.step).filter((step) => step !== undefined);
    return found.sort((one, other) => one - other);
  };
  const streamTranscript = async function* (sessionId: string, step: number): AsyncGenerator<ArchiveEntry> {
    const pieces = await begun(driver.stream(archiveFiles.transcript(sessionKey(sessionId), step)));
    const known = pieces.isEmpty ? await steps(sessionId) : [step];
    if (!known.includes(step)) throw noTranscript(sessionId, step, known);
    yield* readTranscriptPieces(pieces.all);
  };
  const index = createArchiveSearch(driver, {
    nameOf: (folder) => readName(driver, folder),
    warn: options.warn,
  });

  return {
    sessions: () => sessions(driver),
    steps,
    streamTranscript,
    readTranscript: (sessionId, step) => collectTranscript(streamTranscript(sessionId, step)),
    location: driver.location,
    saveTranscript: (sessionId, step, messages) =>
      saveTranscript(driver, redact, { sessionId, step, messages }),
    async saveSummary(sessionId, step, record) {
      const key = archiveFiles.summary(sessionKey(sessionId), step);
      await driver.put(key, `${JSON.stringify(redact.redactValue(record), undefined, 2)}\n`);
      return { location: place(key) };
    },
    async appendEvent(sessionId, event) {
      const safe = redact.redactValue({ properties: event.properties, payload: event.payload });
      const line = eventLine({ ...event, ...(safe as Pick<CompactEvent, "properties" | "payload">) });
      await driver.append(archiveFiles.events(sessionKey(sessionId)), line);
    },
    async *streamEvents(sessionId) {
      const pieces = driver.stream(archiveFiles.events(sessionKey(sessionId)));
      for await (const { text, torn } of linesOf(pieces)) if (!torn) yield text;
    },
    readSummary: (sessionId, step) => readRecord(driver, archiveFiles.summary(sessionKey(sessionId), step)),
    findMessage: index.findMessage,
    search: index.search,
  };
}

async function readRecord(driver: StorageDriver, key: string): Promise<object | undefined> {
  const stored = await driver.get(key);
  try {
    const value: unknown = JSON.parse(stored?.value ?? "null");
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface TranscriptToSave {
  readonly sessionId: string;
  readonly step: number;
  readonly messages: readonly Message[];
}

async function saveTranscript(
  driver: StorageDriver,
  redact: ArchiveOptions["redact"],
  { sessionId, step, messages }: TranscriptToSave,
): Promise<SavedTranscript> {
  const session = sessionKey(sessionId);
  const ids = messages.map(archiveId);
  if (session !== sessionId) await saveName(driver, session, sessionId);
  for (let free = step; ; free++) {
    const key = archiveFiles.transcript(session, free);
    const ifVersion = (await versionOf(driver, key)) ?? null;
    const stored = readTranscriptPieces(driver.stream(key));
    const overlap = ifVersion === null ? "extends" : await compare(stored, messages, ids);
    const write = () => putInChunks(driver, key, lines(messages, redact), { ifVersion });
    if (overlap === "extends" && !(await unlessOvertaken(write))) {
      // Another worker saved this step meanwhile: look at what it saved.
      free -= 1;
    } else if (overlap !== "differs") {
      return { location: `${driver.location}/${key}`, step: free, ids };
    }
  }
}

function* lines(messages: readonly Message[], redact: ArchiveOptions["redact"]): Generator<string> {
  for (const [index, message] of messages.entries()) {
    yield archiveLine(message, index + 1, messages.length, redact);
  }
}

/**
 * A retry after a crash, or another worker, finds a transcript where it wants to write. One that holds all our
 * messages is done; one that ours begin with may be replaced, for nothing is lost; any other is left alone.
 */
async function compare(
  stored: AsyncIterable<ArchiveEntry>,
  messages: readonly Message[],
  ids: readonly string[],
): Promise<"holds" | "extends" | "differs"> {
  let index = 0;
  for await (const entry of stored) {
    if ("problem" in entry) {
      if (messages.length > 0) return "differs";
      continue;
    }
    const isOurs = entry.archiveId === ids[index] && entry.message.id === messages[index]?.id;
    if (index < messages.length && !isOurs) return "differs";
    index += 1;
  }
  return index >= messages.length ? "holds" : "extends";
}

/** Waits for the first piece: only a value that is there has one, unless it is empty. */
async function begun(
  pieces: AsyncIterable<string>,
): Promise<{ readonly isEmpty: boolean; readonly all: AsyncIterable<string> }> {
  const rest = pieces[Symbol.asyncIterator]();
  const first = await rest.next();
  return { isEmpty: first.done === true, all: all() };

  async function* all(): AsyncGenerator<string> {
    if (first.done === true) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
}

async function saveName(driver: StorageDriver, session: string, sessionId: string): Promise<void> {
  const text = `${JSON.stringify({ session_id: sessionId })}\n`;
  await unlessOvertaken(() => driver.put(archiveFiles.name(session), text, { ifVersion: null }));
}

async function sessions(driver: StorageDriver): Promise<string[]> {
  const keys = await driver.list("");
  const folders = new Set(
    keys.map((key) => readTranscriptKey(key)?.session).filter((name) => name !== undefined),
  );
  const ids = await Promise.all([...folders].map((folder) => readName(driver, folder)));
  return ids.sort();
}

/** The id behind a folder name: the name itself, unless a file in it says otherwise and is right. */
async function readName(driver: StorageDriver, folder: string): Promise<string> {
  const stored = await driver.get(archiveFiles.name(folder));
  if (stored === undefined) return folder;
  try {
    const { session_id } = JSON.parse(stored.value) as { session_id: string };
    return sessionKey(session_id) === folder ? session_id : folder;
  } catch {
    return folder;
  }
}
