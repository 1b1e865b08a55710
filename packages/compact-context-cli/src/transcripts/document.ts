import type { Format, Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { documentChunks, isoTime, type JsonRecord, layoutOf, recordOf, stringOf } from "./json.ts";
import {
  type DocumentFormat,
  decodeStretches,
  messagesFrom,
  type Reading,
  type ReadLog,
  type Segment,
  type Session,
  type TranscriptFormat,
  usageOf,
  type WritePorts,
  withMeta,
  withSummaryVersion,
} from "./transcript.ts";

// A document keeps its session as one list of entries. A format says where the list is and how an entry is read.

/** Entries that a codec reads. */
interface CodecList {
  readonly codec: Format;
  /** The entry for the codec to read. Default: the entry itself. */
  readonly translate?: ((entry: unknown) => unknown) | undefined;
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
  /** The fields of a usage record that sum up to the prompt, and how to read the record from an entry. */
  readonly usage?: readonly [fields: readonly string[], of: (entry: unknown) => unknown] | undefined;
  /** The document with these entries instead of its own; `messages` are their sources. */
  rebuild(entries: readonly unknown[], messages: readonly Message[]): unknown;
}

/** A format with one JSON document per file, usually an object; written back with its original whitespace. */
export function documentFormat(
  format: TranscriptFormat,
  recognises: DocumentFormat["recognises"],
  open: (container: JsonRecord, log: ReadLog, value: unknown) => Body,
): DocumentFormat {
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
  { entries: all, path, list, usage = [[], () => undefined], rebuild, ...facts }: Body,
  log: ReadLog,
  chunksOf: (document: unknown) => Iterable<string>,
): Session {
  const entries = all.filter((entry, index) => log.accepts(entry, { place: `${path}[${index}]` }));
  const body = { ...facts, entries, path, usage };
  const { encode, ...read } = "codec" in list ? readByCodec(body, list, log) : readByFormat(body, list);
  return {
    format,
    ...facts,
    ...read,
    write: ({ messages }, ports) => ({
      mode: "replace",
      chunks: chunksOf(rebuild(encode(messages, ports), messages)),
    }),
  };
}

type ReadableBody = Required<Pick<Body, "entries" | "path" | "usage">>;

function readByCodec(
  { entries, path, usage: [fields, usageIn] }: ReadableBody,
  { codec, translate }: CodecList,
  log: ReadLog,
) {
  const items = entries.map((entry) => ({
    native: translate?.(entry) ?? entry,
    entry,
    reported: [usageIn(entry)],
  }));
  const origins = new Map(items.map(({ native, entry }) => [native, entry]));
  const format = {
    codec,
    path,
    usage: fields,
    finish(message: Message, { entry }: (typeof items)[number]) {
      const { timestamp, ts } = recordOf(entry);
      return withSummaryVersion(withMeta(message, { timestamp: stringOf(timestamp) ?? isoTime(ts) }));
    },
  };
  return {
    ...decodeStretches([{ items, carried: 0 }], format, log),
    /** The file's own entries for these messages; new ones for new or edited messages. */
    encode: (kept: readonly Message[]): unknown[] =>
      codecFor(codec)
        .encode(kept)
        .map((native) => origins.get(native) ?? native),
  };
}

function readByFormat({ entries, usage: [fields, usageIn] }: ReadableBody, list: OwnList) {
  const messages = messagesFrom(list.read(entries.map(recordOf))).map(withSummaryVersion);
  const segments = list.segmentsOf?.(messages) ?? [{ messages, carried: 0 }];
  const live = segments.at(-1)?.messages ?? [];
  return {
    segments,
    usage: usageOf(segments, fields, ({ native }) => [usageIn(native)]),
    encode: (kept: readonly Message[], ports: WritePorts): unknown[] =>
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
  const groups: Message[][] = [];
  for (const message of compacted) {
    const last = groups.at(-1);
    if (last !== undefined && message.native !== undefined && last[0]?.native === message.native)
      last.push(message);
    else groups.push([message]);
  }
  return groups.map((group) => {
    const native = group[0]?.native;
    if (native === undefined) return build(group, undefined);
    const whole = group.length === sizes.get(native) && group.every((message) => message.edited !== true);
    return whole ? (native as Entry) : build(group, native as JsonRecord);
  });
}
