import type { Format, Message, Part, Role } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { contentHash, type MessageMeta } from "compact-context/internal/core/message";
import { CompactError } from "compact-context/internal/errors";
import { isoTime, isTooDeep, type JsonRecord, recordOf, stringOf } from "./json.ts";
import { singleSegment, usageRecord, withMeta } from "./session.ts";
import type { ReadLog, Segment, UsageRecord, UsageSource } from "./transcript.ts";

/** What a reader says of one message of a format that no codec knows. */
export interface Reading {
  readonly role: Role;
  readonly parts: readonly Part[];
  /** The entry of the file; several messages may come from one. */
  readonly native: unknown;
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/** Messages with unique ids: the entry's own, or a fingerprint of the content. */
export function messagesFrom(readings: readonly Reading[]): Message[] {
  const numbers = new Map<string, number>();
  const taken = new Set<string>();
  return readings.map(({ role, parts, native, id: wished, meta }) => {
    const base = wished ?? contentHash({ role, parts });
    let id = base;
    while (taken.has(id)) {
      const number = (numbers.get(base) ?? 1) + 1;
      numbers.set(base, number);
      id = `${base}-${number}`;
    }
    taken.add(id);
    return withMeta({ id, role, parts, native }, meta ?? {});
  });
}

/** Makes the entry for messages that come from one entry (`original`, some of it changed or missing) or from none. */
type EntryBuilder = (group: readonly Message[], original: JsonRecord | undefined) => unknown;

/** The list of entries for the compacted messages: untouched entries are the file's own objects. */
export function rebuildEntries(
  live: readonly Message[],
  compacted: readonly Message[],
  build: EntryBuilder,
): unknown[] {
  const sizes = new Map<unknown, number>();
  for (const message of live) sizes.set(message.native, (sizes.get(message.native) ?? 0) + 1);
  return groupByNative(compacted).map((group) => {
    const native = group[0]?.native;
    if (native === undefined) return build(group, undefined);
    const whole = group.length === sizes.get(native) && group.every((message) => message.edited !== true);
    return whole ? native : build(group, native as JsonRecord);
  });
}

function groupByNative(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last !== undefined && message.native !== undefined && last[0]?.native === message.native)
      last.push(message);
    else groups.push([message]);
  }
  return groups;
}

/** The entries that can be walked safely; the others are reported and counted. */
export function readableEntries(entries: readonly unknown[], path: string, log: ReadLog): readonly unknown[] {
  return entries.filter((entry, index) => {
    if (!isTooDeep(entry)) return true;
    log.problem({ place: `${path}[${index}]`, message: "nests too deep to be read; left out" });
    log.leaveOut("too deep");
    return false;
  });
}

/** A text part, or none for empty text. */
export function textParts(text: string | undefined): Part[] {
  return text === undefined || text === "" ? [] : [{ type: "text", text }];
}

/** The value as a part's text when it is a string. */
export function textPartsOf(value: unknown): Part[] {
  return textParts(stringOf(value));
}

interface Decoded {
  /** One for each native that is not in `unreadable`, in order; ids are unique over all of them. */
  readonly messages: readonly Message[];
  readonly unreadable: ReadonlySet<unknown>;
}

/** Decodes natives of a codec format; those that the codec refuses are reported and left out, the rest is read. */
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

/** A list of entries that a codec reads. */
export interface EntryList {
  readonly format: Format;
  readonly entries: readonly unknown[];
  /** Where the list stands in the document, for error messages. */
  readonly path: string;
  /** What the codec is to read in place of an entry; the entry itself when left out. */
  readonly translate?: (entry: unknown) => unknown;
  /** Where an entry keeps the provider's usage record. */
  readonly usage?: { readonly source: UsageSource; readonly of: (entry: unknown) => unknown };
}

export interface ReadList {
  readonly segments: readonly Segment[];
  readonly usage: readonly UsageRecord[];
  /** The file's own entries for these messages; new ones for new or edited messages. */
  encode(messages: readonly Message[]): unknown[];
}

/** Reads a list with its codec and remembers which entry each message came from. */
export function readList(list: EntryList, log: ReadLog): ReadList {
  const { usage } = list;
  const entries = readableEntries(list.entries, list.path, log);
  const natives = entries.map((entry) => list.translate?.(entry) ?? entry);
  const origins = new Map(natives.map((native, index) => [native, entries[index]]));
  const decoded = decodeReadable(list.format, natives, list.path, log);
  const messages = decoded.messages.map((message) => dated(message, origins.get(message.native)));
  const records = messages.flatMap((message, index) => {
    if (usage === undefined || message.role !== "assistant") return [];
    const record = usageRecord(usage.source, usage.of(origins.get(message.native)), { segment: 0, index });
    return record === undefined ? [] : [record];
  });
  return {
    segments: singleSegment(messages),
    usage: records,
    encode: (kept) =>
      codecFor(list.format)
        .encode(kept)
        .map((native) => origins.get(native) ?? native),
  };
}

function dated(message: Message, entry: unknown): Message {
  const { timestamp, ts } = recordOf(entry);
  return withMeta(message, { timestamp: stringOf(timestamp) ?? isoTime(ts) });
}
