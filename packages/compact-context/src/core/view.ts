import { flatMapInSteps, type Steps } from "../errors.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";
import {
  carriesCompaction,
  contentHash,
  endOfOpening,
  endsWithCompaction,
  type Format,
  hashesOf,
  type LiveSummary,
  type Message,
  openingMessage,
  type Role,
  summaryMessage,
  summaryOf,
} from "./message.ts";
import { isPinned, type Policy } from "./policy.ts";
import type { ListCodec, TokenCounter } from "./ports.ts";
import { afterCompaction, type Calibration, emptyCalibration } from "./request.ts";
import { isProjectInstructions } from "./units.ts";

// The view is the list sent to the model: a projection of the raw list by the session's state. Hosts pass the
// raw list each time, or our last output followed by new messages; both result in the same view.

// ---- the state of a session

/** One unpinned message: content hash and tokens. */
export type LoggedMessage = readonly [hash: string, tokens: number];

export interface StoredSummary extends LiveSummary {
  /** Fingerprint of the text in the list; the stored text is redacted. */
  readonly fingerprint: string;
  /** ISO 8601. */
  readonly at: string;
  readonly tokens: number;
  /** The archive step in which it was created. */
  readonly step?: number;
}

export interface KeptMessage {
  /** Index in the log. */
  readonly at: number;
  readonly edit?: Edit;
  /** Content hash of the edited message, if an edit changed it. */
  readonly hash?: string;
}

/** How the raw list maps to the view. Plain JSON, persisted between calls and processes. */
export interface SessionState {
  /** The counter of the stored token counts; they are discarded if the counter changes. */
  readonly counter: string;
  /** Every unpinned message of the raw list up to the newest save, in order. */
  readonly log: readonly LoggedMessage[];
  /** The log entries that are still in the view, ascending. */
  readonly kept: readonly KeptMessage[];
  readonly summary: StoredSummary | undefined;
  readonly summaryCount: number;
  /** Ids of all messages covered by the summary, oldest first. */
  readonly summarizedMessageIds: readonly string[];
  /** The newest step; each compaction has its own. */
  readonly step: number;
  /** Length of the log at the newest compaction; later entries were added after it. Default: 0. */
  readonly epochStart?: number;
  /** Tokens of the request right after the newest compaction. */
  readonly tokensAfter: number;
  /** Time of the session's latest call before the state was stored, ISO 8601. */
  readonly seenAt?: string;
  /** What the newest compaction replaced, for an undo; removed by the undo. */
  readonly before?: ReplacedState;
  /** True from an undo until the next compaction. */
  readonly undone?: boolean;
  /** Ids of queued memory flushes whose compactions were committed. */
  readonly flushes?: readonly string[];
  readonly calibration: Calibration;
}

/** The part of a state that a compaction replaces. */
export interface ReplacedState
  extends Pick<
    SessionState,
    "kept" | "summary" | "summaryCount" | "summarizedMessageIds" | "epochStart" | "tokensAfter"
  > {
  /** The step of the compaction that replaced it; its transcript contains the view. */
  readonly step: number;
  /** Length of the log and tokens of the request at that time. */
  readonly logged: number;
  readonly tokens: number;
}

/** A session that has never been compacted. */
export function emptyState(): SessionState {
  return {
    counter: "",
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

export function fingerprintOf(text: string): string {
  return contentHash({ role: "assistant", parts: [{ type: "text", text }] });
}

// ---- from a list to the view

/** How the messages of one list are read, counted and edited. */
export interface ViewContext extends EditContext {
  readonly codec: ListCodec;
  readonly counter: TokenCounter;
  readonly policy: Pick<Policy, "rolesNeverPrune">;
}

/** A message of the view; `at` is its index in the log, undefined for pinned messages and summaries. */
export interface ViewEntry {
  readonly message: Message;
  readonly pinned: boolean;
  readonly at: number | undefined;
  /** All edits so far, relative to the original. */
  readonly edit: Edit | undefined;
  readonly tokens: number;
}

interface Projection {
  /** Kept messages in order, without the summary. */
  readonly kept: readonly ViewEntry[];
  readonly summary: LiveSummary | undefined;
  /** The list already is the view: nothing to project, or our own last output. */
  readonly asGiven: boolean;
  readonly log: readonly LoggedMessage[];
  /** The history no longer begins with what was compacted, so the state no longer applies. */
  readonly reset: boolean;
}

/**
 * Maps a list, raw or our own last output followed by new messages, to the same view. Messages are matched by
 * content and order: ids are not needed, and equal texts are never confused.
 */
export function project(
  messages: readonly Message[],
  stored: SessionState,
  context: ViewContext,
): Projection {
  const state = stored.counter === context.counter.id ? stored : withoutCounts(stored);
  const own = messages.findIndex((message) => isLiveSummary(message, state));
  if (own >= 0) return projectOutput(asSaid(messages, own, own + 1), own, state, context);
  const changed = lastChanged(state);
  if (state.summary === undefined && changed === -1) return takeAsGiven(messages, state.log, context);
  const raw = projectRaw(asSaid(messages), changed, state, context);
  if (raw !== undefined) return raw;
  if (state.summary === undefined && isOutput(messages, state, context)) {
    return projectOutput(messages, -1, state, context);
  }
  return { ...takeAsGiven(messages, [], context), reset: true };
}

/**
 * Anyone can type our tag: outside `start` to `end`, a message with the tag is not a summary of ours but
 * ordinary text.
 */
function asSaid(messages: readonly Message[], start = 0, end = 0): readonly Message[] {
  const isSaid = ({ meta }: Message, index: number): boolean =>
    meta?.summaryVersion !== undefined && (index < start || index >= end);
  if (!messages.some(isSaid)) return messages;
  return messages.map((message, index) => {
    if (!isSaid(message, index)) return message;
    const { summaryVersion: _, ...meta } = message.meta ?? {};
    return { ...message, meta };
  });
}

export function unloggedEntry(message: Message, pinned: boolean, { counter }: ViewContext): ViewEntry {
  return { message, pinned, at: undefined, edit: undefined, tokens: counter.countMessage(message) };
}

export function appendEntry(
  log: LoggedMessage[],
  message: Message,
  hash: string,
  { counter }: ViewContext,
): ViewEntry {
  const tokens = counter.countMessage(message);
  const at = log.push([hash, tokens]) - 1;
  return { message, pinned: false, at, edit: undefined, tokens };
}

/** Marks a message that has not been counted yet: real counts are positive. */
const UNCOUNTED = 0;

function withoutCounts(state: SessionState): SessionState {
  return { ...state, log: state.log.map(([hash]): LoggedMessage => [hash, UNCOUNTED]) };
}

function isLiveSummary(message: Message, { summary }: SessionState): boolean {
  if (summary === undefined || message.meta?.summaryVersion !== summary.version) return false;
  const text = summaryOf(message)?.text;
  return text !== undefined && fingerprintOf(text) === summary.fingerprint;
}

/**
 * Our output in the order of the conversation, without the summary at `own` and the `first` entries, which
 * are the provider's compaction.
 */
function inOrder<T>(list: readonly T[], own: number, first: number, behind = 0): readonly T[] {
  if (own < 0) return list;
  const from = Math.max(first, own - behind);
  return [...list.slice(from, own), ...list.slice(first, from), ...list.slice(own + 1)];
}

/** The last log index that the view drops or edits; -1 if there is none. */
function lastChanged({ log, kept }: SessionState): number {
  let at = log.length - 1;
  for (let index = kept.length - 1; index >= 0; index -= 1, at -= 1) {
    const entry = kept[index];
    if (entry?.at !== at || entry.edit !== undefined) return at;
  }
  return at;
}

/** The list is the view. Messages counted earlier at the same index are not recounted. */
function takeAsGiven(
  messages: readonly Message[],
  counted: readonly LoggedMessage[],
  context: ViewContext,
): Projection {
  const log: LoggedMessage[] = [];
  const hashOf = hashesOf(messages);
  const opening = endOfOpening(messages);
  const kept = asSaid(messages, 0, opening).map((message, index): ViewEntry => {
    const pinned = isPinned(message, context.policy);
    if (pinned || message.meta?.summaryVersion !== undefined) return unloggedEntry(message, pinned, context);
    const hash = hashOf(index, message);
    const before = counted[log.length];
    if (before?.[0] !== hash || before[1] === UNCOUNTED) return appendEntry(log, message, hash, context);
    return { message, pinned, at: log.push(before) - 1, edit: undefined, tokens: before[1] };
  });
  return { kept, summary: undefined, asGiven: true, log, reset: false };
}

/** A raw list: its unpinned messages must match the log up to the last change; later ones are new. */
function projectRaw(
  messages: readonly Message[],
  changed: number,
  state: SessionState,
  context: ViewContext,
): Projection | undefined {
  const hashOf = hashesOf(messages);
  const keptAt = new Map(state.kept.map((entry) => [entry.at, entry]));
  const log: LoggedMessage[] = [];
  const kept: ViewEntry[] = [];
  let matches = true;
  for (const [index, message] of messages.entries()) {
    if (isPinned(message, context.policy)) {
      kept.push(unloggedEntry(message, true, context));
      continue;
    }
    const hash = hashOf(index, message);
    const logged = state.log[log.length];
    matches &&= logged?.[0] === hash;
    if (matches && logged !== undefined) {
      const entry = keptAt.get(log.length);
      if (entry !== undefined) kept.push(keptEntry(message, entry, state, context));
      log.push(logged);
    } else if (log.length > changed) kept.push(appendEntry(log, message, hash, context));
    else return undefined;
  }
  return log.length > changed
    ? { kept, summary: state.summary, asGiven: false, log, reset: false }
    : undefined;
}

function keptEntry(
  message: Message,
  entry: KeptMessage,
  state: SessionState,
  context: ViewContext,
): ViewEntry {
  const shown = applyEdit(message, entry.edit, context);
  const before = shown === message ? state.log[entry.at]?.[1] : undefined;
  const tokens = before === undefined || before === UNCOUNTED ? context.counter.countMessage(shown) : before;
  return { message: shown, pinned: false, at: entry.at, edit: entry.edit, tokens };
}

function outputHash(entry: KeptMessage, { log }: SessionState): string | undefined {
  return entry.hash ?? log[entry.at]?.[0];
}

/**
 * True for a list that begins with all messages kept by the last compaction; for sessions without a summary.
 */
function isOutput(messages: readonly Message[], state: SessionState, { policy }: ViewContext): boolean {
  const unpinned = messages.filter((message) => !isPinned(message, policy));
  return state.kept.every((entry, index) => {
    const message = unpinned[index];
    return message !== undefined && contentHash(message) === outputHash(entry, state);
  });
}

/** Content hash of a message that consisted only of reasoning, which was removed. */
const EMPTIED = contentHash({ role: "assistant", parts: [] });

/**
 * Placeholder for a message that is missing from our output: while it is needed, the next message is sent
 * without its id.
 */
function emptied({ at, edit }: KeptMessage, { format }: Message, { log }: SessionState): ViewEntry {
  const id = log[at]?.[0] ?? "";
  const message: Message = { id, role: "assistant", parts: [], native: {}, format, edited: true };
  return { message, pinned: false, at, edit, tokens: 0 };
}

/** Our own output: the kept messages in order, followed by new ones. */
function projectOutput(
  given: readonly Message[],
  own: number,
  state: SessionState,
  context: ViewContext,
): Projection {
  const log: LoggedMessage[] = [...state.log];
  const pending = [...state.kept];
  const kept: ViewEntry[] = [];
  const { opening, behind } = state.summary ?? {};
  const first = opening !== undefined && carriesCompaction(given[0] as Message) ? 1 : 0;
  const messages = inOrder(given, own, first, behind);
  const hashOf = hashesOf(messages);
  for (const [index, message] of messages.entries()) {
    if (isPinned(message, context.policy)) {
      kept.push(unloggedEntry(message, true, context));
      continue;
    }
    const hash = hashOf(index, message);
    const found = pending.findIndex((entry) => outputHash(entry, state) === hash);
    const passed = pending.splice(0, found + 1);
    const known = passed.pop();
    for (const entry of passed) if (entry.hash === EMPTIED) kept.push(emptied(entry, message, state));
    if (known === undefined) kept.push(appendEntry(log, message, hash, context));
    else {
      const tokens = context.counter.countMessage(message);
      kept.push({ message, pinned: false, at: known.at, edit: known.edit, tokens });
    }
  }
  return { kept, summary: state.summary, asGiven: true, log, reset: false };
}

// ---- the stored form of a view

/** The entries of a view in the order of the conversation, without its summary. */
export function inConversation<T extends Pick<ViewEntry, "message">>(
  entries: readonly T[],
  summary: LiveSummary | undefined,
): readonly T[] {
  const own = entries.findLastIndex(({ message }) => message.meta?.summaryVersion !== undefined);
  return inOrder(entries, own, summary?.opening === undefined ? 0 : 1, summary?.behind);
}

export function keptMessages(
  entries: readonly ViewEntry[],
  log: readonly LoggedMessage[],
  summary: LiveSummary | undefined,
): Steps<KeptMessage[]> {
  return flatMapInSteps(inConversation(entries, summary), ({ at, edit, message }): KeptMessage[] => {
    if (at === undefined) return [];
    if (edit === undefined) return [{ at }];
    const hash = contentHash(message);
    return [{ at, edit, hash: hash === log[at]?.[0] ? undefined : hash }];
  });
}

/** A state without its newest compaction: later messages are appended to the previous view. */
export function stateWithout(replaced: ReplacedState, { before: _, ...now }: SessionState): SessionState {
  // Listed one by one: a stored state has no keys with undefined values.
  const { kept, summary, summaryCount, summarizedMessageIds, epochStart, logged, tokens } = replaced;
  const since = now.log.slice(logged).reduce((total, [, cost]) => total + cost, 0);
  return {
    ...now,
    summary,
    summaryCount,
    summarizedMessageIds,
    epochStart,
    kept: [...kept, ...now.kept.filter(({ at }) => at >= logged)],
    tokensAfter: tokens + since,
    calibration: afterCompaction(now.calibration),
    undone: true,
  };
}

// ---- from the view to a list

/** Formats whose providers can reject a conversation that begins with the assistant. */
const USER_FIRST: ReadonlySet<Format | undefined> = new Set<Format>([
  "anthropic",
  "gemini",
  "ai-sdk",
  "langchain",
  "pi",
]);

interface SummaryShape {
  readonly summaryRole: "assistant" | "user" | "system";
  readonly format: Format | undefined;
  /** Replaces our own message shape. */
  readonly summaryAs?: (summary: LiveSummary) => Message;
}

interface Kept {
  readonly message: Message;
  readonly pinned: boolean;
}

/**
 * Leading pinned messages and project instructions, then the summary, then the rest. A provider reads nothing
 * before its own compaction, so the summary follows the first one that is kept, and one created along with
 * the summary comes first. Where the user must speak first and the first pinned message is the assistant's,
 * the summary precedes it.
 */
export function assemble<K extends Kept>(
  kept: readonly K[],
  summary: LiveSummary | undefined,
  shape: SummaryShape,
  own: (message: Message) => K,
): K[] {
  if (summary === undefined) return [...kept];
  const split = placeOf(summary, kept, shape);
  const { behind = 0 } = summary;
  const before = [...kept.slice(behind, split), ...kept.slice(0, behind)];
  const role = summary.opening === undefined ? roleFor(before, kept.slice(split), shape) : "user";
  const message = shape.summaryAs?.(summary) ?? summaryMessage(summary, role);
  const opening = summary.opening === undefined ? [] : [own(openingMessage(summary, shape.format))];
  return [...opening, ...before, own(message), ...kept.slice(split)];
}

/** Number of kept messages before the summary. */
export function placeOf(summary: LiveSummary, kept: readonly Kept[], shape: SummaryShape): number {
  const firstRecent = kept.findIndex(({ pinned, message }) => !pinned && !isProjectInstructions(message));
  const pinned = firstRecent === -1 ? kept.length : firstRecent;
  const compaction = kept.findIndex((entry) => endsWithCompaction(entry.message));
  const before = summary.after ?? 0;
  const last = kept[before - 1];
  const stands =
    summary.opening !== undefined ||
    before <= pinned ||
    (last !== undefined && endsWithCompaction(last.message));
  if (summary.after !== undefined && stands) return before;
  if (compaction >= 0 || !needsOpening(kept.slice(0, pinned), shape)) return Math.max(pinned, compaction + 1);
  return kept.findIndex(speaks);
}

/** True if the provider requires a user message first and the kept messages begin with another role. */
export function needsOpening(
  kept: readonly { readonly message: Message }[],
  { format }: SummaryShape,
): boolean {
  const first = kept.find(speaks);
  return USER_FIRST.has(format) && first !== undefined && first.message.role !== "user";
}

function speaks({ message: { role } }: Pick<Kept, "message">): boolean {
  return role !== "system" && role !== "developer";
}

/** The configured role; `user` where the provider requires a user message first and no other would be it. */
function roleFor(before: readonly Kept[], after: readonly Kept[], shape: SummaryShape): Role {
  const { summaryRole, format } = shape;
  const userSpoke = before.some(({ message }) => message.role === "user");
  if (summaryRole === "user" || userSpoke || !USER_FIRST.has(format)) return summaryRole;
  return summaryRole === "system" && !needsOpening(after, shape) ? "system" : "user";
}
