import type { Format, Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { decodeReadable } from "./decode.ts";
import { readableEntries } from "./entries.ts";
import { isoTime, recordOf, stringOf } from "./json.ts";
import { singleSegment, usageRecord, withMeta } from "./session.ts";
import type { ReadLog, Segment, UsageRecord, UsageSource } from "./transcript.ts";

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
