import type { Format, Message, Part } from "compact-context";
import { createIds } from "compact-context/internal/codecs/create-codec";
import { codecFor } from "compact-context/internal/codecs/formats";
import { textPart } from "compact-context/internal/codecs/slots";
import {
  contentHash,
  type MessageMeta,
  messageText,
  readSummary,
} from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import { defined, isTooDeep, numberOf, recordOf, stringOf } from "./json.ts";

// The common representation of a session: messages, segments between compactions, usage.

/** Types of session files that are read and written back. */
export type TranscriptFormat =
  | "claude-code"
  | "codex"
  | "pi"
  | "opencode"
  | "gemini-cli"
  | "cline"
  | "copilot-cli"
  | "swe-agent"
  | "moatless"
  | "who-and-when"
  | "aider"
  | "tau-bench"
  | "tau2-bench"
  | "agentdojo"
  | "inspect-ai"
  | "openhands-sdk"
  | Exclude<Format, "pi">;

/** A part of the file that could not be read. */
export interface Problem {
  /** 1-based, in files of lines. */
  readonly line?: number;
  /** Path in a document, such as `messages[3]`. */
  readonly place?: string;
  readonly message: string;
}

/** The messages between two compactions: the prompt grew from `messages[0]` to its end. */
export interface Segment {
  readonly messages: readonly Message[];
  /** Number of leading messages that the previous compaction added (summary and kept ones); 0 in the first segment. */
  readonly carried: number;
  readonly endedBy?: OwnCompaction | undefined;
}

/** How the session itself replaced earlier messages. */
interface OwnCompaction {
  /** `opaque`: the replacement is encrypted; only its provider can read it. */
  readonly kind: "summary" | "opaque";
  readonly tokensBefore?: number | undefined;
}

/** A provider's usage report for one call of the session. */
export interface UsageRecord {
  /** Index into `segments`. */
  readonly segment: number;
  /** Index in that segment's messages of the answer; the prompt is everything before it. */
  readonly index: number;
  /** The record as stored in the file. */
  readonly usage: unknown;
  /** Tokens of the whole prompt, cached ones included. */
  readonly promptTokens: number;
  /** Cost of the call in US dollars, as recorded in the file. */
  readonly dollars?: number;
}

/** The result of compacting the live messages. */
export interface CompactedSession {
  readonly messages: readonly Message[];
  /** The text of the summary among them. */
  readonly summary?: string;
  readonly tokensBefore: number;
}

export interface WritePorts {
  /** A new identifier, unique in the file; all formats accept a UUID. */
  newId(): string;
  /** ISO 8601. */
  now(): string;
}

export interface WrittenTranscript {
  /** `append`: the original bytes, then `chunks`, on a line of their own. `replace`: `chunks` are the whole file. */
  readonly mode: "append" | "replace";
  readonly chunks: Iterable<string>;
}

/** The result of a format's reader. */
export interface Session {
  readonly format: TranscriptFormat;
  /** The codec format of the messages' `native` objects, if they have one. */
  readonly list?: Format;
  readonly segments: readonly Segment[];
  /** System prompt stored outside the list. */
  readonly system?: string;
  readonly tools?: readonly unknown[];
  readonly model?: string;
  readonly sessionId?: string;
  readonly title?: string;
  /** Working directory of the session. */
  readonly cwd?: string;
  /** Tokens of the window that the agent itself assumed. */
  readonly window?: number;
  readonly usage: readonly UsageRecord[];
  /** Several agents take part: each message is a separate model call, even directly after another answer. */
  readonly manyAgents?: boolean;
  write(compacted: CompactedSession, ports: WritePorts): WrittenTranscript;
}

/** A session file after reading. */
export interface Transcript extends Session {
  /** File name, or the caller's name for the input. */
  readonly name?: string;
  /** The messages that the agent's next call would send: those of the last segment. */
  readonly messages: readonly Message[];
  /** `at`: number of messages before it in the whole history, without copies made by compactions. */
  readonly compactions: readonly (OwnCompaction & { readonly at: number })[];
  readonly problems: readonly Problem[];
  /** Records without context, counted by kind. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** The format of the calls that the session's tool makes; undefined if several are possible. */
export function providerOf({ list, format }: Transcript): Format | undefined {
  return list ?? (format === "gemini-cli" ? "gemini" : undefined);
}

/** Collects content that a reader cannot use, so that nothing disappears silently. */
export class ReadLog {
  readonly problems: Problem[] = [];
  /** By kind; a map, since record types come from the file and may be called `__proto__`. */
  readonly leftOut: Map<string, number> = new Map();

  problem(problem: Problem): void {
    this.problems.push(problem);
  }

  leaveOut(kind: string, count = 1): void {
    if (count > 0) this.leftOut.set(kind, (this.leftOut.get(kind) ?? 0) + count);
  }

  /** False for a value that nests too deep to be processed, which is reported. */
  accepts(value: unknown, place: Pick<Problem, "line" | "place">): boolean {
    if (!isTooDeep(value)) return true;
    this.problem({ ...place, message: "nests too deep to be read; left out" });
    this.leaveOut("too deep");
    return false;
  }
}

/** A format with one JSON value or one text per file. */
export interface DocumentFormat {
  readonly format: TranscriptFormat;
  /** `value` is the parsed JSON, or the text itself if it is not JSON. */
  recognises(value: unknown): boolean;
  read(document: { readonly value: unknown; readonly text: string }, log: ReadLog): Session;
}

/** A format with one JSON record per line. */
export interface RecordFormat {
  readonly format: TranscriptFormat;
  recognises(record: unknown): boolean;
  read(records: AsyncIterable<SourceRecord>, log: ReadLog): Promise<Session>;
}

export interface SourceRecord {
  readonly value: unknown;
  /** False for a record that shares its line with others, which strict readers skip. */
  readonly whole: boolean;
}

// ---- messages

/** The content of one message of a format without a codec; one entry of the file may hold several messages. */
export interface Reading extends Pick<Message, "role" | "parts" | "native" | "meta"> {
  /** The entry's own id. */
  readonly id?: string;
}

/** Messages with unique ids: the entry's own, or a fingerprint of the content. */
export function messagesFrom(readings: readonly Reading[]): Message[] {
  const ids = createIds([]);
  return readings.map(({ role, parts, native, id, meta = {} }) =>
    withMeta({ id: ids.unique(id ?? contentHash({ role, parts })), role, parts, native }, meta),
  );
}

/** The value as a text part; none for an empty text or another type. */
export function textParts(value: unknown): Part[] {
  const text = stringOf(value) ?? "";
  return text === "" ? [] : [textPart(text)];
}

/** An entry with an answer and the results of its calls: the results become a message after it. */
export function withResults(answer: Reading, results: readonly Part[]): Reading[] {
  if (results.length === 0) return [answer];
  return [answer, { ...answer, role: "tool", parts: results, id: `${answer.id ?? "message"}:results` }];
}

/** The message with these facts added to its meta; undefined facts change nothing. */
export function withMeta(message: Message, facts: MessageMeta): Message {
  const known = defined(facts);
  if (Object.keys(known).length === 0) return message;
  return { ...message, meta: { ...message.meta, ...known } };
}

/** Records the version of our summary when it is read back. */
export function withSummaryVersion(message: Message): Message {
  const first = message.parts[0];
  const summaryVersion = first?.type === "text" ? readSummary(first.text)?.version : undefined;
  return withMeta(message, { summaryVersion });
}

// ---- lists that a codec reads

/** One message of the file, for a codec. */
export interface Item {
  readonly native: unknown;
  /** The provider's usage records for this message. */
  readonly reported?: readonly unknown[];
}

/** The items between two compactions; see `Segment`. */
export interface Stretch<T extends Item> extends Omit<Segment, "messages"> {
  readonly items: readonly T[];
}

interface StretchFormat<T extends Item> {
  readonly codec: Format;
  /** Path of the items in the file, for error messages. */
  readonly path: string;
  /** Fields of a usage record that sum up to the prompt. */
  readonly usage: readonly string[];
  /** The message with metadata from the file. */
  finish(message: Message, item: T): Message;
}

/** Decodes all stretches as one list, so that ids are unique across the session. */
export function decodeStretches<T extends Item>(
  stretches: readonly Stretch<T>[],
  { codec, path, usage, finish }: StretchFormat<T>,
  log: ReadLog,
): Pick<Session, "list" | "segments" | "usage"> {
  const items = stretches.flatMap((stretch) => stretch.items);
  const decoded = decodeReadable(codec, items, path, log).values();
  const reported = new Map<Message, Item["reported"]>();
  const segments = stretches.map(({ items: own, carried, endedBy }): Segment => {
    const found = own.map((item) => {
      const message = decoded.next().value;
      if (message === undefined) return [];
      const finished = finish(message, item);
      reported.set(finished, item.reported);
      return [finished];
    });
    return { messages: found.flat(), carried: found.slice(0, carried).flat().length, endedBy };
  });
  return {
    list: codec,
    segments,
    usage: usageOf(segments, usage, (message) => reported.get(message) ?? []),
  };
}

/** The message of each item; undefined for one that the codec refuses, which is reported. */
function decodeReadable(
  format: Format,
  items: readonly Item[],
  path: string,
  log: ReadLog,
): readonly (Message | undefined)[] {
  const decode = (natives: readonly unknown[]): readonly Message[] | CompactError => {
    try {
      return codecFor(format).decode(natives);
    } catch (error) {
      if (!CompactError.isInstance(error)) throw error;
      return error;
    }
  };
  const natives = items.map(({ native }) => native);
  const all = decode(natives);
  if (!CompactError.isInstance(all)) return all;
  const unreadable = new Set<unknown>();
  for (const [index, native] of natives.entries()) {
    const error = decode([native]);
    if (!CompactError.isInstance(error)) continue;
    unreadable.add(native);
    const place = `${path}[${index}]`;
    log.problem({ place, message: `${error.message.replace(/^messages\[0\]/, place)}; left out` });
    log.leaveOut("unreadable message");
  }
  const readable = codecFor(format).decode(natives.filter((native) => !unreadable.has(native)));
  const next = readable.values();
  return natives.map((native) => (unreadable.has(native) ? undefined : next.next().value));
}

/** Takes the summary out of the compacted list: its text, and the kept messages before and after it. */
export function splitAtSummary({ messages, summary }: CompactedSession): {
  readonly before: readonly Message[];
  readonly summary: string | undefined;
  readonly after: readonly Message[];
} {
  const index = messages.findLastIndex(
    (message) =>
      message.meta?.summaryVersion !== undefined ||
      (message.native === undefined && summary !== undefined && messageText(message) === summary),
  );
  const own = messages[index];
  if (own === undefined) return { before: [], summary, after: messages };
  return { before: messages.slice(0, index), summary: messageText(own), after: messages.slice(index + 1) };
}

// ---- usage

/** Fields of a record that sum up to the prompt, where more than one format has it. */
export const ANTHROPIC_USAGE: readonly string[] = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
];
export const CHAT_USAGE: readonly string[] = ["prompt_tokens"];
export const RESPONSES_USAGE: readonly string[] = ["input_tokens"];
export const PI_USAGE: readonly string[] = ["input", "cacheRead", "cacheWrite"];

/** The tokens of a prompt: the sum of the fields, whose names may be paths; 0 if none is reported. */
export function promptTokens(fields: readonly string[], usage: unknown): number {
  return fields.reduce((sum, field) => {
    const value = field.split(".").reduce<unknown>((inner, key) => recordOf(inner)[key], usage);
    return sum + (numberOf(value) ?? 0);
  }, 0);
}

/** The usage records of the answers that no compaction added; `of` reads those of one answer. */
export function usageOf(
  segments: readonly Segment[],
  fields: readonly string[],
  of: (message: Message) => readonly unknown[],
): UsageRecord[] {
  return segments.flatMap(({ messages, carried }, segment) =>
    messages.flatMap((message, index) =>
      index < carried || message.role !== "assistant"
        ? []
        : of(message).flatMap((usage) => {
            const prompt = promptTokens(fields, usage);
            const { cost } = recordOf(usage);
            // Agents write zero if they know no price.
            const dollars = (numberOf(cost) ?? numberOf(recordOf(cost).total)) || undefined;
            return prompt <= 0 ? [] : [{ segment, index, usage, promptTokens: prompt, dollars }];
          }),
    ),
  );
}
