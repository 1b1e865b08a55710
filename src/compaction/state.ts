import { contentHash } from "../messages/content-hash.ts";
import type { Message } from "../messages/message.ts";
import { type Calibration, emptyCalibration } from "../tokens/calibration.ts";
import { type LiveSummary, summaryOf } from "./assemble.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";

/** One unpinned message that has been seen: content hash and tokens. */
export type LoggedMessage = readonly [hash: string, tokens: number];

export interface StoredSummary extends LiveSummary {
  /** Fingerprint of the text as it stands in the list: what is stored has secrets taken out. */
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly at: string;
  readonly tokens: number;
}

export interface KeptMessage {
  /** Index into the log. */
  readonly at: number;
  readonly edit?: Edit;
  /** Content hash as it stands in the view, where an edit changed it. */
  readonly hash?: string;
}

/** What outlives a call and a process: how the raw list maps to the view. Plain JSON. */
export interface SessionState {
  readonly format: 1;
  /** Every unpinned message of the raw list up to the newest compaction, in order. */
  readonly log: readonly LoggedMessage[];
  /** Those of the log that are still in the view, ascending. */
  readonly kept: readonly KeptMessage[];
  readonly summary: StoredSummary | undefined;
  readonly summaryCount: number;
  /** Ids of all messages that went into summaries, oldest first. */
  readonly summarizedMessageIds: readonly string[];
  /** The newest archive step. */
  readonly step: number;
  /** Tokens of the request right after the newest compaction. */
  readonly tokensAfter: number;
  /** What was learnt from the provider's usage records. */
  readonly calibration: Calibration;
}

/** A session that has never been compacted. */
export function emptyState(): SessionState {
  return {
    format: 1,
    log: [],
    kept: [],
    summary: undefined,
    summaryCount: 0,
    summarizedMessageIds: [],
    step: 0,
    tokensAfter: 0,
    calibration: emptyCalibration(),
  };
}

/** A message of the view; `at` is its place in the log once it has one. */
export interface ViewEntry {
  readonly message: Message;
  readonly pinned: boolean;
  readonly at: number | undefined;
  /** All edits so far, from the original. */
  readonly edit: Edit | undefined;
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
  /** The history no longer begins with what was summarized: the state was left behind. */
  readonly reset: boolean;
}

export interface ProjectionPorts {
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
  state: SessionState,
  ports: ProjectionPorts,
): Projection {
  const own = messages.findIndex((message) => isLiveSummary(message, state));
  if (own >= 0) return projectOutput(messages, own, { state, ports });
  const summaryElsewhere = messages.some((message) => message.meta?.summaryVersion !== undefined);
  if (state.summary === undefined && state.kept.length === state.log.length)
    return fresh(messages, ports, false);
  const raw = summaryElsewhere ? undefined : projectRaw(messages, state, ports);
  return raw ?? fresh(messages, ports, true);
}

function isLiveSummary(message: Message, state: SessionState): boolean {
  if (state.summary === undefined || message.meta?.summaryVersion !== state.summary.version) return false;
  const text = summaryOf(message)?.text;
  return text !== undefined && fingerprintOf(text) === state.summary.fingerprint;
}

/** Recognises a summary by its text. */
export function fingerprintOf(text: string): string {
  return contentHash({ role: "assistant", parts: [{ type: "text", text }] });
}

function fresh(messages: readonly Message[], ports: ProjectionPorts, reset: boolean): Projection {
  const log: LoggedMessage[] = [];
  const kept = messages.map((message): ViewEntry => {
    const pinned = ports.isPinned(message);
    const at = pinned || message.meta?.summaryVersion !== undefined ? undefined : logged(log, message, ports);
    return { message, pinned, at, edit: undefined };
  });
  return { kept, summary: undefined, asGiven: true, log, reset };
}

function logged(log: LoggedMessage[], message: Message, ports: ProjectionPorts): number {
  return log.push([contentHash(message), ports.count(message)]) - 1;
}

/** The raw list: its unpinned messages must begin with the log, at least as far as anything was dropped. */
function projectRaw(
  messages: readonly Message[],
  state: SessionState,
  ports: ProjectionPorts,
): Projection | undefined {
  const keptAt = new Map(state.kept.map((entry) => [entry.at, entry]));
  const matched = matchingLength(messages, state, ports);
  const lastChanged = lastChangedIndex(state, keptAt);
  if (matched <= lastChanged) return undefined;
  const log: LoggedMessage[] = state.log.slice(0, matched);
  const kept: ViewEntry[] = [];
  let position = 0;
  for (const message of messages) {
    if (ports.isPinned(message)) kept.push({ message, pinned: true, at: undefined, edit: undefined });
    else if (position >= matched) {
      kept.push({ message, pinned: false, at: logged(log, message, ports), edit: undefined });
    } else {
      const entry = keptAt.get(position);
      if (entry !== undefined) {
        kept.push({
          message: applyEdit(message, entry.edit, ports.edit),
          pinned: false,
          at: position,
          edit: entry.edit,
        });
      }
      position += 1;
    }
  }
  return { kept, summary: state.summary, asGiven: false, log, reset: false };
}

function matchingLength(messages: readonly Message[], state: SessionState, ports: ProjectionPorts): number {
  let position = 0;
  for (const message of messages) {
    if (ports.isPinned(message)) continue;
    if (position >= state.log.length || state.log[position]?.[0] !== contentHash(message)) break;
    position += 1;
  }
  return position;
}

/** The newest place in the log that is dropped or edited in the view; -1 for none. */
function lastChangedIndex(state: SessionState, keptAt: ReadonlyMap<number, KeptMessage>): number {
  for (let index = state.log.length - 1; index >= 0; index -= 1) {
    const entry = keptAt.get(index);
    if (entry === undefined || entry.edit !== undefined) return index;
  }
  return -1;
}

/** Our own output: kept messages follow in order, and what comes behind them is new to the log. */
function projectOutput(
  messages: readonly Message[],
  own: number,
  { state, ports }: { readonly state: SessionState; readonly ports: ProjectionPorts },
): Projection {
  const log: LoggedMessage[] = [...state.log];
  const pending = [...state.kept];
  const kept: ViewEntry[] = [];
  messages.forEach((message, index) => {
    if (index === own) return;
    if (ports.isPinned(message)) {
      kept.push({ message, pinned: true, at: undefined, edit: undefined });
      return;
    }
    const hash = contentHash(message);
    const found = pending.findIndex((entry) => (entry.hash ?? state.log[entry.at]?.[0]) === hash);
    const [known] = pending.splice(0, found + 1).slice(-1);
    if (known !== undefined) {
      kept.push({ message, pinned: false, at: known.at, edit: known.edit });
    } else {
      kept.push({ message, pinned: false, at: logged(log, message, ports), edit: undefined });
    }
  });
  return { kept, summary: state.summary, asGiven: true, log, reset: false };
}
