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
import type { CompactedMessage } from "./originals.ts";
import type { MessageOutcome, Outcome } from "./session-view.ts";

/** One list as it was archived before a compaction, and what became of each message. */
interface ArchivedStep {
  /** The archive's number. */
  readonly step: number;
  readonly entries: readonly CompactedMessage[];
  /** How many messages the session had by then. */
  readonly messages: number;
}

export interface ArchivedConversation {
  /** Every message of the session once, in order, as it was before any compaction. */
  readonly messages: readonly ArchivedMessage[];
  readonly steps: readonly ArchivedStep[];
}

interface Facts {
  readonly keep: KeepCounts;
  countMessage(message: Message): number;
  /** Tells the outcomes of the newest step, which no later list shows. */
  readonly state: SessionState | undefined;
}

interface Placed {
  readonly archived: ArchivedMessage;
  readonly place: number | undefined;
}

/** A list as it lies in the archive. */
export interface ArchivedList {
  readonly step: number;
  readonly messages: readonly ArchivedMessage[];
  /** What became of each message, where that was stored with the list. */
  readonly outcomes?: readonly StoredOutcome[];
}

/**
 * Puts the lists of a session's steps together, and finds out what each compaction did: as it was stored, else by what
 * the next list shows or, for the newest, by the state.
 */
export function joinArchive(lists: readonly ArchivedList[], facts: Facts): ArchivedConversation {
  let messages: readonly ArchivedMessage[] = [];
  const placed = lists.map(({ step, messages: list, outcomes }) => {
    messages = joinSteps(messages, list);
    return { step, list: placesOf(list, messages), messages: messages.length, outcomes };
  });
  const steps = placed.map(({ step, list, messages: count, outcomes: stored }, index) => {
    const next = placed[index + 1]?.list;
    const derived =
      next === undefined ? outcomesByState(facts.state, step, messages) : outcomesByList(list, next);
    const outcomes: OutcomeOf = stored === undefined ? derived : (_, at) => stored[at] ?? UNKNOWN;
    return { step, messages: count, entries: entriesOf(list, outcomes, { ...facts, index }) };
  });
  return { messages, steps };
}

const POINTER = /archive id ([0-9a-z]{10})/;

/** Finds each message of a list: what occurs more than once is the newest of its kind. */
function placesOf(list: readonly ArchivedMessage[], all: readonly ArchivedMessage[]): Placed[] {
  const byArchiveId = grouped(all, ({ archiveId }) => archiveId);
  const byId = grouped(all, ({ message }) => message.id);
  const used = new Map<readonly number[], number>();
  const newestFirst = list.toReversed().map((archived): Placed => {
    const { archiveId, message } = archived;
    if (message.meta?.summaryVersion !== undefined) return { archived, place: undefined };
    const pointer = POINTER.exec(readableMessage(message))?.[1] ?? "";
    const places = byArchiveId.get(archiveId) ?? byArchiveId.get(pointer) ?? byId.get(message.id) ?? [];
    const count = (used.get(places) ?? 0) + 1;
    used.set(places, count);
    return { archived, place: places.at(-count) };
  });
  return newestFirst.reverse();
}

function grouped(
  all: readonly ArchivedMessage[],
  keyOf: (archived: ArchivedMessage) => string,
): ReadonlyMap<string, number[]> {
  const groups = new Map<string, number[]>();
  all.forEach((archived, place) => {
    const known = groups.get(keyOf(archived));
    if (known === undefined) groups.set(keyOf(archived), [place]);
    else known.push(place);
  });
  return groups;
}

/** The outcome of a message of a list, and what is left of it where that is known. */
type OutcomeOf = (
  entry: Placed,
  index: number,
) => Pick<StoredOutcome, "outcome"> & Partial<StoredOutcome> & { readonly left?: Message };

const UNKNOWN: { readonly outcome: Outcome } = { outcome: "unknown" };

/** What is still in the list that the next compaction met; nothing where that list was never a compacted one. */
function outcomesByList(list: readonly Placed[], next: readonly Placed[]): OutcomeOf {
  const left = new Map(next.map(({ archived, place }) => [place, archived]));
  const ids = new Set(next.map(({ archived }) => archived.archiveId));
  const isWhole = list.every(({ archived: { archiveId }, place }) =>
    place === undefined ? ids.has(archiveId) : left.get(place)?.archiveId === archiveId,
  );
  if (isWhole) return () => UNKNOWN;
  return ({ archived, place }) => {
    const found = place === undefined ? undefined : left.get(place);
    if (found === undefined) return { outcome: "summarized" };
    if (found.archiveId === archived.archiveId) return { outcome: "kept" };
    const cleared = readableMessage(found.message).includes("[tool output cleared: ");
    return { outcome: cleared ? "cleared" : "cut", left: found.message };
  };
}

/** What the session's state says of the messages that were not pinned; nothing where it is of another step. */
function outcomesByState(
  state: SessionState | undefined,
  step: number,
  all: readonly ArchivedMessage[],
): OutcomeOf {
  if (state === undefined || state.step !== step) return () => UNKNOWN;
  // As the archive makes its ids of content hashes.
  const logged = state.log.map(([hash]) => hash.padStart(10, "0").slice(-10));
  const known = new Set(logged);
  const kept = new Map(state.kept.map(({ at, edit }) => [logged[at] ?? "", edit]));
  return ({ archived, place }) => {
    const id = place === undefined ? undefined : all[place]?.archiveId;
    if (id === undefined) return { outcome: "summarized" };
    if (!kept.has(id)) return { outcome: known.has(id) ? "summarized" : "kept" };
    // What was changed by an earlier compaction came in changed.
    const edit = id === archived.archiveId ? kept.get(id) : undefined;
    return { outcome: outcomeOfEdit(edit) };
  };
}

function outcomeOfEdit(edit: Edit | undefined): Outcome {
  if (edit === undefined) return "kept";
  return edit.clear === true ? "cleared" : "cut";
}

function entriesOf(
  list: readonly Placed[],
  outcomeOf: OutcomeOf,
  { keep, countMessage, index }: Facts & { readonly index: number },
): CompactedMessage[] {
  const layers = layersOf(
    list.map(({ archived }) => archived.message),
    keep,
  );
  return list.map((entry, at) => {
    const { archived, place } = entry;
    const { message } = archived;
    const { outcome, left, reason, ...stored } = outcomeOf(entry, at);
    const tokens = stored.tokens ?? countMessage(message);
    const after = stored.tokensAfter ?? (left === undefined ? tokens : countMessage(left));
    const layer: LayerName = layers[at] ?? "remainder";
    const isEarlier = message.meta?.summaryVersion !== undefined && index > 0;
    return {
      place,
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

/** What became of one message, as the archive's summary record of its step says. */
type StoredOutcome = Pick<MessageOutcome, "outcome" | "tokens" | "tokensAfter" | "reason">;

/** What the archive holds of a compaction beside its list; each part may be missing. */
export interface StoredRecord {
  /** The summary's. */
  readonly text?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly model?: string;
  readonly summarizer?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly summaryTokens?: number;
  readonly fixed: FixedTokens;
  /** One for one with the messages of the list; missing where not all of them can be read. */
  readonly outcomes?: readonly StoredOutcome[];
}

/** What a record says of each message of the list that was compacted: `storedRecord` reads it. */
export function outcomesToStore(
  entries: readonly PlannedMessage[],
): Pick<PlannedMessage, "action" | "tokens" | "tokensAfter" | "reason">[] {
  return entries.map(({ action, tokens, tokensAfter, reason }) => ({ action, tokens, tokensAfter, reason }));
}

/** How many messages the record says its list has; undefined where it does not say. */
export function statedMessages(value: object | undefined): number | undefined {
  return listIn(value, "fates")?.length;
}

/** A summary record as it lies in the archive, of a list of so many messages. */
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
  const outcome = outcomeOf({ action: textIn(value, "action") });
  const [tokens, tokensAfter] = [numberIn(value, "tokens"), numberIn(value, "tokensAfter")];
  const reason = textIn(value, "reason");
  if (outcome === "unknown" || tokens === undefined || tokensAfter === undefined) return undefined;
  return { outcome, tokens, tokensAfter, reason };
}
