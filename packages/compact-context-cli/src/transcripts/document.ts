import type { Format, Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { documentChunks, isoTime, isTooDeep, type JsonRecord, layoutOf, recordOf, stringOf } from "./json.ts";
import { decodeReadable, messagesFrom, type Reading, singleSegment, usageOf, withMeta } from "./session.ts";
import type {
  DocumentFormat,
  ReadLog,
  Segment,
  Session,
  TranscriptFormat,
  UsageSource,
  WritePorts,
} from "./transcript.ts";

// A document keeps its session as one list of entries. A format defines where the list is and how an entry is
// read.

/** Entries that a codec reads. */
interface CodecList {
  readonly codec: Format;
  /** The entry for the codec to read. Default: the entry itself. */
  readonly translate?: (entry: unknown) => unknown;
}

/** Entries that the format reads and writes itself. */
interface OwnList {
  read(entries: readonly JsonRecord[]): readonly Reading[];
  /** Makes the entry for messages from one entry (`original`, partly changed or missing) or from none. */
  build(group: readonly Message[], original: JsonRecord | undefined, ports: WritePorts): unknown;
  /** For formats with their own compactions. Default: all messages are one segment. */
  segmentsOf?(messages: readonly Message[]): readonly Segment[];
}

type Facts = Pick<Session, "system" | "tools" | "model" | "sessionId" | "title" | "cwd" | "manyAgents">;

/** The list of a document, and its metadata. */
export interface Body extends Facts {
  readonly entries: readonly unknown[];
  /** Path of the list in the document, for error messages. */
  readonly path: string;
  readonly list: CodecList | OwnList;
  /** The kind of usage record, and how to read it from an entry. */
  readonly usage?: readonly [source: UsageSource, of: (entry: unknown) => unknown];
  /** The document with these entries instead of its own; `messages` are their sources. */
  rebuild(entries: readonly unknown[], messages: readonly Message[]): unknown;
}

/** A format with one JSON document per file, usually an object; written back with its original whitespace. */
export function documentFormat<F extends TranscriptFormat>(
  format: F,
  recognises: DocumentFormat["recognises"],
  open: (container: JsonRecord, log: ReadLog, value: unknown) => Body,
): DocumentFormat & { readonly format: F } {
  return {
    format,
    recognises,
    read({ value, text }, log) {
      const layout = layoutOf(text);
      return readBody(format, open(recordOf(value), log, value), log, (document) =>
        documentChunks(document, layout),
      );
    },
  };
}

/** The session of a body; `chunksOf` writes the rebuilt document. */
export function readBody(
  format: TranscriptFormat,
  { entries: all, path, list, usage, rebuild, ...facts }: Body,
  log: ReadLog,
  chunksOf: (document: unknown) => Iterable<string>,
): Session {
  const entries = readableEntries(all, path, log);
  const { segments, entryOf, encode } =
    "codec" in list ? readByCodec(entries, list, path, log) : readByFormat(entries, list);
  return {
    format,
    list: "codec" in list ? list.codec : undefined,
    segments,
    usage: usage === undefined ? [] : usageOf(segments, usage[0], (message) => usage[1](entryOf(message))),
    leftOut: log.leftOut(),
    ...facts,
    write: ({ messages }, ports) => ({
      mode: "replace",
      chunks: chunksOf(rebuild(encode(messages, ports), messages)),
    }),
  };
}

interface ReadEntries {
  readonly segments: readonly Segment[];
  /** The entry that a message came from. */
  entryOf(message: Message): unknown;
  /** The file's own entries for these messages; new ones for new or edited messages. */
  encode(messages: readonly Message[], ports: WritePorts): unknown[];
}

/** The entries that are not nested too deeply; the others are reported and counted. */
function readableEntries(entries: readonly unknown[], path: string, log: ReadLog): readonly unknown[] {
  return entries.filter((entry, index) => {
    if (!isTooDeep(entry)) return true;
    log.problem({ place: `${path}[${index}]`, message: "nests too deep to be read; left out" });
    log.leaveOut("too deep");
    return false;
  });
}

function readByCodec(
  entries: readonly unknown[],
  { codec: format, translate }: CodecList,
  path: string,
  log: ReadLog,
): ReadEntries {
  const natives = entries.map((entry) => translate?.(entry) ?? entry);
  const origins = new Map(natives.map((native, index) => [native, entries[index]]));
  const messages = decodeReadable(format, natives, path, log).messages.map((message) => {
    const { timestamp, ts } = recordOf(origins.get(message.native));
    return withMeta(message, { timestamp: stringOf(timestamp) ?? isoTime(ts) });
  });
  return {
    segments: singleSegment(messages),
    entryOf: ({ native }) => origins.get(native),
    encode: (kept) =>
      codecFor(format)
        .encode(kept)
        .map((native) => origins.get(native) ?? native),
  };
}

function readByFormat(entries: readonly unknown[], list: OwnList): ReadEntries {
  const messages = messagesFrom(list.read(entries.map(recordOf)));
  const segments = list.segmentsOf?.(messages) ?? singleSegment(messages);
  const live = segments.at(-1)?.messages ?? [];
  return {
    segments,
    entryOf: ({ native }) => native,
    encode: (kept, ports) =>
      rebuildEntries(live, kept, (group, original) => list.build(group, original, ports)),
  };
}

/** The list of entries for the compacted messages: unchanged entries are the file's own objects. */
export function rebuildEntries<Entry>(
  live: readonly Message[],
  compacted: readonly Message[],
  build: (group: readonly Message[], original: JsonRecord | undefined) => Entry,
): Entry[] {
  const sizes = new Map<unknown, number>();
  for (const { native } of live) sizes.set(native, (sizes.get(native) ?? 0) + 1);
  return groupByNative(compacted).map((group) => {
    const native = group[0]?.native;
    if (native === undefined) return build(group, undefined);
    const whole = group.length === sizes.get(native) && group.every((message) => message.edited !== true);
    return whole ? (native as Entry) : build(group, native as JsonRecord);
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
