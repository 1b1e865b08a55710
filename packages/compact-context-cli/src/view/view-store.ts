import { createEventReader, type EventReader, type ToldEvent } from "./event-reader.ts";
import { EVENT_LAYERS } from "./message-view.ts";
import { createRecord, NO_FACTS, type SessionRecord } from "./session-record.ts";
import {
  type LiveNotice,
  type SessionHead,
  type SessionList,
  type SpanView,
  VIEW_VERSION,
} from "./session-view.ts";
import { NO_SOURCES, summaryPieces } from "./source-index.ts";

/** Every session that the page can show. */
export interface ViewStore {
  /** Adds a session of the caller's own making; one of the same id makes room for it. */
  open<T extends { readonly record: SessionRecord }>(make: (changed: () => void) => T): T;
  /** The session of this id that is told by events, for an event of so many characters; the oldest make room for it. */
  told(id: string, weight: number): EventSession;
  get(id: string): SessionRecord | undefined;
  list(): SessionList;
  /** The sessions whose originals can be searched. */
  searchable(): readonly SessionRecord[];
  /** Hears of every change until the returned function is called. */
  listen(listener: (notice: LiveNotice) => void): () => void;
}

interface ViewStoreOptions {
  /** Sessions told by events at most; 100 when left out. Others stay. */
  readonly maxEventSessions?: number;
  /** Characters that they hold together at most, roughly; 100 million when left out. */
  readonly maxWeight?: number;
}

export function createViewStore({
  maxEventSessions = 100,
  maxWeight = 100_000_000,
}: ViewStoreOptions = {}): ViewStore {
  const records = new Map<string, SessionRecord>();
  const told = new Map<string, EventSession>();
  const listeners = new Set<(notice: LiveNotice) => void>();
  const waiting = new Set<SessionRecord>();
  let dropped = 0;
  let total = 0;

  const tell = (notice: LiveNotice): void => {
    for (const listener of listeners) listener(notice);
  };
  // Many changes come at once: they are told together.
  const changed = (record: () => SessionRecord | undefined): void => {
    if (listeners.size === 0) return;
    if (waiting.size === 0) {
      setTimeout(() => {
        const heads = [...waiting].map((one) => one.head());
        waiting.clear();
        for (const session of heads) if (records.has(session.id)) tell({ type: "session", session });
      }, NOTICE_MS).unref();
    }
    const one = record();
    if (one !== undefined) waiting.add(one);
  };
  const add = <T extends { readonly record: SessionRecord }>(make: (changed: () => void) => T): T => {
    let made: T | undefined;
    made = make(() => changed(() => made?.record));
    records.set(made.record.id, made.record);
    changed(() => made?.record);
    return made;
  };
  // A transcript or an archive of the same session is shown beside what is told of it.
  const freeId = (id: string): string => (records.has(id) ? freeId(`${id} (events)`) : id);
  const letGo = (name: string, { weight, record: { id } }: EventSession): void => {
    records.delete(id);
    told.delete(name);
    total -= weight;
    dropped += 1;
    tell({ type: "gone", id });
  };
  const makeRoom = (sessions: number, weight: number): void => {
    for (const [name, oldest] of told) {
      if (told.size + sessions <= maxEventSessions && total + weight <= maxWeight) return;
      letGo(name, oldest);
    }
  };

  return {
    open: add,
    told(id, weight) {
      const known = told.get(id);
      // What was told of last is let go last.
      told.delete(id);
      makeRoom(known === undefined ? 1 : 0, weight);
      const session = known ?? add((onChange) => createEventSession(freeId(id), onChange));
      told.set(id, session);
      const before = session.weight;
      session.take(weight);
      total += session.weight - before;
      return session;
    },
    get: (id) => records.get(id),
    list: () => ({
      version: VIEW_VERSION,
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

/** How long changes are gathered before they are told. */
const NOTICE_MS = 50;

function newestFirst(one: SessionHead, other: SessionHead): number {
  return (other.updatedAt ?? "").localeCompare(one.updatedAt ?? "") || one.id.localeCompare(other.id);
}

/** A session that is told by events alone: no messages, no texts but the summaries. */
interface EventSession {
  readonly record: SessionRecord;
  readonly reader: EventReader;
  /** Characters that it holds, roughly. */
  readonly weight: number;
  /** Makes room for an event of so many characters; false where the session is full. */
  take(weight: number): boolean;
  /** Keeps a span; a full session only counts it. */
  addSpan(span: SpanView): void;
  /** Keeps an event's span, and learns what it says. */
  add(event: ToldEvent): void;
}

/** Most characters of one session's spans and summaries. */
const MAX_WEIGHT = 32_000_000;

function createEventSession(id: string, changed: () => void): EventSession {
  let reader: EventReader | undefined;
  let weight = 0;
  let full = false;
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
  reader = createEventReader({ record, spansOnly: false });
  return {
    record,
    reader,
    get weight() {
      return weight;
    },
    take(more) {
      full = weight + more > MAX_WEIGHT;
      if (!full) weight += more;
      return !full;
    },
    addSpan(span) {
      if (full) record.drop();
      else record.addSpan(span);
    },
    add(event) {
      if (!full) return reader?.add(event);
      record.drop();
      reader?.learn({ ...event, payload: undefined });
    },
  };
}
