import type { Edit } from "compact-context/internal/core/edit";
import type { Message } from "compact-context/internal/core/message";
import type { PlannedMessage } from "compact-context/internal/core/plan";
import type { KeepCounts } from "compact-context/internal/core/policy";
import { type LayerName, layersOf } from "compact-context/internal/core/report";
import type { ArchivedMessage } from "compact-context/internal/core/transcript";
import type { SessionState } from "compact-context/internal/core/view";
import { joinSteps, readableMessage } from "compact-context/internal/recall/recall";
import {
  type FixedTokens,
  layerKeyOf,
  listIn,
  numberIn,
  outcomeOf,
  recordIn,
  textIn,
} from "./message-view.ts";
import { type CompactedMessage, groupPositions, newestPositions } from "./originals.ts";
import type { MessageOutcome, Outcome } from "./session-view.ts";

/** The list archived before a compaction, and the outcome of each message. */
interface ArchivedStep {
  /** The archive step. */
  readonly step: number;
  readonly stored: StoredRecord;
  readonly entries: readonly CompactedMessage[];
  /** The number of session messages up to this step. */
  readonly messages: number;
}

export interface ArchivedConversation {
  /** The messages of the session, each once and uncompacted. */
  readonly messages: readonly ArchivedMessage[];
  readonly steps: readonly ArchivedStep[];
}

interface JoinOptions {
  readonly keep: KeepCounts;
  countMessage(message: Message): number;
  /** Contains the outcomes of the newest step, which no later list shows. */
  readonly state: SessionState | undefined;
}

interface LocatedMessage {
  readonly archived: ArchivedMessage;
  readonly position: number | undefined;
}

/** The list stored with an archive step. */
export interface ArchivedList {
  readonly step: number;
  readonly messages: readonly ArchivedMessage[];
  readonly stored: StoredRecord;
}

/**
 * Joins the lists of a session's steps and determines the effect of each compaction: from the stored
 * outcomes, else from the next list or, for the newest, from the session's state.
 */
export function joinArchive(lists: readonly ArchivedList[], options: JoinOptions): ArchivedConversation {
  let messages: readonly ArchivedMessage[] = [];
  const located = lists.map(({ step, stored, messages: list }) => {
    messages = joinSteps(messages, list);
    return { step, stored, list: locate(list, messages), messages: messages.length };
  });
  const steps = located.map(({ list, ...step }, index) => {
    const next = located[index + 1]?.list;
    const derived =
      next === undefined ? outcomesByState(options.state, step.step, messages) : outcomesByList(list, next);
    const { outcomes } = step.stored;
    const outcomeOf: OutcomeOf = outcomes === undefined ? derived : (_, at) => outcomes[at] ?? UNKNOWN;
    return { ...step, entries: entriesOf(list, outcomeOf, { ...options, index }) };
  });
  return { messages, steps };
}

const POINTER = /archive id ([0-9a-z]{10})/;

/** Finds each message of a list in the session; summaries have no position. */
function locate(list: readonly ArchivedMessage[], all: readonly ArchivedMessage[]): LocatedMessage[] {
  const byArchiveId = groupPositions(all, ({ archiveId }) => archiveId);
  const byId = groupPositions(all, ({ message }) => message.id);
  const positions = newestPositions(list, ({ archiveId, message }) => {
    if (message.meta?.summaryVersion !== undefined) return undefined;
    const pointer = POINTER.exec(readableMessage(message))?.[1] ?? "";
    return byArchiveId.get(archiveId) ?? byArchiveId.get(pointer) ?? byId.get(message.id);
  });
  return list.map((archived, index) => ({ archived, position: positions[index] }));
}

/** Determines the outcome of a list message, and its remaining content if known. */
type OutcomeOf = (
  entry: LocatedMessage,
  index: number,
) => Pick<StoredOutcome, "outcome"> & Partial<StoredOutcome> & { readonly left?: Message };

const UNKNOWN: { readonly outcome: Outcome } = { outcome: "unknown" };

/** Compares with the list of the next compaction; all are unknown if that list is not a compacted one. */
function outcomesByList(list: readonly LocatedMessage[], next: readonly LocatedMessage[]): OutcomeOf {
  const left = new Map(next.map(({ archived, position }) => [position, archived]));
  const ids = new Set(next.map(({ archived }) => archived.archiveId));
  const isWhole = list.every(({ archived: { archiveId }, position }) =>
    position === undefined ? ids.has(archiveId) : left.get(position)?.archiveId === archiveId,
  );
  if (isWhole) return () => UNKNOWN;
  return ({ archived, position }) => {
    const found = position === undefined ? undefined : left.get(position);
    if (found === undefined) return { outcome: "summarized" };
    if (found.archiveId === archived.archiveId) return { outcome: "kept" };
    const cleared = readableMessage(found.message).includes("[tool output cleared: ");
    return { outcome: cleared ? "cleared" : "cut", left: found.message };
  };
}

/** Reads the session's state, which omits pinned messages; all are unknown if it is of another step. */
function outcomesByState(
  state: SessionState | undefined,
  step: number,
  all: readonly ArchivedMessage[],
): OutcomeOf {
  if (state === undefined || state.step !== step) return () => UNKNOWN;
  // The archive derives its ids from content hashes in the same way.
  const logged = state.log.map(([hash]) => hash.padStart(10, "0").slice(-10));
  const known = new Set(logged);
  const kept = new Map(state.kept.map(({ at, edit }) => [logged[at] ?? "", edit]));
  return ({ archived, position }) => {
    const id = position === undefined ? undefined : all[position]?.archiveId;
    if (id === undefined) return { outcome: "summarized" };
    if (!kept.has(id)) return { outcome: known.has(id) ? "summarized" : "kept" };
    // An edit by an earlier compaction was already in the list.
    const edit = id === archived.archiveId ? kept.get(id) : undefined;
    return { outcome: outcomeOfEdit(edit) };
  };
}

function outcomeOfEdit(edit: Edit | undefined): Outcome {
  if (edit === undefined) return "kept";
  return edit.clear === true ? "cleared" : "cut";
}

function entriesOf(
  list: readonly LocatedMessage[],
  outcomeOf: OutcomeOf,
  { keep, countMessage, index }: JoinOptions & { readonly index: number },
): CompactedMessage[] {
  const layers = layersOf(
    list.map(({ archived }) => archived.message),
    keep,
  );
  return list.map((entry, at) => {
    const { archived, position } = entry;
    const { message } = archived;
    const { outcome, left, reason, ...stored } = outcomeOf(entry, at);
    const tokens = stored.tokens ?? countMessage(message);
    const after = stored.tokensAfter ?? (left === undefined ? tokens : countMessage(left));
    const layer: LayerName = layers[at] ?? "remainder";
    const isEarlier = message.meta?.summaryVersion !== undefined && index > 0;
    return {
      position,
      summaryOf: isEarlier ? index - 1 : undefined,
      listed: archived,
      role: message.role,
      outcome,
      tokens,
      layer: layerKeyOf(layer, message.role),
      tokensAfter: outcome === "summarized" ? 0 : after,
      reason,
    };
  });
}

/** The outcome of a message, from the summary record of its step. */
type StoredOutcome = Pick<MessageOutcome, "outcome" | "tokens" | "tokensAfter" | "reason">;

/** The summary record of a compaction; every part may be missing. */
export interface StoredRecord {
  /** The summary. */
  readonly text?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly model?: string;
  readonly summarizer?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly summaryTokens?: number;
  readonly fixed: FixedTokens;
  /** One per message of the list; undefined if any is invalid. */
  readonly outcomes?: readonly StoredOutcome[];
}

/** The outcomes of a plan as a summary record stores them; `storedRecord` reads them. */
export function outcomesToStore(
  entries: readonly PlannedMessage[],
): Pick<PlannedMessage, "action" | "tokens" | "tokensAfter" | "reason">[] {
  return entries.map(({ action, tokens, tokensAfter, reason }) => ({ action, tokens, tokensAfter, reason }));
}

/** The number of messages of the list by its record; undefined if it stores no outcomes. */
export function statedMessages(value: object | undefined): number | undefined {
  return listIn(value, "fates")?.length;
}

/** Parses the summary record of a list with this number of messages. */
export function storedRecord(value: object | undefined, messages: number): StoredRecord {
  const text = textIn(value, "text");
  const fixed = recordIn(value, "fixedTokens");
  const outcomes = listIn(value, "fates")?.map(storedOutcome);
  const isWhole = outcomes?.length === messages && outcomes.every((outcome) => outcome !== undefined);
  return {
    text,
    at: textIn(value, "at"),
    model: textIn(value, "model"),
    summarizer: text === undefined ? undefined : textIn(value, "summarizer"),
    tokensBefore: numberIn(value, "tokensBefore"),
    tokensAfter: numberIn(value, "tokensAfter"),
    summaryTokens: numberIn(value, "tokens"),
    fixed: { system: numberIn(fixed, "system") ?? 0, tools: numberIn(fixed, "tools") ?? 0 },
    outcomes: isWhole ? outcomes : undefined,
  };
}

function storedOutcome(value: unknown): StoredOutcome | undefined {
  const outcome = outcomeOf(textIn(value, "action"));
  const [tokens, tokensAfter] = [numberIn(value, "tokens"), numberIn(value, "tokensAfter")];
  const reason = textIn(value, "reason");
  if (outcome === "unknown" || tokens === undefined || tokensAfter === undefined) return undefined;
  return { outcome, tokens, tokensAfter, reason };
}
