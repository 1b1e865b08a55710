import { signal } from "@preact/signals";
import { type CompactionView, type MessageView, MOST_MESSAGES } from "../session-view.ts";
import { api } from "./api.ts";
import { reasonOf } from "./text.ts";

/** Grows whenever messages or compactions that were waited for have arrived. */
export const arrivals = signal(0);
/** Why something that was asked for has not come. */
export const missed = signal<string | undefined>(undefined);

let session: string | undefined;
let messages: (MessageView | undefined)[] = [];
let compactions = new Map<number, CompactionView>();
let asked = new Set<string>();

function ask<T>(key: string, fetch: (session: string) => Promise<T>, keep: (found: T) => void): void {
  const about = session;
  if (about === undefined || asked.has(key)) return;
  asked.add(key);
  fetch(about).then(
    (found) => {
      if (session !== about) return;
      asked.delete(key);
      keep(found);
      arrivals.value += 1;
    },
    // What failed is not asked for again: the page would ask without end.
    (error: unknown) => {
      if (session === about) missed.value = reasonOf(error);
    },
  );
}

/** Messages and compactions of one session, fetched when they are first looked at. */
export const originals = {
  /** Forgets everything unless it is about this session. */
  about(id: string): void {
    if (id === session) return;
    session = id;
    messages = [];
    compactions = new Map();
    asked = new Set();
    missed.value = undefined;
  },
  /** `undefined` while it is on its way. In a live session what is not there yet is asked for again later. */
  message(index: number): MessageView | undefined {
    const known = messages[index];
    if (known !== undefined) return known;
    const from = Math.floor(index / MOST_MESSAGES) * MOST_MESSAGES;
    ask(
      `messages ${from}`,
      (id) => api.messages(id, from, from + MOST_MESSAGES),
      (page) => {
        for (const message of page.messages) messages[message.index] = message;
      },
    );
    return undefined;
  },
  compaction(index: number): CompactionView | undefined {
    const known = compactions.get(index);
    if (known !== undefined) return known;
    ask(
      `compaction ${index}`,
      (id) => api.compaction(id, index),
      (found) => compactions.set(index, found),
    );
    return undefined;
  },
};
