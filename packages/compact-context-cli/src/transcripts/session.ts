import type { Format, Message, Part } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { createIds } from "compact-context/internal/codecs/ids";
import { textPart } from "compact-context/internal/codecs/slots";
import {
  contentHash,
  type MessageMeta,
  messageText,
  readSummary,
} from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import { defined, type JsonRecord, numberOf, recordOf, stringOf } from "./json.ts";
import {
  type CompactedSession,
  type EarlierCompaction,
  type ReadLog,
  type Segment,
  USAGE_FIELDS,
  type UsageRecord,
  type UsageSource,
} from "./transcript.ts";

// The common representation of a session: messages, segments between compactions, usage.

/**
 * The content of one message of a format without a codec; one entry of the file may hold several messages.
 */
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

interface Decoded {
  /** One message per native that is not in `unreadable`, in order; ids are unique across them. */
  readonly messages: readonly Message[];
  readonly unreadable: ReadonlySet<unknown>;
}

/** Decodes natives of a codec format; refused ones are reported and skipped. */
export function decodeReadable(
  format: Format,
  natives: readonly unknown[],
  path: string,
  log: ReadLog,
): Decoded {
  const codec = codecFor(format);
  try {
    return { messages: codec.decode(natives), unreadable: new Set() };
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
  }
  const unreadable = new Set<unknown>();
  natives.forEach((native, index) => {
    try {
      codec.decode([native]);
    } catch (error) {
      if (!CompactError.isInstance(error)) throw error;
      unreadable.add(native);
      const place = `${path}[${index}]`;
      log.problem({ place, message: `${error.message.replace(/^messages\[0\]/, place)}; left out` });
      log.leaveOut("unreadable message");
    }
  });
  return { messages: codec.decode(natives.filter((native) => !unreadable.has(native))), unreadable };
}

// ---- segments

/** A single segment, for formats without compactions of their own. */
export function singleSegment(messages: readonly Message[]): readonly Segment[] {
  return [{ messages: messages.map(withSummaryVersion), carried: 0 }];
}

/**
 * Appends a segment; the compaction that ended it is placed after all new messages of the segments so far.
 */
export function addSegment(
  segments: Segment[],
  segment: Segment,
  compaction: Omit<EarlierCompaction, "at"> | undefined,
): void {
  const at = [...segments, segment].reduce((sum, one) => sum + one.messages.length - one.carried, 0);
  segments.push(compaction === undefined ? segment : { ...segment, endedBy: { ...compaction, at } });
}

/** One message of a file of records, for its codec. */
export interface Item {
  readonly native: JsonRecord;
  /** The provider's usage records for this message. */
  readonly reported?: readonly unknown[];
}

/** The items between two compactions. */
export interface Stretch<T extends Item> {
  readonly items: readonly T[];
  /** Number of leading items that the previous compaction added. */
  readonly carried: number;
  readonly endedBy?: Omit<EarlierCompaction, "at">;
}

interface StretchFormat<T extends Item> {
  readonly codec: Format;
  readonly usage: UsageSource;
  /** Path of the items in the file, for error messages. */
  readonly path: string;
  /** The message with metadata from the file. */
  finish(message: Message, item: T): Message;
}

/** Decodes all segments as one list, so that ids are unique across the session. */
export function decodeStretches<T extends Item>(
  stretches: readonly Stretch<T>[],
  { codec, usage: source, path, finish }: StretchFormat<T>,
  log: ReadLog,
): {
  readonly segments: readonly Segment[];
  readonly usage: readonly UsageRecord[];
  readonly unreadable: ReadonlySet<unknown>;
} {
  const natives = stretches.flatMap(({ items }) => items.map(({ native }) => native));
  const { messages, unreadable } = decodeReadable(codec, natives, path, log);
  const readable = ({ native }: Item): boolean => !unreadable.has(native);
  const segments: Segment[] = [];
  const usage: UsageRecord[] = [];
  let next = 0;
  stretches.forEach(({ items, carried: given, endedBy }, segment) => {
    const carried = items.slice(0, given).filter(readable).length;
    const finished: Message[] = [];
    for (const [index, item] of items.filter(readable).entries()) {
      const message = messages[next];
      next += 1;
      if (message !== undefined) finished.push(finish(message, item));
      const own = index < carried ? [] : (item.reported ?? []);
      usage.push(...own.flatMap((record) => usageRecord(source, record, { segment, index }) ?? []));
    }
    addSegment(segments, { messages: finished, carried }, endedBy);
  });
  return { segments, usage, unreadable };
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
      (message.native === undefined && summary !== undefined && messageText(message) === summary.text),
  );
  const own = messages[index];
  if (own === undefined) return { before: [], summary: summary?.text, after: messages };
  return { before: messages.slice(0, index), summary: messageText(own), after: messages.slice(index + 1) };
}

// ---- usage

/**
 * A usage record of message `index` in `segment`; undefined if the provider reported nothing or only zeros.
 */
export function usageRecord(
  source: UsageSource,
  usage: unknown,
  place: { readonly segment: number; readonly index: number },
): UsageRecord | undefined {
  const record = recordOf(usage);
  const [promptTokens, outputTokens] = USAGE_FIELDS[source].map((fields) => sumOf(record, fields));
  if ((promptTokens ?? 0) + (outputTokens ?? 0) === 0) return undefined;
  return { ...place, usage, source, promptTokens, outputTokens, dollars: costIn(record) };
}

/** Agents write zero if they know no price. */
function costIn({ cost }: JsonRecord): number | undefined {
  return (numberOf(cost) ?? numberOf(recordOf(cost).total)) || undefined;
}

function sumOf(record: JsonRecord, fields: readonly string[]): number | undefined {
  const values = fields.flatMap((field) => {
    const value = field.split(".").reduce<unknown>((inner, key) => recordOf(inner)[key], record);
    return numberOf(value) ?? [];
  });
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** The usage records of all answers; `of` reads an answer's record. */
export function usageOf(
  segments: readonly Segment[],
  source: UsageSource,
  of: (message: Message) => unknown,
): UsageRecord[] {
  return segments.flatMap(({ messages }, segment) =>
    messages.flatMap((message, index) =>
      message.role === "assistant" ? (usageRecord(source, of(message), { segment, index }) ?? []) : [],
    ),
  );
}
