import { hashesOf } from "../messages/content-hash.ts";
import type { Message, Role } from "../messages/message.ts";
import { wireBytes } from "../messages/wire-size.ts";
import type { TriggerReason } from "../policy/trigger.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import { assemble, markSummaries, type SummaryShape } from "./assemble.ts";
import type { ListCodec } from "./list-codec.ts";
import {
  logged,
  type Projection,
  type ProjectionPorts,
  project,
  unlogged,
  type ViewEntry,
} from "./project.ts";
import { emptyState, type LoggedMessage, type SessionState } from "./state.ts";

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
  /** Bytes of the view on the wire. */
  bytes: number;
  /** Tokens of those among them that are system and developer messages. */
  listed: { system: number; developer: number };
  /** Names the counter of the newest look. */
  counterId: string;
  /** Our count of the newest whole request, before any calibration; 0 before the first. */
  estimate: number;
  /** Tokens of the newest request that was looked at, calibrated; 0 before the first. */
  requestTokens: number;
  /** The caller's list is the view: nothing has to be projected. */
  asGiven: boolean;
  /** Attempts in a row that came to nothing; the next waits until the list has grown. */
  stall: { readonly tokens: number; readonly attempts: number; readonly reason: TriggerReason } | undefined;
  /** Whether it was said that what is never pruned is over the trigger by itself. */
  fixedPartTold: boolean;
  /** Milliseconds since 1970 at which a list of this session was last looked at; undefined when nobody knows. */
  seenAt: number | undefined;
  /** True when the last look at a list found a history that the state does not belong to, and nobody was told yet. */
  reset: boolean;
  /** The view is of a history that the state does not belong to: nothing was compacted in it so far. */
  leftBehind: boolean;
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
    bytes: 0,
    listed: { system: 0, developer: 0 },
    counterId: "",
    estimate: 0,
    requestTokens: 0,
    asGiven: true,
    stall: undefined,
    fixedPartTold: false,
    seenAt: undefined,
    reset: false,
    leftBehind: false,
  };
}

/** What of the state holds for the view: of a history that was left behind only what counts on. */
export function standingState({ state, leftBehind }: LiveSession): SessionState {
  if (!leftBehind) return state;
  const { summaryCount, step, calibration } = state;
  return { ...emptyState(), summaryCount, step, calibration };
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
  if (known !== undefined && grow(session, list, { known, ports })) {
    // Who goes on from our output does not come back to the raw list: that one would grow for nothing.
    if (known.isView) session.sources = [known];
    return;
  }
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
  const hashOf = hashesOf(messages);
  for (const [index, message] of messages.entries()) {
    const entry = ports.isPinned(message)
      ? unlogged(message, true, ports)
      : logged(session.log, message, { hash: hashOf(index, message), ports });
    session.entries.push(entry);
    session.view.push(message);
    session.bytes += wireBytes(message);
    addTokens(session, message.role, entry.tokens);
  }
  for (const source of session.sources) {
    // One by one: as arguments of one call very many of them would not fit on the stack.
    for (const native of added) source.natives.push(native);
    for (const message of messages) source.messages.push(message);
  }
  return true;
}

function addTokens(session: LiveSession, role: Role, tokens: number): void {
  session.tokens += tokens;
  if (role === "system" || role === "developer") session.listed[role] += tokens;
}

function setView(
  session: LiveSession,
  view: readonly Message[],
  { entries, count }: { readonly entries: readonly ViewEntry[]; count(message: Message): number },
): void {
  session.entries = [...entries];
  session.view = [...view];
  session.tokens = 0;
  session.listed = { system: 0, developer: 0 };
  session.bytes = view.reduce((total, message) => total + wireBytes(message), 0);
  for (const entry of entries) addTokens(session, entry.message.role, entry.tokens);
  const summary =
    view.length > entries.length
      ? view.find((message) => message.meta?.summaryVersion !== undefined)
      : undefined;
  if (summary !== undefined) addTokens(session, "assistant", count(summary));
}

/** Makes a projection the session's view. */
function show(session: LiveSession, projection: Projection, ports: SessionPorts): void {
  session.log = [...projection.log];
  session.asGiven = projection.asGiven;
  session.reset = projection.reset;
  session.leftBehind = projection.reset;
  setView(session, assemble(projection.kept, projection.summary, ports.shape), {
    entries: projection.kept,
    count: ports.count,
  });
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
  session.log = [...outcome.state.log];
  setView(session, outcome.view, {
    entries: outcome.entries,
    count: (message) => counter.countMessage(message),
  });
  session.asGiven = false;
  session.leftBehind = false;
  session.sources = [
    ...session.sources.slice(0, 1).map((source) => ({ ...source, isView: false })),
    { natives: [...outcome.natives], messages: [...outcome.view], isView: true },
  ];
}
