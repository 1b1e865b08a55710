import {
  argumentsValue,
  type Message,
  type ToolCallPart,
  type ToolResultPart,
} from "compact-context/internal/core/message";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { Archive } from "compact-context/internal/search/archive";
import { kindOf, shortPreview, textIn } from "./message-view.ts";
import type {
  CompactionHead,
  CompactionView,
  ExpandedView,
  MessageOutcome,
  MessageView,
  SearchView,
} from "./session-view.ts";
import { indexSources, type SourceIndex, summaryPieces } from "./source-index.ts";

/** An uncompacted message of a session. */
export interface Original {
  readonly message: Message;
  readonly archiveId: string;
  /** True if secrets were redacted. */
  readonly redacted?: boolean;
}

/** A message of a compacted list and its outcome. */
export interface CompactedMessage
  extends Pick<MessageOutcome, "summaryOf" | "role" | "outcome" | "tokens" | "tokensAfter" | "reason"> {
  /** Index in the session; undefined for a summary. */
  readonly position: number | undefined;
  /** The message in the list, if it differs from the session's message at this position. */
  readonly listed?: Original;
}

/** The result of one compaction; events give whole rows, as they hold no texts. */
export interface CompactedList {
  readonly entries: readonly (CompactedMessage | MessageOutcome)[];
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
  redact?(text: string): string;
  /** Finds an archived message that is not among those of the session. */
  find?(archiveId: string): Promise<Original | undefined>;
  search(text: string, limit: number): Promise<FoundOriginals>;
}

export type FoundOriginals = Omit<SearchView, "query">;

/** Characters redacted for a preview: more than it shows, as a truncated secret would not be recognized. */
const REDACTED_LENGTH = 2000;
/** Characters of one chunk of a message's text. */
const CHUNK_LENGTH = 20_000;

/** Serves a session's texts, each computed on demand. */
export class Originals {
  readonly #session: SessionTexts;
  #lookup: Lookup | undefined;
  #indexing: Promise<SourceIndex> | undefined;

  constructor(session: SessionTexts) {
    this.#session = session;
  }

  /** Loads the session once, if loading was deferred to the first request. */
  async load(): Promise<void> {
    await this.#session.load?.();
  }

  count(): number {
    return this.#session.messages().length;
  }

  /** Undefined for an index out of range. */
  message(index: number): MessageView | undefined {
    const found = this.#session.messages()[index];
    if (found === undefined) return undefined;
    const { message } = found;
    return {
      message: index,
      role: message.role,
      tokens: this.#session.countMessage(message),
      at: message.meta?.timestamp,
      ...this.#shown(found),
    };
  }

  /** The details of a compaction. */
  async open(head: CompactionHead): Promise<Pick<CompactionView, "messages" | "summary">> {
    const at = this.#session.indexOf(head);
    const lists = this.#session.compactions().slice(0, at + 1);
    const list = lists[at];
    if (list === undefined) return { messages: [], summary: [] };
    this.#indexing ??= indexSources(this.#session.messages());
    const index = await this.#indexing;
    const replaced = new Set(
      lists.flatMap(({ entries }) =>
        entries.flatMap((entry) => ("position" in entry && entry.outcome !== "kept" ? [entry.position] : [])),
      ),
    );
    return {
      messages: list.entries.map((entry) => ("preview" in entry ? entry : this.#outcome(entry))),
      summary: summaryPieces(this.#redact(list.summary), index, (position) => replaced.has(position)),
    };
  }

  /** A chunk of a message's text; surrogate pairs stay whole. */
  async expand(ref: {
    readonly archiveId?: string;
    readonly message?: number;
    readonly offset: number;
  }): Promise<ExpandedView | undefined> {
    const { archiveId = "" } = ref;
    const messages = this.#session.messages();
    const known = messages[ref.message ?? this.#lookedUp().positions.get(archiveId) ?? -1];
    const found = known ?? (archiveId === "" ? undefined : await this.#session.find?.(archiveId));
    if (found === undefined) return undefined;
    const text = readableMessage(found.message);
    const safe = this.#redact(text);
    const offset = Math.min(ref.offset, safe.length);
    const chunk = safe.slice(offset, offset + CHUNK_LENGTH).replace(/(?<=.)[\ud800-\udbff]$/s, "");
    const end = offset + chunk.length;
    return {
      archiveId: found.archiveId,
      role: found.message.role,
      redacted: found.redacted === true || safe !== text,
      text: chunk,
      offset,
      characters: safe.length,
      next: end < safe.length ? end : undefined,
    };
  }

  async search(text: string, limit: number): Promise<FoundOriginals> {
    const { hits, problems } = await this.#session.search(text, limit);
    const { positions } = this.#lookedUp();
    return { problems, hits: hits.map((hit) => ({ ...hit, message: positions.get(hit.archiveId) })) };
  }

  #outcome({ position, listed, ...outcome }: CompactedMessage): MessageOutcome {
    const found = listed ?? this.#session.messages()[position ?? -1];
    if (found !== undefined) return { ...outcome, message: position, ...this.#shown(found) };
    const summary = this.#session.compactions()[outcome.summaryOf ?? -1]?.summary ?? "";
    return { ...outcome, kind: "summary", preview: this.#preview(summary) };
  }

  #shown({ message, archiveId }: Original) {
    const { tool, path } = this.#toolOf(message);
    return {
      kind: kindOf(message),
      tool,
      path: path === undefined ? undefined : this.#redact(path),
      archiveId,
      preview: this.#preview(readableMessage(message)),
    };
  }

  #redact(text: string): string {
    return this.#session.redact?.(text) ?? text;
  }

  #preview(text: string): string {
    return shortPreview(this.#redact(text.slice(0, REDACTED_LENGTH)));
  }

  /** The tool and path of a message; a result has those of its call. */
  #toolOf(message: Message): ToolFacts {
    const part = message.parts.find(
      (one): one is ToolCallPart | ToolResultPart => one.type === "toolCall" || one.type === "toolResult",
    );
    if (part === undefined) return {};
    if (part.type === "toolCall") return factsOf(part);
    return this.#lookedUp().calls.get(part.id) ?? { tool: part.name };
  }

  #lookedUp(): Lookup {
    const messages = this.#session.messages();
    if (this.#lookup?.messages !== messages) this.#lookup = lookUp(messages);
    return this.#lookup;
  }
}

interface Lookup {
  readonly messages: readonly Original[];
  /** The first message with an archive id. */
  readonly positions: ReadonlyMap<string, number>;
  /** Tool calls by id. */
  readonly calls: ReadonlyMap<string, ToolFacts>;
}

function lookUp(messages: readonly Original[]): Lookup {
  const positions = new Map<string, number>();
  const calls = new Map<string, ToolFacts>();
  for (const [position, { message, archiveId }] of messages.entries()) {
    if (!positions.has(archiveId)) positions.set(archiveId, position);
    for (const part of message.parts) if (part.type === "toolCall") calls.set(part.id, factsOf(part));
  }
  return { messages, positions, calls };
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

function factsOf(call: ToolCallPart): ToolFacts {
  const value = argumentsValue(call);
  const path = PATH_FIELDS.map((field) => textIn(value, field)).find((text) => text !== undefined);
  return { tool: call.name, path: path?.slice(0, 240) };
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

/**
 * The position of each message of a list among the messages of its session, by key. From the end: messages with the
 * same key take the newest positions.
 */
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
