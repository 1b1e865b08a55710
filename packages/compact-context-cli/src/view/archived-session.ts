import type { KeepCounts } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import type { SessionState } from "compact-context/internal/core/view";
import type { Archive } from "compact-context/internal/search/archive";
import {
  type ArchivedConversation,
  type ArchivedList,
  joinArchive,
  type StoredRecord,
  storedRecord,
} from "./archived-steps.ts";
import { createEventReader, readEventLine } from "./event-reader.ts";
import {
  countOutcomes,
  EVENT_LAYERS,
  eventLayers,
  MESSAGE_LAYERS,
  shortPreview,
  sum,
  textIn,
  tokensByLayer,
  typedRequest,
} from "./message-view.ts";
import { type CompactedMessage, createOriginals, searchArchive } from "./originals.ts";
import { createRecord, NO_FACTS, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, LayerKey } from "./session-view.ts";

/** An archive and what is needed to read it. */
export interface ArchiveSource {
  readonly archive: Archive;
  counterFor(model: string | undefined): TokenCounter;
  /** Determines the layers: an archive does not store the settings that were used. */
  readonly keep: KeepCounts;
  /** The session's state, if one is stored with the archive. */
  state(sessionId: string): Promise<SessionState | undefined>;
}

interface LoadedSession extends ArchivedConversation {
  readonly counter: TokenCounter;
}

/** A session of an archive, loaded at the first request. */
export function createArchivedRecord(
  sessionId: string,
  source: ArchiveSource,
  changed: () => void,
): { readonly record: SessionRecord } {
  const { archive } = source;
  let loaded: LoadedSession = { counter: source.counterFor(undefined), messages: [], steps: [] };
  let loading: Promise<void> | undefined;
  const originals = createOriginals({
    load: () => {
      loading ??= loadSession(sessionId, source, record).then((session) => {
        loaded = session;
        changed();
      });
      return loading;
    },
    messages: () => loaded.messages,
    compactions: () => loaded.steps.map(({ stored, entries }) => ({ entries, summary: stored.text ?? "" })),
    indexOf: ({ archiveStep }) => loaded.steps.findIndex(({ step }) => step === archiveStep),
    countMessage: (message) => loaded.counter.countMessage(message),
    redact: (text) => text,
    find: (id) => archive.findMessage(sessionId, id),
    search: (text, limit) => searchArchive(archive, { sessionId, session: sessionId, text, limit }),
  });
  const record = createRecord({
    id: sessionId,
    source: "archive",
    facts: { ...NO_FACTS, layers: EVENT_LAYERS, title: sessionId, live: false, searchable: true },
    originals,
    changed,
  });
  return { record };
}

async function loadSession(
  sessionId: string,
  source: ArchiveSource,
  record: SessionRecord,
): Promise<LoadedSession> {
  const { archive, keep } = source;
  const lists: ArchivedList[] = [];
  for (const step of await archive.steps(sessionId)) {
    const { messages } = await archive.readTranscript(sessionId, step);
    const stored = storedRecord(await archive.readSummary(sessionId, step), messages.length);
    lists.push({ step, stored, messages: messages.map(withoutNative) });
  }
  const storedModel = lists.findLast(({ stored }) => stored.model !== undefined)?.stored.model;
  const counter = source.counterFor((await modelOf(archive, sessionId)) ?? storedModel);
  const state = await source.state(sessionId);
  const joined = joinArchive(lists, {
    keep,
    state,
    countMessage: (message) => counter.countMessage(message),
  });
  await readEvents(sessionId, { archive, record, joined });
  if (record.compactions.length === 0) {
    record.amend({ model: storedModel });
    addSteps(record, joined, counter);
  }
  const request = joined.messages
    .map(({ message }) => typedRequest(message))
    .find((text) => text !== undefined);
  if (request !== undefined) record.amend({ title: shortPreview(request).slice(0, 200) });
  return { ...joined, counter };
}

/** The model that the session's first estimate was made for. */
async function modelOf(archive: Archive, sessionId: string): Promise<string | undefined> {
  for await (const line of archive.streamEvents(sessionId)) {
    const model = textIn(readEventLine(line)?.properties, "model");
    if (model !== undefined) return model === "unknown" ? undefined : model;
  }
  return undefined;
}

/** Drops the caller's own objects, which double the memory and are not shown. */
function withoutNative<T extends { readonly message: { readonly native?: unknown } }>(archived: T): T {
  const { native: _, ...message } = archived.message;
  return { ...archived, message };
}

async function readEvents(
  sessionId: string,
  { archive, record, joined }: { archive: Archive; record: SessionRecord; joined: ArchivedConversation },
): Promise<void> {
  const counts = new Map(joined.steps.map(({ step, messages }) => [step, messages]));
  const reader = createEventReader({ record, messagesOf: (step) => counts.get(step) ?? 0 });
  for await (const line of archive.streamEvents(sessionId)) {
    const event = readEventLine(line);
    if (event === undefined) record.drop();
    else reader.add(event);
  }
}

/** An archived list with its summary record. */
interface ArchivedCompaction {
  readonly entries: readonly CompactedMessage[];
  readonly stored: StoredRecord;
  readonly summaryTokens: number;
}

/** Tokens of one list by layer, and their totals. */
interface CompactionTokens {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** For an archive without events, which the command writes: each list becomes a step with a compaction. */
function addSteps(record: SessionRecord, { steps }: ArchivedConversation, counter: TokenCounter): void {
  const isKnown = steps.every(({ entries }) => entries.every(({ outcome }) => outcome !== "unknown"));
  // Without outcomes the layers after a compaction are unknown too.
  if (isKnown) record.amend({ layers: MESSAGE_LAYERS });
  for (const { step, stored, entries, messages } of steps) {
    const summaryTokens =
      stored.summaryTokens ?? (stored.text === undefined ? 0 : counter.countText(stored.text));
    const compaction = { entries, stored, summaryTokens };
    const { before, after, ...totals } = isKnown ? tokensByOutcome(compaction) : tokensByTotal(compaction);
    const { at, summarizer } = stored;
    const { index } = record.addCompaction({
      step: record.steps.length,
      at,
      ...totals,
      ...countsOf(compaction),
      policy: [],
      summarizer,
      summaryTokens,
      archiveStep: step,
      failures: [],
    });
    record.addStep({ at, messages, tokens: after, before, compaction: index });
  }
}

function tokensByOutcome({ entries, stored, summaryTokens }: ArchivedCompaction): CompactionTokens {
  const before = tokensByLayer(entries, stored.fixed);
  const left = entries.map(({ layer, tokensAfter }) => ({ layer, tokens: tokensAfter }));
  const after = tokensByLayer([...left, { layer: "summary", tokens: summaryTokens }], stored.fixed);
  return { before, after, tokensBefore: sum(before), tokensAfter: sum(after) };
}

/** Uses the stored totals; without them nothing is reported as saved. */
function tokensByTotal({ entries, stored, summaryTokens }: ArchivedCompaction): CompactionTokens {
  const layers = tokensByLayer(entries, stored.fixed);
  const tokensBefore = stored.tokensBefore ?? sum(layers);
  const tokensAfter = stored.tokensAfter ?? tokensBefore;
  const tokensOf = (layer: LayerKey): number => layers[MESSAGE_LAYERS.indexOf(layer)] ?? 0;
  const fixed = [tokensOf("tools"), tokensOf("system"), tokensOf("developer")];
  const summary = tokensOf("summary");
  return {
    before: eventLayers(fixed, { summary }, tokensBefore),
    after: eventLayers(
      fixed,
      { summary: stored.tokensAfter === undefined ? summary : summaryTokens },
      tokensAfter,
    ),
    tokensBefore,
    tokensAfter,
  };
}

function countsOf({
  entries,
  stored,
}: ArchivedCompaction): Pick<CompactionHead, "messagesBefore" | "messagesAfter" | "outcomes"> {
  const outcomes = countOutcomes(entries);
  const left = entries.length - (outcomes.summarized ?? 0) + (stored.text === undefined ? 0 : 1);
  return {
    messagesBefore: entries.length,
    messagesAfter: outcomes.unknown === undefined ? left : undefined,
    outcomes,
  };
}
