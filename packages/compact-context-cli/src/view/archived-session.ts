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
  stacked,
  textIn,
  typedAsk,
} from "./message-view.ts";
import { type CompactedMessage, createOriginals, hitView } from "./originals.ts";
import { createRecord, NO_FACTS, type SessionRecord } from "./session-record.ts";
import type { CompactionHead } from "./session-view.ts";

/** An archive to look at. */
export interface ArchiveSource {
  readonly archive: Archive;
  counterFor(model: string | undefined): TokenCounter;
  /** By which messages are told apart; the archive does not say which settings were used. */
  readonly keep: KeepCounts;
  /** The session's state, where it lies beside the archive. */
  state(sessionId: string): Promise<SessionState | undefined>;
}

/** What was read of a session. */
interface Loaded extends ArchivedConversation {
  readonly counter: TokenCounter;
  storedOf(step: number): StoredRecord;
}

/** A session of an archive; it is read when a reader first looks at it. */
export function createArchivedRecord(
  sessionId: string,
  source: ArchiveSource,
  changed: () => void,
): { readonly record: SessionRecord } {
  const { archive } = source;
  let loaded: Loaded = {
    counter: source.counterFor(undefined),
    messages: [],
    steps: [],
    storedOf: () => storedRecord(undefined, 0),
  };
  let loading: Promise<void> | undefined;
  const originals = createOriginals({
    load: () => {
      loading ??= loadSession(sessionId, source, record).then((read) => {
        loaded = read;
        changed();
      });
      return loading;
    },
    messages: () => loaded.messages,
    compactions: () =>
      loaded.steps.map(({ step, entries }) => ({ entries, summary: loaded.storedOf(step).text ?? "" })),
    placeOf: (head) => loaded.steps.findIndex(({ step }) => step === head.archive?.step),
    countMessage: (message) => loaded.counter.countMessage(message),
    redact: (text) => text,
    find: (id) => archive.findMessage(sessionId, id),
    async search(text, limit) {
      const { hits, problems } = await archive.search(text, { sessionId, limit });
      return { hits: hits.map((hit) => hitView(hit, sessionId)), problems: problems.length };
    },
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

async function loadSession(sessionId: string, source: ArchiveSource, record: SessionRecord): Promise<Loaded> {
  const { archive, keep } = source;
  const lists: ArchivedList[] = [];
  const records = new Map<number, StoredRecord>();
  for (const step of await archive.steps(sessionId)) {
    const { messages } = await archive.readTranscript(sessionId, step);
    const stored = storedRecord(await archive.readSummary(sessionId, step), messages.length);
    records.set(step, stored);
    lists.push({ step, messages: messages.map(withoutNative), outcomes: stored.outcomes });
  }
  const storedOf = (step: number): StoredRecord => records.get(step) ?? storedRecord(undefined, 0);
  const storedModel = [...records.values()].findLast(({ model }) => model !== undefined)?.model;
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
    tellSteps(record, joined, { storedOf, countText: (text) => counter.countText(text) });
  }
  const ask = joined.messages.map(({ message }) => typedAsk(message)).find((text) => text !== undefined);
  if (ask !== undefined) record.amend({ title: shortPreview(ask).slice(0, 200) });
  return { ...joined, counter, storedOf };
}

/** The model that the session's first estimate was made for. */
async function modelOf(archive: Archive, sessionId: string): Promise<string | undefined> {
  for await (const line of archive.streamEvents(sessionId)) {
    const model = textIn(readEventLine(line)?.properties, "model");
    if (model !== undefined) return model === "unknown" ? undefined : model;
  }
  return undefined;
}

/** The caller's own objects take as much room again, and nobody looks at them here. */
function withoutNative<T extends { readonly message: { readonly native?: unknown } }>(archived: T): T {
  const { native: _, ...message } = archived.message;
  return { ...archived, message };
}

async function readEvents(
  sessionId: string,
  { archive, record, joined }: { archive: Archive; record: SessionRecord; joined: ArchivedConversation },
): Promise<void> {
  const counts = new Map(joined.steps.map(({ step, messages }) => [step, messages]));
  const reader = createEventReader({ record, spansOnly: false, messagesOf: (step) => counts.get(step) ?? 0 });
  for await (const line of archive.streamEvents(sessionId)) {
    const event = readEventLine(line);
    if (event === undefined) record.drop();
    else reader.add(event);
  }
}

/** One list of the archive with what is stored beside it. */
interface Told {
  readonly entries: readonly CompactedMessage[];
  readonly stored: StoredRecord;
  readonly summaryTokens: number;
}

/** Tokens of one list by layer, and all of them. */
interface Sizes {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** Tells an archive without events, as the command writes it: each list is a step, and each step a compaction. */
function tellSteps(
  record: SessionRecord,
  { steps }: ArchivedConversation,
  { storedOf, countText }: { storedOf(step: number): StoredRecord; countText(text: string): number },
): void {
  const isKnown = steps.every(({ entries }) => entries.every(({ outcome }) => outcome !== "unknown"));
  // Where it is not known what a compaction left, the layers of what it left are not known either.
  if (isKnown) record.amend({ layers: MESSAGE_LAYERS });
  for (const { step, entries, messages } of steps) {
    const stored = storedOf(step);
    const summaryTokens = stored.summaryTokens ?? (stored.text === undefined ? 0 : countText(stored.text));
    const told = { entries, stored, summaryTokens };
    const { before, after, ...tokens } = isKnown ? sizesByMessage(told) : sizesByTotal(told);
    const { at } = stored;
    const made = record.addCompaction({
      step: record.steps.length,
      at,
      ...tokens,
      ...countsOf(told),
      policy: [],
      summarizer: stored.summarizer,
      summaryTokens,
      archive: { step, location: `step ${step}` },
      failures: [],
    });
    record.addStep({ at, messages, tokens: after, before, compaction: made.index });
  }
}

function sizesByMessage({ entries, stored, summaryTokens }: Told): Sizes {
  const before = stacked(entries, stored.fixed);
  const left = entries.map(({ layer, tokensAfter }) => ({ layer, tokens: tokensAfter }));
  const after = stacked([...left, { layer: "summary", tokens: summaryTokens }], stored.fixed);
  return { before, after, tokensBefore: sum(before), tokensAfter: sum(after) };
}

/** What is stored of the whole; where nothing is, nothing is said to have become less. */
function sizesByTotal({ entries, stored, summaryTokens }: Told): Sizes {
  const parts = stacked(entries, stored.fixed);
  const tokensBefore = stored.tokensBefore ?? sum(parts);
  const tokensAfter = stored.tokensAfter ?? tokensBefore;
  const share = (layer: (typeof MESSAGE_LAYERS)[number]): number => parts[MESSAGE_LAYERS.indexOf(layer)] ?? 0;
  const fixed = [share("tools"), share("system"), share("developer")];
  const hasLess = stored.tokensAfter !== undefined;
  return {
    before: eventLayers(fixed, { summary: share("summary") }, tokensBefore),
    after: eventLayers(fixed, { summary: hasLess ? summaryTokens : share("summary") }, tokensAfter),
    tokensBefore,
    tokensAfter,
  };
}

function countsOf({
  entries,
  stored,
}: Told): Pick<CompactionHead, "messagesBefore" | "messagesAfter" | "outcomes"> {
  const outcomes = countOutcomes(entries);
  const left = entries.length - (outcomes.summarized ?? 0) + (stored.text === undefined ? 0 : 1);
  return {
    messagesBefore: entries.length,
    messagesAfter: outcomes.unknown === undefined ? left : undefined,
    outcomes,
  };
}

function sum(tokens: readonly number[]): number {
  return tokens.reduce((total, one) => total + one, 0);
}
