import type { Message } from "compact-context/internal/core/message";
import type { KeepCounts } from "compact-context/internal/core/policy";
import type { TokenCounter } from "compact-context/internal/core/ports";
import type { SessionState } from "compact-context/internal/core/view";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { Archive } from "compact-context/internal/search/archive";
import {
  type ArchivedConversation,
  type ArchivedEntry,
  type ArchivedList,
  type ArchivedStep,
  joinArchive,
  type StoredRecord,
  storedRecord,
} from "./archived-steps.ts";
import { createEventReader, readEventLine } from "./event-reader.ts";
import {
  createToolFacts,
  EVENT_LAYERS,
  eventLayers,
  kindOf,
  MESSAGE_LAYERS,
  shortPreview,
  stacked,
  type ToolFacts,
  typedAsk,
} from "./message-view.ts";
import { createRecord, type Originals, rememberOpened, type SessionRecord } from "./session-record.ts";
import type { CompactionHead, CompactionView, Fate, FateView, MessageView } from "./session-view.ts";
import { indexSources, type SourceIndex, type SourceText, summaryPieces } from "./source-index.ts";
import { expandedPiece, textIn } from "./untrusted.ts";

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
  toolOf(message: Message): ToolFacts;
}

/** A session of an archive; it is read when a reader first looks at it. */
export function createArchivedRecord(
  sessionId: string,
  source: ArchiveSource,
  changed: () => void,
): { readonly record: SessionRecord } {
  let loaded: Loaded = {
    counter: source.counterFor(undefined),
    messages: [],
    steps: [],
    storedOf: () => storedRecord(undefined, 0),
    toolOf: () => ({}),
  };
  let loading: Promise<void> | undefined;
  let indexing: Promise<SourceIndex> | undefined;
  const stepOf = (head: CompactionHead): ArchivedStep | undefined =>
    loaded.steps.find(({ step }) => step === head.archive?.step);
  const originals: Originals = {
    load: () => {
      loading ??= loadSession(sessionId, source, record).then((read) => {
        loaded = read;
        changed();
      });
      return loading;
    },
    count: () => loaded.messages.length,
    message: (index) => messageView(loaded, index),
    open: rememberOpened(async (head) => {
      const step = stepOf(head);
      if (step === undefined) return { messages: [], summary: [] };
      indexing ??= indexSources(sourceTexts(loaded.messages));
      return opened(step, loaded, await indexing);
    }),
    expand: (what) => expand(what, { loaded, sessionId, archive: source.archive }),
    async search(text, limit) {
      const { hits, problems } = await source.archive.search(text, { sessionId, limit });
      const places = new Map(loaded.messages.map(({ archiveId }, place) => [archiveId, place]));
      return {
        hits: hits.map(({ archiveId, role, step, snippet }) => {
          const message = places.get(archiveId);
          return { session: sessionId, archiveId, role, step, snippet, message };
        }),
        problems: problems.length,
      };
    },
  };
  const record = createRecord({
    id: sessionId,
    source: "archive",
    facts: {
      layers: EVENT_LAYERS,
      title: sessionId,
      live: false,
      window: 0,
      trigger: 0,
      budget: 0,
      searchable: true,
    },
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
    lists.push({ step, messages: messages.map(withoutNative), fates: stored.fates });
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
  const history = joined.messages.map(({ message }) => message);
  return { ...joined, counter, storedOf, toolOf: createToolFacts(() => history) };
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

function messageView({ messages, counter, toolOf }: Loaded, index: number): MessageView | undefined {
  const archived = messages[index];
  if (archived === undefined) return undefined;
  const { message, archiveId } = archived;
  return {
    index,
    role: message.role,
    kind: kindOf(message),
    archiveId,
    ...toolOf(message),
    tokens: counter.countMessage(message),
    at: message.meta?.timestamp,
    preview: shortPreview(readableMessage(message)),
  };
}

function opened(
  step: ArchivedStep,
  { steps, storedOf, toolOf }: Loaded,
  index: SourceIndex,
): Pick<CompactionView, "messages" | "summary"> {
  const replaced = new Set<number>();
  for (const { step: one, entries } of steps) {
    if (one > step.step) break;
    for (const { place, fate } of entries) if (place !== undefined && fate !== "kept") replaced.add(place);
  }
  return {
    messages: step.entries.map((entry) => ({
      ...fateView(entry, steps.indexOf(step)),
      ...toolOf(entry.message),
    })),
    summary: summaryPieces(storedOf(step.step).text ?? "", { index, has: (place) => replaced.has(place) }),
  };
}

function* sourceTexts(messages: Loaded["messages"]): Generator<SourceText> {
  for (const [place, { message, archiveId }] of messages.entries()) {
    yield { message: place, archiveId, role: message.role, text: readableMessage(message) };
  }
}

function fateView(
  { place, message, archiveId, layer, fate, tokens, tokensAfter, reason }: ArchivedStep["entries"][number],
  compaction: number,
): FateView {
  const isSummary = message.meta?.summaryVersion !== undefined;
  return {
    message: place,
    summaryOf: isSummary && compaction > 0 ? compaction - 1 : undefined,
    role: message.role,
    kind: kindOf(message),
    layer,
    fate,
    tokens,
    tokensAfter,
    archiveId,
    reason,
    preview: shortPreview(readableMessage(message)),
  };
}

async function expand(
  { archiveId: id, message: place, offset }: Parameters<Originals["expand"]>[0],
  { loaded, sessionId, archive }: { loaded: Loaded; sessionId: string; archive: Archive },
): ReturnType<Originals["expand"]> {
  const known = place === undefined ? undefined : loaded.messages[place];
  const found = known ?? (id === undefined ? undefined : await archive.findMessage(sessionId, id));
  if (found === undefined) return undefined;
  const at =
    known === undefined ? loaded.messages.findIndex((one) => one.archiveId === found.archiveId) : place;
  return {
    archiveId: found.archiveId,
    message: at === undefined || at < 0 ? undefined : at,
    role: found.message.role,
    redacted: found.redacted,
    ...expandedPiece(readableMessage(found.message), offset),
  };
}

/** One list of the archive with what is stored beside it. */
interface Told {
  readonly entries: readonly ArchivedEntry[];
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
  const isKnown = steps.every(({ entries }) => entries.every(({ fate }) => fate !== "unknown"));
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
}: Told): Pick<CompactionHead, "messagesBefore" | "messagesAfter" | "fates"> {
  const fates: Partial<Record<Fate, number>> = {};
  for (const { fate } of entries) fates[fate] = (fates[fate] ?? 0) + 1;
  const left = entries.length - (fates.summarized ?? 0) + (stored.text === undefined ? 0 : 1);
  return {
    messagesBefore: entries.length,
    messagesAfter: fates.unknown === undefined ? left : undefined,
    fates,
  };
}

function sum(tokens: readonly number[]): number {
  return tokens.reduce((total, one) => total + one, 0);
}
