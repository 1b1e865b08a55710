import { createEventReader, type EventReader, type TracedEvent } from "./event-reader.ts";
import { EVENT_LAYERS } from "./message-view.ts";
import { Originals } from "./originals.ts";
import { SessionRecord } from "./session-record.ts";
import type { LiveNotice, SessionList, SpanView } from "./session-view.ts";

interface ViewStoreOptions {
  /** Sessions known only by events; others are never evicted. Default: 100. */
  readonly maxEventSessions?: number;
  /** Characters of their events, approximately. Default: 100 million. */
  readonly maxSize?: number;
}

/** Changes within this time are sent as one notice for each session. */
const NOTICE_MS = 50;
/** Characters of one session's spans and summaries. */
const MAX_SESSION_SIZE = 32_000_000;

/** The sessions of the page. */
export class ViewStore {
  readonly #maxEventSessions: number;
  readonly #maxSize: number;
  readonly #records = new Map<string, SessionRecord>();
  /** By the name in their events, the least recently updated first. */
  readonly #eventSessions = new Map<string, EventSession>();
  readonly #listeners = new Set<(notice: LiveNotice) => void>();
  readonly #changed = new Set<SessionRecord>();
  #dropped = 0;
  #size = 0;

  constructor({ maxEventSessions = 100, maxSize = 100_000_000 }: ViewStoreOptions = {}) {
    this.#maxEventSessions = maxEventSessions;
    this.#maxSize = maxSize;
  }

  /** Adds a session; it replaces one of the same id. */
  add(record: SessionRecord): void {
    record.onChange = () => this.#markChanged(record);
    this.#records.set(record.id, record);
    record.onChange();
  }

  /** Gets or creates the session known by events, for an event of `size` characters; evicts the least recent ones. */
  eventSession(name: string, size: number): EventSession {
    const known = this.#eventSessions.get(name);
    this.#eventSessions.delete(name);
    this.#makeRoom(known === undefined ? 1 : 0, size);
    const session = known ?? new EventSession(this.#freeId(name));
    if (known === undefined) this.add(session.record);
    this.#eventSessions.set(name, session);
    this.#size += session.reserve(size);
    return session;
  }

  get(id: string): SessionRecord | undefined {
    return this.#records.get(id);
  }

  list(): SessionList {
    const sessions = this.records().map((record) => record.head());
    return {
      sessions: sessions.toSorted(
        (one, other) =>
          (other.updatedAt ?? "").localeCompare(one.updatedAt ?? "") || one.id.localeCompare(other.id),
      ),
      dropped: this.#dropped,
    };
  }

  records(): readonly SessionRecord[] {
    return [...this.#records.values()];
  }

  /** Calls the listener on every change; returns a function that removes it. */
  listen(listener: (notice: LiveNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(notice: LiveNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  #markChanged(record: SessionRecord): void {
    if (this.#listeners.size === 0) return;
    if (this.#changed.size === 0) setTimeout(() => this.#flush(), NOTICE_MS).unref();
    this.#changed.add(record);
  }

  #flush(): void {
    for (const record of this.#changed)
      if (this.#records.has(record.id)) this.#notify({ type: "session", session: record.head() });
    this.#changed.clear();
  }

  // A transcript or an archive of the same session keeps the id.
  #freeId(id: string): string {
    return this.#records.has(id) ? this.#freeId(`${id} (events)`) : id;
  }

  #makeRoom(sessions: number, size: number): void {
    for (const [name, session] of this.#eventSessions) {
      const isFree =
        this.#eventSessions.size + sessions <= this.#maxEventSessions && this.#size + size <= this.#maxSize;
      if (isFree) return;
      const { id } = session.record;
      this.#records.delete(id);
      this.#eventSessions.delete(name);
      this.#size -= session.size;
      this.#dropped += 1;
      this.#notify({ type: "gone", id });
    }
  }
}

/** A session known only by events: it has no messages, and its only texts are the summaries. */
class EventSession {
  readonly record: SessionRecord;
  readonly reader: EventReader;
  /** Characters, approximately. */
  size = 0;
  #isFull = false;

  constructor(id: string) {
    const originals = new Originals({
      messages: () => [],
      compactions: () => this.reader.compactions,
      indexOf: ({ index }) => index,
      countMessage: () => 0,
      search: async () => ({ hits: [], problems: 0 }),
    });
    const facts = { layers: EVENT_LAYERS, live: true };
    this.record = new SessionRecord({ id, source: "events", originals }, facts);
    this.reader = createEventReader(this.record);
  }

  /** Reserves space for an event and returns its size; 0 if the session is full. */
  reserve(more: number): number {
    this.#isFull = this.size + more > MAX_SESSION_SIZE;
    if (this.#isFull) return 0;
    this.size += more;
    return more;
  }

  /** Stores a span; a full session only counts it. */
  addSpan(span: SpanView): void {
    if (this.#isFull) this.record.drop();
    else this.record.addSpan(span);
  }

  /** Stores an event's span and applies what the event reports. */
  add(event: TracedEvent): void {
    if (this.#isFull) {
      this.record.drop();
      this.reader.apply({ ...event, payload: undefined });
    } else this.reader.add(event);
  }
}
