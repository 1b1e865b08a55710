import type { ArchivedMessage } from "compact-context/internal/archive/transcript";
import { applyEdit } from "compact-context/internal/core/edit";
import type { Message } from "compact-context/internal/core/message";
import type { KeepCounts } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import { layersOf } from "compact-context/internal/core/report";
import type { SessionState } from "compact-context/internal/core/view";
import { joinSteps, readableMessage } from "compact-context/internal/recall/recall";
import type { Archive } from "compact-context/internal/search/archive";
import {
  createEventReader,
  EVENT_NAMES,
  type EventReader,
  readEventLine,
  type TracedEvent,
} from "./event-reader.ts";
import {
  EVENT_LAYERS,
  type StoredOutcome,
  type StoredRecord,
  shortPreview,
  storedRecord,
  sum,
  textIn,
  typedRequest,
} from "./message-view.ts";
import {
  type CompactedMessage,
  groupPositions,
  newestPositions,
  Originals,
  searchArchive,
} from "./originals.ts";
import { SessionRecord } from "./session-record.ts";

/** An archive and what is needed to read it. */
export interface ArchiveSource {
  readonly archive: Archive;
  counterFor(model: string | undefined): TokenCounter;
  /** Determines the layers: an archive does not store the settings that were used. */
  readonly keep: KeepCounts;
  /** The session's state, if one is stored with the archive. */
  state(sessionId: string): Promise<SessionState | undefined>;
}

/** The list archived before a compaction. */
interface ArchivedList {
  /** The archive step. */
  readonly step: number;
  readonly stored: StoredRecord;
  readonly list: readonly ArchivedMessage[];
}

/** The same, with the outcome of each message. */
interface ArchivedStep extends ArchivedList {
  readonly entries: readonly CompactedMessage[];
  /** The number of session messages up to this step. */
  readonly end: number;
}

interface LoadedSession {
  /** The messages of the session, each once and uncompacted. */
  readonly messages: readonly ArchivedMessage[];
  readonly steps: readonly ArchivedStep[];
  readonly counter: TokenCounter;
}

/** A session of an archive, loaded at the first request. */
export function createArchivedRecord(sessionId: string, source: ArchiveSource): SessionRecord {
  const { archive } = source;
  let loaded: LoadedSession = { counter: source.counterFor(undefined), messages: [], steps: [] };
  let loading: Promise<void> | undefined;
  const originals: Originals = new Originals({
    load: () => {
      loading ??= loadSession(sessionId, source, record).then((session) => {
        loaded = session;
        record.onChange();
      });
      return loading;
    },
    messages: () => loaded.messages,
    compactions: () => loaded.steps.map(({ stored, entries }) => ({ entries, summary: stored.text ?? "" })),
    indexOf: ({ archiveStep }) => loaded.steps.findIndex(({ step }) => step === archiveStep),
    countMessage: (message) => loaded.counter.countMessage(message),
    find: (id) => archive.findMessage(sessionId, id),
    search: (text, limit) => searchArchive(archive, { sessionId, session: sessionId, text, limit }),
  });
  const record = new SessionRecord({ id: sessionId, source: "archive", originals }, { layers: EVENT_LAYERS });
  return record;
}

async function loadSession(
  sessionId: string,
  source: ArchiveSource,
  record: SessionRecord,
): Promise<LoadedSession> {
  const { archive } = source;
  const lists: ArchivedList[] = [];
  for (const step of await archive.steps(sessionId)) {
    const { messages } = await archive.readTranscript(sessionId, step);
    const stored = storedRecord(await archive.readSummary(sessionId, step));
    lists.push({ step, stored, list: messages.map(withoutNative) });
  }
  const events: TracedEvent[] = [];
  for await (const line of archive.streamEvents(sessionId)) {
    const event = readEventLine(line);
    if (event === undefined) record.drop();
    else events.push(event);
  }
  const models = events.map(({ properties }) => textIn(properties, "model"));
  const model = models.find((name) => name !== undefined);
  const storedModel = lists.findLast(({ stored }) => stored.model !== undefined)?.stored.model;
  const counter = source.counterFor(model === undefined || model === "unknown" ? storedModel : model);
  const { messages, steps } = joinLists(lists, counter, await source.state(sessionId));
  const reader = createEventReader(record, (at) => steps.find(({ step }) => step === at)?.end ?? 0);
  for (const event of events) reader.add(event);
  if (record.compactions.length === 0)
    for (const step of steps) addRecorded(reader, step, { keep: source.keep, counter });
  const requests = messages.map(({ message }) => typedRequest(message));
  const title = requests.find((text) => text !== undefined);
  record.amend({ title: title === undefined ? undefined : shortPreview(title).slice(0, 200) });
  return { messages, steps, counter };
}

/** Drops the caller's own objects, which double the memory and are not shown. */
function withoutNative(archived: ArchivedMessage): ArchivedMessage {
  const { native: _, ...message } = archived.message;
  return { ...archived, message };
}

/** Reports a step that no event does, as in archives that the command writes, by events made from its record. */
function addRecorded(
  reader: EventReader,
  { step, stored, list, entries }: ArchivedStep,
  { keep, counter }: { readonly keep: KeepCounts; readonly counter: TokenCounter },
): void {
  const isKnown = entries.every(({ outcome }) => outcome !== "unknown");
  const layers = layersOf(
    list.map(({ message }) => message),
    keep,
  );
  const before: Record<string, number> = {};
  const after: Record<string, number> = {};
  const instructions = { system: stored.system, developer: 0 };
  for (const [index, { role, tokens, tokensAfter }] of entries.entries()) {
    const name = EVENT_NAMES[layers[index] ?? "remainder"];
    grow(before, name, tokens);
    grow(after, name, tokensAfter);
    if (name === "pinned" && (role === "system" || role === "developer")) instructions[role] += tokens;
  }
  const summary = stored.summaryTokens ?? (stored.text === undefined ? 0 : counter.countText(stored.text));
  grow(after, "summary", summary);
  const fixed = stored.system + stored.tools;
  const tokensBefore = stored.tokensBefore ?? fixed + sum(Object.values(before));
  const tokensAfter = stored.tokensAfter ?? (isKnown ? fixed + sum(Object.values(after)) : tokensBefore);
  const left = entries.filter(({ outcome }) => outcome !== "summarized").length;
  const { at = "", text, summarizer, model } = stored;
  const add = (name: string, properties: TracedEvent["properties"], payload?: string): void =>
    reader.apply({ name, startedAt: at, endedAt: at, status: "ok", properties, payload });
  add("compact.token_estimate", {
    model,
    t_est: tokensBefore,
    breakdown: { ...instructions, tools_schema: stored.tools },
  });
  add("compact.archival", { step, messages: list.length });
  add("compact.summary_created", { summarizer, summary_tokens: summary }, text);
  add("compact.pruned_messages", {
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    // Without outcomes the layers after a compaction are unknown too.
    layers: isKnown ? { recent: left + (text === undefined ? 0 : 1) } : undefined,
    layer_tokens: isKnown ? { before: { fixed, ...before }, after: { fixed, ...after } } : undefined,
  });
}

function grow(sizes: Record<string, number>, name: string, by: number): void {
  sizes[name] = (sizes[name] ?? 0) + by;
}

/**
 * Joins the lists of a session's steps and determines the effect of each compaction: from the stored outcomes, else from
 * what it left, which is in the next list or, for the newest, in the session's `last` state.
 */
function joinLists(
  lists: readonly ArchivedList[],
  counter: TokenCounter,
  last: SessionState | undefined,
): Pick<LoadedSession, "messages" | "steps"> {
  let messages: readonly ArchivedMessage[] = [];
  const located = lists.map((one) => {
    messages = joinSteps(messages, one.list);
    return { ...one, positions: locate(one.list, messages), end: messages.length };
  });
  const isOfLast = last !== undefined && last.step === lists.at(-1)?.step;
  const leftLast = isOfLast ? leftBy(last, messages, counter) : undefined;
  const steps = located.map(({ positions, ...step }, index) => {
    const { list, stored } = step;
    const next = located[index + 1];
    const left = next === undefined ? leftLast : leftIn(next.list, next.positions);
    const outcomeOf = outcomesOf({ list, positions, left, stored }, counter);
    const entries = list.map((archived, at): CompactedMessage => {
      const { role, meta } = archived.message;
      const isEarlier = meta?.summaryVersion !== undefined && index > 0;
      const summaryOf = isEarlier ? index - 1 : undefined;
      return { position: positions[at], summaryOf, listed: archived, role, ...outcomeOf(archived, at) };
    });
    return { ...step, entries };
  });
  return { messages, steps };
}

const POINTER = /archive id ([0-9a-z]{10})/;

/** Finds each message of a list in the session; summaries have no position. */
function locate(
  list: readonly ArchivedMessage[],
  all: readonly ArchivedMessage[],
): readonly (number | undefined)[] {
  const byArchiveId = groupPositions(all, ({ archiveId }) => archiveId);
  const byId = groupPositions(all, ({ message }) => message.id);
  return newestPositions(list, ({ archiveId, message }) => {
    if (message.meta?.summaryVersion !== undefined) return undefined;
    const pointer = POINTER.exec(readableMessage(message))?.[1] ?? "";
    return byArchiveId.get(archiveId) ?? byArchiveId.get(pointer) ?? byId.get(message.id);
  });
}

/** What a compaction left: messages by position. */
type Left = ReadonlyMap<number | undefined, Message>;

function leftIn(next: readonly ArchivedMessage[], positions: readonly (number | undefined)[]): Left {
  return new Map(next.map(({ message }, index) => [positions[index], message]));
}

/** What the newest compaction left, by the session's state. */
function leftBy(last: SessionState, all: readonly ArchivedMessage[], counter: TokenCounter): Left {
  // The archive derives its ids from content hashes in the same way.
  const logged = last.log.map(([hash]) => hash.padStart(10, "0").slice(-10));
  const known = new Set(logged);
  const edits = new Map(last.kept.map(({ at, edit }) => [logged[at] ?? "", edit]));
  return new Map(
    [...all.entries()].flatMap(([position, { archiveId, message }]) => {
      // The state omits pinned messages, which always stay.
      if (known.has(archiveId) && !edits.has(archiveId)) return [];
      const context = { counter, archiveId: () => archiveId };
      return [[position, applyEdit(message, edits.get(archiveId), context)] as const];
    }),
  );
}

/** The outcome of each message of a list; all are unknown if the compaction is not known to have changed any. */
function outcomesOf(
  {
    list,
    positions,
    left,
    stored: { outcomes },
  }: Pick<ArchivedList, "list" | "stored"> & {
    readonly positions: readonly (number | undefined)[];
    readonly left: Left | undefined;
  },
  counter: TokenCounter,
): (archived: ArchivedMessage, at: number) => StoredOutcome {
  const unknown = (message: Message): StoredOutcome => {
    const tokens = counter.countMessage(message);
    return { outcome: "unknown", tokens, tokensAfter: tokens };
  };
  if (outcomes?.length === list.length) return ({ message }, at) => outcomes[at] ?? unknown(message);
  const found = (at: number): Message | undefined =>
    positions[at] === undefined ? undefined : left?.get(positions[at]);
  const isSame = (one: Message | undefined, other: Message): boolean =>
    one !== undefined && readableMessage(one) === readableMessage(other);
  const isWhole = list.every(({ message }, at) => isSame(found(at) ?? left?.get(undefined), message));
  return ({ message }, at) => {
    if (left === undefined || isWhole) return unknown(message);
    const tokens = counter.countMessage(message);
    const now = found(at);
    if (now === undefined) return { outcome: "summarized", tokens, tokensAfter: 0 };
    if (isSame(now, message)) return { outcome: "kept", tokens, tokensAfter: tokens };
    const isCleared = readableMessage(now).includes("[tool output cleared: ");
    return { outcome: isCleared ? "cleared" : "cut", tokens, tokensAfter: counter.countMessage(now) };
  };
}
