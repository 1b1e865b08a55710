import type { CompactionView, MessagePage, MessageView } from "../session-view.ts";

/** Where originals come from. */
export interface OriginalsPorts {
  messages(session: string, from: number, to: number): Promise<MessagePage>;
  compaction(session: string, index: number): Promise<CompactionView>;
  /** Something that was asked for is here. */
  arrived(): void;
  failed(error: unknown): void;
}

/** Messages and compactions of one session, fetched when they are first looked at. */
export interface Originals {
  /** Forgets everything unless it is about this session. */
  about(session: string | undefined): void;
  /** `undefined` while it is on its way. */
  message(index: number): MessageView | undefined;
  compaction(index: number): CompactionView | undefined;
}

const PAGE = 250;

/** `total` of a page may be less than asked for in a live session: what is missing is asked for again later. */
export function createOriginals(ports: OriginalsPorts): Originals {
  let session: string | undefined;
  let messages: (MessageView | undefined)[] = [];
  let compactions = new Map<number, CompactionView>();
  let asked = new Set<string>();

  const ask = <T>(key: string, fetch: (session: string) => Promise<T>, keep: (found: T) => void): void => {
    const about = session;
    if (about === undefined || asked.has(key)) return;
    asked.add(key);
    fetch(about).then(
      (found) => {
        if (session !== about) return;
        asked.delete(key);
        keep(found);
        ports.arrived();
      },
      // What failed is not asked for again: the page would ask without end.
      (error) => session === about && ports.failed(error),
    );
  };

  return {
    about(id) {
      if (id === session) return;
      session = id;
      messages = [];
      compactions = new Map();
      asked = new Set();
    },
    message(index) {
      const known = messages[index];
      if (known !== undefined) return known;
      const from = Math.floor(index / PAGE) * PAGE;
      ask(
        `messages ${from}`,
        (id) => ports.messages(id, from, from + PAGE),
        (page) => {
          for (const message of page.messages) messages[message.index] = message;
        },
      );
      return undefined;
    },
    compaction(index) {
      const known = compactions.get(index);
      if (known === undefined) {
        ask(
          `compaction ${index}`,
          (id) => ports.compaction(id, index),
          (found) => compactions.set(index, found),
        );
      }
      return known;
    },
  };
}
