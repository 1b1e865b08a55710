import {
  argumentsValue,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from "compact-context/internal/core/message";
import { createLruMap } from "compact-context/internal/errors";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { SearchHit } from "compact-context/internal/search/archive";
import { expandedPiece, kindOf, shortPreview, textIn } from "./message-view.ts";
import type { FoundOriginals, Originals } from "./session-record.ts";
import type { CompactionHead, MessageOutcome, SearchHitView } from "./session-view.ts";
import { indexSources, type SourceIndex, type SourceText, summaryPieces } from "./source-index.ts";

/** A message of a session, as it was before any compaction. */
export interface Original {
  readonly message: Message;
  readonly archiveId: string;
  /** Secrets were taken out of it. */
  readonly redacted?: boolean;
}

/** One message of a list that was compacted, and what became of it. */
export interface CompactedMessage
  extends Pick<
    MessageOutcome,
    "summaryOf" | "role" | "layer" | "outcome" | "tokens" | "tokensAfter" | "reason"
  > {
  /** Place in the session; undefined for a summary. */
  readonly place: number | undefined;
  /** What stood in the list, where that is not the session's message at this place. */
  readonly listed?: Original;
}

/** What one compaction made of its list. */
export interface CompactedList {
  readonly entries: readonly CompactedMessage[];
  /** Empty where none was written. */
  readonly summary: string;
}

/** A session whose messages can be read. */
interface SessionTexts {
  load?(): Promise<void>;
  /** Every message of the session once, in order. */
  messages(): readonly Original[];
  /** Every compaction, in order. */
  compactions(): readonly CompactedList[];
  /** The place among them; -1 for one whose list is not known. */
  placeOf(head: CompactionHead): number;
  countMessage(message: Message): number;
  /** Takes secrets out of texts that come from no archive. */
  redact(text: string): string;
  /** A message that is archived and not among those of the session. */
  find?(archiveId: string): Promise<Original | undefined>;
  search(text: string, limit: number): Promise<FoundOriginals>;
}

/** Secrets are looked for in more than a preview shows: one that is cut in two would not be found. */
const SEARCHED = 2000;

/** What a page shows of a session's texts, each when a reader looks at it. */
export function createOriginals(session: SessionTexts): Originals {
  const { messages, compactions, redact } = session;
  const toolOf = createToolFacts(messages, redact);
  const placeOf = createPlaces(messages);
  const preview = (text: string): string => shortPreview(redact(text.slice(0, SEARCHED)));
  let indexing: Promise<SourceIndex> | undefined;

  const outcomeView = (entry: CompactedMessage): MessageOutcome => {
    const { place, listed, ...shown } = entry;
    const found = listed ?? (place === undefined ? undefined : messages()[place]);
    if (found === undefined) {
      const text = compactions()[shown.summaryOf ?? -1]?.summary ?? "";
      return { ...shown, kind: "summary", layer: "summary", preview: preview(text) };
    }
    const { message, archiveId } = found;
    return {
      ...shown,
      message: place,
      kind: kindOf(message),
      ...toolOf(message),
      archiveId,
      preview: preview(readableMessage(message)),
    };
  };

  return {
    load: session.load,
    count: () => messages().length,
    message(index) {
      const found = messages()[index];
      if (found === undefined) return undefined;
      const { message, archiveId } = found;
      return {
        index,
        role: message.role,
        kind: kindOf(message),
        ...toolOf(message),
        tokens: session.countMessage(message),
        at: message.meta?.timestamp,
        archiveId,
        preview: preview(readableMessage(message)),
      };
    },
    open: rememberOpened(async (head) => {
      const at = session.placeOf(head);
      const list = compactions()[at];
      if (list === undefined) return { messages: [], summary: [] };
      indexing ??= indexSources(sourceTexts(messages()));
      const index = await indexing;
      const replaced = replacedBy(compactions().slice(0, at + 1));
      return {
        messages: list.entries.map(outcomeView),
        summary: summaryPieces(redact(list.summary), { index, has: (place) => replaced.has(place) }),
      };
    }),
    async expand({ archiveId: id, message, offset }) {
      const place = message ?? (id === undefined ? undefined : placeOf(id));
      const known = place === undefined ? undefined : messages()[place];
      const found = known ?? (id === undefined ? undefined : await session.find?.(id));
      if (found === undefined) return undefined;
      const text = readableMessage(found.message);
      const safe = redact(text);
      return {
        archiveId: found.archiveId,
        message: known === undefined ? undefined : place,
        role: found.message.role,
        redacted: found.redacted === true || safe !== text,
        ...expandedPiece(safe, offset),
      };
    },
    async search(text, limit) {
      const found = await session.search(text, limit);
      return { ...found, hits: found.hits.map((hit) => ({ ...hit, message: placeOf(hit.archiveId) })) };
    },
  };
}

/** A hit of an archive's search, as a page shows it. */
export function hitView({ archiveId, role, step, snippet }: SearchHit, session: string): SearchHitView {
  return { session, archiveId, role, step, snippet };
}

/** Finds messages by their archive id, the first of several; reads only as far as it must. */
function createPlaces(messages: () => readonly Original[]): (archiveId: string) => number | undefined {
  const places = new Map<string, number>();
  let read = 0;
  return (id) => {
    const all = messages();
    for (; read < all.length && !places.has(id); read += 1) {
      const known = all[read]?.archiveId ?? "";
      if (!places.has(known)) places.set(known, read);
    }
    return places.get(id);
  };
}

/** What these compactions took out of the list, wholly or in part. */
function replacedBy(lists: readonly CompactedList[]): ReadonlySet<number | undefined> {
  const changed = lists.flatMap(({ entries }) => entries.filter(({ outcome }) => outcome !== "kept"));
  return new Set(changed.map(({ place }) => place));
}

function* sourceTexts(messages: readonly Original[]): Generator<SourceText> {
  for (const [place, { message, archiveId }] of messages.entries()) {
    yield { message: place, archiveId, role: message.role, text: readableMessage(message) };
  }
}

/** The tool that a message is about, and the file or folder that was named to it. */
interface ToolFacts {
  readonly tool?: string;
  readonly path?: string;
}

const PATHS = ["file_path", "path", "filePath", "notebook_path", "file", "filename", "dir", "directory"];

/** Finds tool and path of each message of a session: a result has those of its call. A path may hold a secret. */
function createToolFacts(
  messages: () => readonly Original[],
  redact: (text: string) => string,
): (message: Message) => ToolFacts {
  const calls = new Map<string, ToolFacts>();
  let read = 0;
  const factsOf = (call: ToolCallPart): ToolFacts => {
    const value = argumentsValue(call);
    const path = PATHS.map((field) => textIn(value, field)).find((text) => text !== undefined);
    return { tool: call.name, path: path === undefined ? undefined : redact(path.slice(0, 240)) };
  };
  return (message) => {
    const all = messages();
    for (; read < all.length; read += 1)
      for (const part of all[read]?.message.parts ?? [])
        if (part.type === "toolCall") calls.set(part.id, factsOf(part));
    const part = message.parts.find(
      (one): one is ToolCallPart | ToolResultPart => one.type === "toolCall" || one.type === "toolResult",
    );
    if (part === undefined) return {};
    return part.type === "toolCall" ? factsOf(part) : (calls.get(part.id) ?? { tool: part.name });
  };
}

/** Compactions of one session that stay opened: readers go back and forth, and reload. */
const MAX_OPENED = 16;

/** Opens each compaction once for all who look at it; what was looked at longest ago is forgotten first. */
function rememberOpened(open: Originals["open"]): Originals["open"] {
  const opened = createLruMap<ReturnType<Originals["open"]>>(MAX_OPENED);
  return (head) => {
    const key = String(head.index);
    const found = opened.get(key) ?? open(head);
    opened.set(key, found);
    found.catch(() => opened.delete(key));
    return found;
  };
}
