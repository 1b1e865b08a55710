import { contentHash } from "../messages/content-hash.ts";
import type { Message } from "../messages/message.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import { assemble, markSummaries, type SummaryShape } from "./assemble.ts";
import type { ListCodec } from "./list-codec.ts";
import {
  emptyState,
  type LoggedMessage,
  type Projection,
  type ProjectionPorts,
  project,
  type SessionState,
  type ViewEntry,
} from "./state.ts";

/** A native list that is known to stand for the session's view, with its decoded messages. */
interface Source {
  readonly natives: unknown[];
  readonly messages: Message[];
}

/** One session in memory: its stored state and the view that was made from it last. */
export interface LiveSession {
  readonly id: string;
  state: SessionState;
  /** Version of the stored state; null while nothing is stored. */
  storedVersion: string | null;
  sources: Source[];
  /** Reads the lists of `sources`. */
  codec: ListCodec | undefined;
  entries: ViewEntry[];
  log: LoggedMessage[];
  view: Message[];
  /** Tokens of the view's messages. */
  tokens: number;
  /** Our count of the newest whole request, before any calibration; 0 before the first. */
  estimate: number;
  /** The caller's list is the view: nothing has to be projected. */
  asGiven: boolean;
  /** True when the last look at a list found a history that the state does not belong to. */
  reset: boolean;
}

/** A session that has seen nothing yet. */
export function newSession(id: string, counter: string): LiveSession {
  return {
    id,
    state: emptyState(counter),
    storedVersion: null,
    sources: [],
    codec: undefined,
    entries: [],
    log: [],
    view: [],
    tokens: 0,
    estimate: 0,
    asGiven: true,
    reset: false,
  };
}

export interface SessionPorts extends ProjectionPorts {
  readonly counter: TokenCounter;
  readonly codec: ListCodec;
  readonly shape: SummaryShape;
}

/**
 * Brings the session's view up to date with a list. A list that only grew behind one that is known
 * costs as much as its new messages; any other is projected as a whole.
 */
export function look(session: LiveSession, list: readonly unknown[], ports: SessionPorts): void {
  const source = session.sources.find((known) => startsWith(list, known.natives));
  if (source !== undefined && grow(session, list.slice(source.natives.length), { source, ports })) return;
  const messages = markSummaries(ports.codec.decode(list));
  show(session, project(messages, session.state, ports), ports);
  session.sources = [{ natives: [...list], messages }];
}

/** True for a list that begins with one that was seen before, object by object. */
export function knows(session: LiveSession, list: readonly unknown[]): boolean {
  return session.sources.some((source) => startsWith(list, source.natives));
}

function startsWith(list: readonly unknown[], natives: readonly unknown[]): boolean {
  if (natives.length === 0 || list.length < natives.length) return false;
  for (let index = natives.length - 1; index >= 0; index -= 1)
    if (list[index] !== natives[index]) return false;
  return true;
}

/** Adds new messages to everything that is known; false when one of them is a summary of ours. */
function grow(
  session: LiveSession,
  added: readonly unknown[],
  { source, ports }: { readonly source: Source; readonly ports: SessionPorts },
): boolean {
  if (added.length === 0) return true;
  const messages = markSummaries(ports.codec.decode(added, source.messages));
  if (messages.some((message) => message.meta?.summaryVersion !== undefined)) return false;
  for (const message of messages) {
    const pinned = ports.isPinned(message);
    const tokens = ports.counter.countMessage(message);
    const at = pinned ? undefined : session.log.push([contentHash(message), tokens]) - 1;
    session.entries.push({ message, pinned, at, edit: undefined });
    session.view.push(message);
    session.tokens += tokens;
  }
  for (const known of session.sources) {
    known.natives.push(...added);
    known.messages.push(...messages);
  }
  return true;
}

/** Makes a projection the session's view. */
function show(session: LiveSession, projection: Projection, ports: SessionPorts): void {
  session.entries = [...projection.kept];
  session.log = [...projection.log];
  session.asGiven = projection.asGiven;
  session.reset = projection.reset;
  session.view = assemble(projection.kept, projection.summary, ports.shape);
  session.tokens = session.view.reduce((total, message) => total + ports.counter.countMessage(message), 0);
}

/** Takes over the view that a compaction left behind: raw list and output both stand for it from now on. */
export function settle(
  session: LiveSession,
  outcome: {
    readonly state: SessionState;
    readonly entries: readonly ViewEntry[];
    readonly view: readonly Message[];
    readonly natives: readonly unknown[];
  },
  counter: TokenCounter,
): void {
  session.state = outcome.state;
  session.entries = [...outcome.entries];
  session.log = [...outcome.state.log];
  session.view = [...outcome.view];
  session.tokens = outcome.view.reduce((total, message) => total + counter.countMessage(message), 0);
  session.asGiven = false;
  session.sources = [
    ...session.sources.slice(0, 1),
    { natives: [...outcome.natives], messages: [...outcome.view] },
  ];
}
