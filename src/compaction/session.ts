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
export interface Source {
  readonly natives: unknown[];
  readonly messages: Message[];
  /** The list itself is the view: it can go back to the caller as it is. */
  readonly isView: boolean;
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
  /** Those of them in system and developer messages. */
  listed: { system: number; developer: number };
  /** Our count of the newest whole request, before any calibration; 0 before the first. */
  estimate: number;
  /** The caller's list is the view: nothing has to be projected. */
  asGiven: boolean;
  /** True when the last look at a list found a history that the state does not belong to. */
  reset: boolean;
}

/** A session that has seen nothing yet. */
export function newSession(id: string): LiveSession {
  return {
    id,
    state: emptyState(),
    storedVersion: null,
    sources: [],
    codec: undefined,
    entries: [],
    log: [],
    view: [],
    tokens: 0,
    listed: { system: 0, developer: 0 },
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

/** The list among those seen before that this one begins with, object by object. */
export function knownSource(session: LiveSession, list: readonly unknown[]): Source | undefined {
  return session.sources.find((source) => startsWith(list, source.natives));
}

/**
 * Brings the session's view up to date with a list. A list that only grew behind a known one costs as
 * much as its new messages; any other is projected as a whole.
 */
export function look(
  session: LiveSession,
  list: readonly unknown[],
  { known, ports }: { readonly known: Source | undefined; readonly ports: SessionPorts },
): void {
  if (known !== undefined && grow(session, list, { known, ports })) return;
  const messages = markSummaries(ports.codec.decode(list));
  const projection = project(messages, session.state, ports);
  show(session, projection, ports);
  session.sources = [{ natives: [...list], messages, isView: projection.asGiven }];
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
  list: readonly unknown[],
  { known, ports }: { readonly known: Source; readonly ports: SessionPorts },
): boolean {
  const added = list.slice(known.natives.length);
  const messages = added.length === 0 ? [] : markSummaries(ports.codec.decode(added, known.messages));
  if (messages.some((message) => message.meta?.summaryVersion !== undefined)) return false;
  session.asGiven = known.isView;
  for (const message of messages) {
    const pinned = ports.isPinned(message);
    const at = pinned ? undefined : session.log.push([contentHash(message), ports.count(message)]) - 1;
    session.entries.push({ message, pinned, at, edit: undefined });
    session.view.push(message);
    addTokens(session, message, ports.count(message));
  }
  for (const source of session.sources) {
    source.natives.push(...added);
    source.messages.push(...messages);
  }
  return true;
}

function addTokens(session: LiveSession, message: Message, tokens: number): void {
  session.tokens += tokens;
  if (message.role === "system" || message.role === "developer") session.listed[message.role] += tokens;
}

function setView(session: LiveSession, view: readonly Message[], count: (message: Message) => number): void {
  session.view = [...view];
  session.tokens = 0;
  session.listed = { system: 0, developer: 0 };
  for (const message of view) addTokens(session, message, count(message));
}

/** Makes a projection the session's view. */
function show(session: LiveSession, projection: Projection, ports: SessionPorts): void {
  session.entries = [...projection.kept];
  session.log = [...projection.log];
  session.asGiven = projection.asGiven;
  session.reset = projection.reset;
  setView(session, assemble(projection.kept, projection.summary, ports.shape), ports.count);
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
  setView(session, outcome.view, (message) => counter.countMessage(message));
  session.asGiven = false;
  session.sources = [
    ...session.sources.slice(0, 1).map((source) => ({ ...source, isView: false })),
    { natives: [...outcome.natives], messages: [...outcome.view], isView: true },
  ];
}
