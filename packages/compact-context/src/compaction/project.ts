import { contentHash, hashesOf } from "../messages/content-hash.ts";
import type { Message } from "../messages/message.ts";
import { type LiveSummary, summaryOf } from "./assemble.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";
import { fingerprintOf, type KeptMessage, type LoggedMessage, type SessionState } from "./state.ts";

/** A message of the view; `at` is its place in the log, which pinned messages and foreign summaries have none in. */
export interface ViewEntry {
  readonly message: Message;
  readonly pinned: boolean;
  readonly at: number | undefined;
  /** All edits so far, from the original. */
  readonly edit: Edit | undefined;
  readonly tokens: number;
}

export interface Projection {
  /** What stays, in order, without the summary. */
  readonly kept: readonly ViewEntry[];
  /** The summary that belongs into the view. */
  readonly summary: LiveSummary | undefined;
  /** The list itself is the view (nothing to project, or it is our own last output). */
  readonly asGiven: boolean;
  /** The log, grown by what the list added. */
  readonly log: readonly LoggedMessage[];
  /** The history no longer begins with what was compacted: the state was left behind. */
  readonly reset: boolean;
}

export interface ProjectionPorts {
  /** Names the counter behind `count`: what another one counted is counted again. */
  readonly counterId: string;
  isPinned(message: Message): boolean;
  count(message: Message): number;
  readonly edit: EditContext;
}

/**
 * Maps a list, raw or our own earlier output with new messages behind it, to the same view. Messages
 * are recognised by content and order, so ids are not needed and equal texts are never confused.
 */
export function project(
  messages: readonly Message[],
  stored: SessionState,
  ports: ProjectionPorts,
): Projection {
  const state = stored.counter === ports.counterId ? stored : recounted(stored);
  const own = messages.findIndex((message) => isLiveSummary(message, state));
  if (own >= 0) return projectOutput(messages, own, { state, ports });
  const changed = lastChanged(state);
  if (state.summary === undefined && changed === -1)
    return asItIs(messages, state.log, { ports, reset: false });
  const foreign = messages.some((message) => message.meta?.summaryVersion !== undefined);
  const raw = foreign ? undefined : projectRaw(messages, changed, { state, ports });
  if (raw !== undefined) return raw;
  if (state.summary === undefined && isOutput(messages, state, ports)) {
    return projectOutput(messages, -1, { state, ports });
  }
  return asItIs(messages, [], { ports, reset: true });
}

/** Stands for "not counted yet": any count of a message is positive. */
const UNCOUNTED = 0;

function recounted(state: SessionState): SessionState {
  return { ...state, log: state.log.map(([hash]): LoggedMessage => [hash, UNCOUNTED]) };
}

interface Known {
  readonly state: SessionState;
  readonly ports: ProjectionPorts;
}

function isLiveSummary(message: Message, state: SessionState): boolean {
  if (state.summary === undefined || message.meta?.summaryVersion !== state.summary.version) return false;
  const text = summaryOf(message)?.text;
  return text !== undefined && fingerprintOf(text) === state.summary.fingerprint;
}

/** The newest place in the log that is dropped or edited in the view; -1 for none. */
function lastChanged(state: SessionState): number {
  let at = state.log.length - 1;
  for (let index = state.kept.length - 1; index >= 0; index -= 1, at -= 1) {
    const entry = state.kept[index];
    if (entry?.at !== at || entry.edit !== undefined) return at;
  }
  return at;
}

/** The list is the view; messages that were counted before, at the same place, are not counted again. */
function asItIs(
  messages: readonly Message[],
  counted: readonly LoggedMessage[],
  { ports, reset }: { readonly ports: ProjectionPorts; readonly reset: boolean },
): Projection {
  const log: LoggedMessage[] = [];
  const hashOf = hashesOf(messages);
  const kept = messages.map((message, index): ViewEntry => {
    const pinned = ports.isPinned(message);
    if (pinned || message.meta?.summaryVersion !== undefined) return unlogged(message, pinned, ports);
    const hash = hashOf(index, message);
    const before = counted[log.length];
    if (before?.[0] !== hash || before[1] === UNCOUNTED) return logged(log, message, { hash, ports });
    return { message, pinned, at: log.push(before) - 1, edit: undefined, tokens: before[1] };
  });
  return { kept, summary: undefined, asGiven: true, log, reset };
}

type Counting = Pick<ProjectionPorts, "count">;

/** A message that is no part of the log. */
export function unlogged(message: Message, pinned: boolean, ports: Counting): ViewEntry {
  return { message, pinned, at: undefined, edit: undefined, tokens: ports.count(message) };
}

/** A message that the log did not know. */
export function logged(
  log: LoggedMessage[],
  message: Message,
  { hash, ports }: { readonly hash: string; readonly ports: Counting },
): ViewEntry {
  const tokens = ports.count(message);
  const at = log.push([hash, tokens]) - 1;
  return { message, pinned: false, at, edit: undefined, tokens };
}

/** A message that the log knows, with the edits it was given. */
function edited(message: Message, entry: KeptMessage, { state, ports }: Known): ViewEntry {
  const shown = applyEdit(message, entry.edit, ports.edit);
  const before = shown === message ? state.log[entry.at]?.[1] : undefined;
  const tokens = before === undefined || before === UNCOUNTED ? ports.count(shown) : before;
  return { message: shown, pinned: false, at: entry.at, edit: entry.edit, tokens };
}

/** The raw list: its unpinned messages must begin with the log, at least as far as anything was changed. */
function projectRaw(messages: readonly Message[], changed: number, known: Known): Projection | undefined {
  const { state, ports } = known;
  const hashOf = hashesOf(messages);
  const matched = matchingLength(messages, known, hashOf);
  if (matched <= changed) return undefined;
  const keptAt = new Map(state.kept.map((entry) => [entry.at, entry]));
  const log: LoggedMessage[] = state.log.slice(0, matched);
  const kept: ViewEntry[] = [];
  let position = 0;
  for (const [index, message] of messages.entries()) {
    if (ports.isPinned(message)) kept.push(unlogged(message, true, ports));
    else if (position >= matched) kept.push(logged(log, message, { hash: hashOf(index, message), ports }));
    else {
      const entry = keptAt.get(position);
      if (entry !== undefined) kept.push(edited(message, entry, known));
      position += 1;
    }
  }
  return { kept, summary: state.summary, asGiven: false, log, reset: false };
}

function matchingLength(
  messages: readonly Message[],
  { state, ports }: Known,
  hashOf: ReturnType<typeof hashesOf>,
): number {
  let position = 0;
  for (const [index, message] of messages.entries()) {
    if (ports.isPinned(message)) continue;
    if (position >= state.log.length || state.log[position]?.[0] !== hashOf(index, message)) break;
    position += 1;
  }
  return position;
}

/** What a kept message looks like in our output. */
function shownHash(entry: KeptMessage, state: SessionState): string | undefined {
  return entry.hash ?? state.log[entry.at]?.[0];
}

/** True for a list that begins with all that the last compaction left, where that left no summary to know it by. */
function isOutput(messages: readonly Message[], state: SessionState, ports: ProjectionPorts): boolean {
  const unpinned = messages.filter((message) => !ports.isPinned(message));
  return state.kept.every((entry, index) => {
    const message = unpinned[index];
    return message !== undefined && contentHash(message) === shownHash(entry, state);
  });
}

/** Our own output: kept messages follow in order, and what comes behind them is new to the log. */
function projectOutput(messages: readonly Message[], own: number, { state, ports }: Known): Projection {
  const log: LoggedMessage[] = [...state.log];
  const pending = [...state.kept];
  const kept: ViewEntry[] = [];
  const hashOf = hashesOf(messages);
  messages.forEach((message, index) => {
    if (index === own) return;
    if (ports.isPinned(message)) {
      kept.push(unlogged(message, true, ports));
      return;
    }
    const hash = hashOf(index, message);
    const found = pending.findIndex((entry) => shownHash(entry, state) === hash);
    const [known] = pending.splice(0, found + 1).slice(-1);
    if (known === undefined) kept.push(logged(log, message, { hash, ports }));
    else kept.push({ message, pinned: false, at: known.at, edit: known.edit, tokens: ports.count(message) });
  });
  return { kept, summary: state.summary, asGiven: true, log, reset: false };
}
