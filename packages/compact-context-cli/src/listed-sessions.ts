import type { Archive, SessionOwner } from "compact-context/recall";
import { firstWords } from "./render/safe.ts";
import { typedAsk } from "./view/message-view.ts";
import { statedMessages, storedRecord } from "./view/stored-record.ts";

/** A session of an archive, as a list shows it; what its newest step says, and nothing where that says nothing. */
export interface ListedSession {
  readonly id: string;
  readonly steps: readonly number[];
  /** The first words that its user typed. */
  readonly title?: string;
  /** ISO 8601: when the newest step was compacted. */
  readonly at?: string;
  /** Of the newest list, before it was compacted. */
  readonly messages: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
}

const TITLE_LENGTH = 200;

/** All sessions of an archive in the order of their ids; lists are read one after the other, never held whole. */
export async function listedSessions(archive: Archive, owner?: SessionOwner): Promise<ListedSession[]> {
  const sessions: ListedSession[] = [];
  for (const id of await archive.sessions(owner)) sessions.push(await listed(archive, id));
  return sessions;
}

async function listed(archive: Archive, id: string): Promise<ListedSession> {
  const steps = await archive.steps(id);
  const [first, newest] = [steps[0], steps.at(-1)];
  if (first === undefined || newest === undefined) return { id, steps, messages: 0 };
  const record = await archive.readSummary(id, newest);
  const messages = statedMessages(record) ?? (await countMessages(archive, id, newest));
  const { at, tokensBefore, tokensAfter } = storedRecord(record, messages);
  const title = await firstAsk(archive, id, first);
  return { id, steps, title, at, messages, tokensBefore, tokensAfter };
}

async function firstAsk(archive: Archive, id: string, step: number): Promise<string | undefined> {
  for await (const entry of archive.streamTranscript(id, step)) {
    const ask = "problem" in entry ? undefined : typedAsk(entry.message);
    if (ask !== undefined) return firstWords(ask, TITLE_LENGTH);
  }
  return undefined;
}

async function countMessages(archive: Archive, id: string, step: number): Promise<number> {
  let count = 0;
  for await (const entry of archive.streamTranscript(id, step)) if (!("problem" in entry)) count += 1;
  return count;
}
