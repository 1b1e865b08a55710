import {
  argumentsValue,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from "compact-context/internal/core/message";
import { createLruMap } from "compact-context/internal/errors";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { Archive } from "compact-context/internal/search/archive";
import { expandedChunk, kindOf, shortPreview, textIn } from "./message-view.ts";
import type { FoundOriginals, Originals } from "./session-record.ts";
import type { CompactionHead, MessageOutcome } from "./session-view.ts";
import { indexSources, type SourceIndex, type SourceText, summaryPieces } from "./source-index.ts";

/** An uncompacted message of a session. */
export interface Original {
  readonly message: Message;
  readonly archiveId: string;
  /** True if secrets were redacted. */
  readonly redacted?: boolean;
}

/** A message of a compacted list and its outcome. */
export interface CompactedMessage
  extends Pick<
    MessageOutcome,
    "summaryOf" | "role" | "layer" | "outcome" | "tokens" | "tokensAfter" | "reason"
  > {
  /** Index in the session; undefined for a summary. */
  readonly position: number | undefined;
  /** The message in the list, if it differs from the session's message at this position. */
  readonly listed?: Original;
}

/** The result of one compaction. */
export interface CompactedList {
  readonly entries: readonly CompactedMessage[];
  /** Empty if no summary was written. */
  readonly summary: string;
}

/** The texts of a session, and how to find more of them. */
interface SessionTexts {
  load?(): Promise<void>;
  /** The messages of the session, each once. */
  messages(): readonly Original[];
  compactions(): readonly CompactedList[];
  /** The index among the compactions; -1 if its list is unknown. */
  indexOf(head: CompactionHead): number;
  countMessage(message: Message): number;
  /** Redacts secrets in texts that no archive has redacted. */
  redact(text: string): string;
  /** Finds an archived message that is not among those of the session. */
  find?(archiveId: string): Promise<Original | undefined>;
  search(text: string, limit: number): Promise<FoundOriginals>;
}

/** Characters redacted for a preview: more than it shows, as a truncated secret would not be recognized. */
const REDACTED_LENGTH = 2000;

/** Serves a session's texts on demand. */
export function createOriginals(session: SessionTexts): Originals {
  const { messages, compactions, redact } = session;
  const toolOf = createToolLookup(messages, redact);
  const positionOf = createIdLookup(messages);
  const preview = (text: string): string => shortPreview(redact(text.slice(0, REDACTED_LENGTH)));
  let indexing: Promise<SourceIndex> | undefined;

  const shownMessage = ({ message, archiveId }: Original) => ({
    kind: kindOf(message),
    ...toolOf(message),
    archiveId,
    preview: preview(readableMessage(message)),
  });
  const outcomeView = ({ position, listed, ...outcome }: CompactedMessage): MessageOutcome => {
    const found = listed ?? messages()[position ?? -1];
    if (found !== undefined) return { ...outcome, message: position, ...shownMessage(found) };
    const summary = compactions()[outcome.summaryOf ?? -1]?.summary ?? "";
    return { ...outcome, kind: "summary", layer: "summary", preview: preview(summary) };
  };

  return {
    load: session.load,
    count: () => messages().length,
    message(index) {
      const found = messages()[index];
      if (found === undefined) return undefined;
      const { message } = found;
      return {
        message: index,
        role: message.role,
        tokens: session.countMessage(message),
        at: message.meta?.timestamp,
        ...shownMessage(found),
      };
    },
    open: cacheOpened(async (head) => {
      const at = session.indexOf(head);
      const list = compactions()[at];
      if (list === undefined) return { messages: [], summary: [] };
      indexing ??= indexSources(sourceTexts(messages()));
      const index = await indexing;
      const replaced = replacedBy(compactions().slice(0, at + 1));
      return {
        messages: list.entries.map(outcomeView),
        summary: summaryPieces(redact(list.summary), { index, has: (position) => replaced.has(position) }),
      };
    }),
    async expand({ archiveId: id, message, offset }) {
      const position = message ?? (id === undefined ? undefined : positionOf(id));
      const known = position === undefined ? undefined : messages()[position];
      const found = known ?? (id === undefined ? undefined : await session.find?.(id));
      if (found === undefined) return undefined;
      const text = readableMessage(found.message);
      const safe = redact(text);
      return {
        archiveId: found.archiveId,
        message: known === undefined ? undefined : position,
        role: found.message.role,
        redacted: found.redacted === true || safe !== text,
        ...expandedChunk(safe, offset),
      };
    },
    async search(text, limit) {
      const found = await session.search(text, limit);
      return { ...found, hits: found.hits.map((hit) => ({ ...hit, message: positionOf(hit.archiveId) })) };
    },
  };
}

/** Searches a session of an archive; the hits name it `session`. */
export async function searchArchive(
  archive: Archive,
  { sessionId, session, text, limit }: Record<"sessionId" | "session" | "text", string> & { limit: number },
): Promise<FoundOriginals> {
  const { hits, problems } = await archive.search(text, { sessionId, limit });
  return {
    hits: hits.map(({ archiveId, role, step, snippet }) => ({ session, archiveId, role, step, snippet })),
    problems: problems.length,
  };
}

/** Finds the first message with an archive id; computes ids only as far as needed. */
function createIdLookup(messages: () => readonly Original[]): (archiveId: string) => number | undefined {
  const positions = new Map<string, number>();
  let read = 0;
  return (id) => {
    const all = messages();
    for (; read < all.length && !positions.has(id); read += 1) {
      const known = all[read]?.archiveId ?? "";
      if (!positions.has(known)) positions.set(known, read);
    }
    return positions.get(id);
  };
}

/** The positions of the items by key, ascending. */
export function groupPositions<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [position, item] of items.entries()) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [position]);
    else group.push(position);
  }
  return groups;
}

/** Assigns positions from the end of the list: messages with the same candidates take the newest ones. */
export function newestPositions<T>(
  list: readonly T[],
  candidatesOf: (item: T) => readonly number[] | undefined,
): (number | undefined)[] {
  const used = new Map<readonly number[], number>();
  const newestFirst = list.toReversed().map((item) => {
    const candidates = candidatesOf(item) ?? [];
    const count = (used.get(candidates) ?? 0) + 1;
    used.set(candidates, count);
    return candidates.at(-count);
  });
  return newestFirst.reverse();
}

/** The positions of messages that these compactions replaced or shortened. */
function replacedBy(lists: readonly CompactedList[]): ReadonlySet<number | undefined> {
  const changed = lists.flatMap(({ entries }) => entries.filter(({ outcome }) => outcome !== "kept"));
  return new Set(changed.map(({ position }) => position));
}

function* sourceTexts(messages: readonly Original[]): Generator<SourceText> {
  for (const [position, { message, archiveId }] of messages.entries()) {
    yield { message: position, archiveId, role: message.role, text: readableMessage(message) };
  }
}

/** The tool of a call or result, and the file or folder among the arguments. */
interface ToolFacts {
  readonly tool?: string;
  readonly path?: string;
}

const PATH_FIELDS = [
  "file_path",
  "path",
  "filePath",
  "notebook_path",
  "file",
  "filename",
  "dir",
  "directory",
];

/** Finds the tool and path of a message; a result has those of its call. A path can contain a secret. */
function createToolLookup(
  messages: () => readonly Original[],
  redact: (text: string) => string,
): (message: Message) => ToolFacts {
  const calls = new Map<string, ToolFacts>();
  let read = 0;
  const factsOf = (call: ToolCallPart): ToolFacts => {
    const value = argumentsValue(call);
    const path = PATH_FIELDS.map((field) => textIn(value, field)).find((text) => text !== undefined);
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

/** Compactions cached per session, because users go back and forth, and reload. */
const MAX_OPENED = 16;

/** Caches opened compactions with LRU eviction; failures are not cached. */
function cacheOpened(open: Originals["open"]): Originals["open"] {
  const opened = createLruMap<ReturnType<Originals["open"]>>(MAX_OPENED);
  return (head) => {
    const key = String(head.index);
    const found = opened.get(key) ?? open(head);
    opened.set(key, found);
    found.catch(() => opened.delete(key));
    return found;
  };
}
