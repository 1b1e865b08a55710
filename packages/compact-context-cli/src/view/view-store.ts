import { createEventReader, type EventReader, type TracedEvent } from "./event-reader.ts";
import { EVENT_LAYERS } from "./message-view.ts";
import { createRecord, NO_FACTS, type SessionRecord } from "./session-record.ts";
import type { LiveNotice, SessionHead, SessionList, SpanView } from "./session-view.ts";
import { NO_SOURCES, summaryPieces } from "./source-index.ts";

/** The sessions of the page. */
export interface ViewStore {
  /** Adds the session that `make` creates; it replaces one of the same id. */
  open<T extends { readonly record: SessionRecord }>(make: (changed: () => void) => T): T;
  /** Gets or creates the session known by events, for an event of `size` characters; evicts the least recent ones. */
  eventSession(id: string, size: number): EventSession;
  get(id: string): SessionRecord | undefined;
  list(): SessionList;
  /** The sessions whose originals can be searched. */
  searchable(): readonly SessionRecord[];
  /** Calls the listener on every change; returns a function that removes it. */
  listen(listener: (notice: LiveNotice) => void): () => void;
}

interface ViewStoreOptions {
  /** Sessions known only by events; others are never evicted. Default: 100. */
  readonly maxEventSessions?: number;
  /** Characters of their events, approximately. Default: 100 million. */
  readonly maxSize?: number;
}

/** Changes within this time are sent as one notice for each session. */
const NOTICE_MS = 50;

export function createViewStore({
  maxEventSessions = 100,
  maxSize = 100_000_000,
}: ViewStoreOptions = {}): ViewStore {
  const records = new Map<string, SessionRecord>();
  /** The least recently updated first. */
  const eventSessions = new Map<string, EventSession>();
  const listeners = new Set<(notice: LiveNotice) => void>();
  const changed = new Set<SessionRecord>();
  let dropped = 0;
  let totalSize = 0;

  const notify = (notice: LiveNotice): void => {
    for (const listener of listeners) listener(notice);
  };
  const flush = (): void => {
    const heads = [...changed].map((record) => record.head());
    changed.clear();
    for (const session of heads) if (records.has(session.id)) notify({ type: "session", session });
  };
  const markChanged = (record: SessionRecord): void => {
    if (listeners.size === 0) return;
    if (changed.size === 0) setTimeout(flush, NOTICE_MS).unref();
    changed.add(record);
  };
  const open: ViewStore["open"] = (make) => {
    let session: ReturnType<typeof make> | undefined;
    const onChange = (): void => {
      if (session !== undefined) markChanged(session.record);
    };
    session = make(onChange);
    records.set(session.record.id, session.record);
    onChange();
    return session;
  };
  // A transcript or an archive of the same session keeps the id.
  const freeId = (id: string): string => (records.has(id) ? freeId(`${id} (events)`) : id);
  const evict = (name: string, { size, record: { id } }: EventSession): void => {
    records.delete(id);
    eventSessions.delete(name);
    totalSize -= size;
    dropped += 1;
    notify({ type: "gone", id });
  };
  const makeRoom = (sessions: number, size: number): void => {
    for (const [name, session] of eventSessions) {
      if (eventSessions.size + sessions <= maxEventSessions && totalSize + size <= maxSize) return;
      evict(name, session);
    }
  };

  return {
    open,
    eventSession(id, size) {
      const known = eventSessions.get(id);
      eventSessions.delete(id);
      makeRoom(known === undefined ? 1 : 0, size);
      const session = known ?? open((onChange) => createEventSession(freeId(id), onChange));
      eventSessions.set(id, session);
      totalSize += session.reserve(size);
      return session;
    },
    get: (id) => records.get(id),
    list: () => ({
      sessions: [...records.values()].map((record) => record.head()).toSorted(newestFirst),
      dropped,
    }),
    searchable: () => [...records.values()].filter((record) => record.head().searchable),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function newestFirst(one: SessionHead, other: SessionHead): number {
  return (other.updatedAt ?? "").localeCompare(one.updatedAt ?? "") || one.id.localeCompare(other.id);
}

/** A session known only by events: it has no messages, and its only texts are the summaries. */
interface EventSession {
  readonly record: SessionRecord;
  readonly reader: EventReader;
  /** Characters, approximately. */
  readonly size: number;
  /** Reserves space for an event and returns its size; 0 if the session is full. */
  reserve(size: number): number;
  /** Stores a span; a full session only counts it. */
  addSpan(span: SpanView): void;
  /** Stores an event's span and applies what the event reports. */
  add(event: TracedEvent): void;
}

/** Characters of one session's spans and summaries. */
const MAX_SESSION_SIZE = 32_000_000;

function createEventSession(id: string, changed: () => void): EventSession {
  let reader: EventReader | undefined;
  let size = 0;
  let isFull = false;
  const record = createRecord({
    id,
    source: "events",
    facts: { ...NO_FACTS, layers: EVENT_LAYERS, title: id, live: true, searchable: false },
    originals: {
      count: () => 0,
      message: () => undefined,
      open: async ({ index }) => ({
        messages: reader?.outcomesOf(index) ?? [],
        summary: summaryPieces(reader?.summaryOf(index) ?? "", { index: NO_SOURCES, has: () => false }),
      }),
      expand: async () => undefined,
      search: async () => ({ hits: [], problems: 0 }),
    },
    changed,
  });
  reader = createEventReader({ record });
  return {
    record,
    reader,
    get size() {
      return size;
    },
    reserve(more) {
      isFull = size + more > MAX_SESSION_SIZE;
      if (isFull) return 0;
      size += more;
      return more;
    },
    addSpan(span) {
      if (isFull) record.drop();
      else record.addSpan(span);
    },
    add(event) {
      if (!isFull) return reader?.add(event);
      record.drop();
      reader?.apply({ ...event, payload: undefined });
    },
  };
}
