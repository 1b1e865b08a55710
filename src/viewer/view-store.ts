import { createEventSession, type EventSession } from "./event-session.ts";
import type { SessionRecord } from "./session-record.ts";
import type { LiveNotice, SessionHead, SessionList } from "./session-view.ts";
import { VIEW_VERSION } from "./session-view.ts";

/** Every session that the page can show. */
export interface ViewStore {
  /** Adds a session of the caller's own making; one of the same id makes room for it. */
  open<T extends { readonly record: SessionRecord }>(make: (changed: () => void) => T): T;
  /** The session of this id that is told by events; made where there is none, in place of the oldest if need be. */
  told(id: string): EventSession;
  get(id: string): SessionRecord | undefined;
  list(): SessionList;
  /** Hears of every change until the returned function is called. */
  listen(listener: (notice: LiveNotice) => void): () => void;
}

export interface ViewStoreOptions {
  /** Sessions told by events at most; 100 when left out. Others stay. */
  readonly mostTold?: number;
}

export function createViewStore({ mostTold = 100 }: ViewStoreOptions = {}): ViewStore {
  const records = new Map<string, SessionRecord>();
  const told = new Map<string, EventSession>();
  const listeners = new Set<(notice: LiveNotice) => void>();
  const waiting = new Set<SessionRecord>();
  let dropped = 0;

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
  const letGo = (name: string, { record: { id } }: EventSession): void => {
    records.delete(id);
    told.delete(name);
    dropped += 1;
    tell({ type: "gone", id });
  };

  return {
    open: add,
    told(id) {
      const known = told.get(id);
      if (known !== undefined) {
        // What was told of last is let go last.
        told.delete(id);
        told.set(id, known);
        return known;
      }
      for (const [name, oldest] of told) {
        if (told.size < mostTold) break;
        letGo(name, oldest);
      }
      // A transcript or an archive of the same session is shown beside what is told of it.
      const free = records.has(id) ? `${id} (events)` : id;
      const made = add((onChange) => createEventSession(free, onChange));
      told.set(id, made);
      return made;
    },
    get: (id) => records.get(id),
    list: () => ({
      version: VIEW_VERSION,
      sessions: [...records.values()].map((record) => record.head()).toSorted(newestFirst),
      dropped,
    }),
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
