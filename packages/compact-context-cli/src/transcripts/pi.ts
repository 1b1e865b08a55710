import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { argumentsText, resultText } from "compact-context/internal/core/message";
import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "./json.ts";
import {
  type CompactedSession,
  decodeStretches,
  type Item,
  PI_USAGE,
  type ReadLog,
  type RecordFormat,
  type Session,
  type SourceRecord,
  type Stretch,
  splitAtSummary,
  type WritePorts,
  withMeta,
  withSummaryVersion,
} from "./transcript.ts";

/** The session files of pi (`~/.pi/agent/sessions`), versions 1 (a list) to 3 (a tree). */
export const pi: RecordFormat = {
  format: "pi",
  recognises: (record) => isRecord(record) && (isHeader(record) || isEntry(record)),
  read: readPi,
};

function isHeader({ type, id, timestamp }: JsonRecord): boolean {
  return type === "session" && typeof id === "string" && typeof timestamp === "string";
}

function isEntry({ type, message, timestamp }: JsonRecord): boolean {
  return type === "message" && typeof recordOf(message).role === "string" && typeof timestamp === "string";
}

interface PiEntry {
  readonly id: string | undefined;
  readonly parent: string | undefined;
  /** pi's index of the entry, the header being 0; undefined if pi cannot read the line. */
  readonly index: number | undefined;
  readonly type: string;
  /** Empty if the entry carries no context. */
  readonly record: JsonRecord;
  /** The message that pi puts into its context for the entry; the same object in every segment. */
  readonly native: JsonRecord | undefined;
}

async function entriesOf(records: AsyncIterable<SourceRecord>) {
  const entries: PiEntry[] = [];
  let header: JsonRecord = {};
  let title: string | undefined;
  // pi skips lines with more than one record, and its indexes count the records it read.
  let nextIndex = 0;
  for await (const { value, whole } of records) {
    const record = recordOf(value);
    if (isHeader(record)) header = record;
    else entries.push(entryOf(record, whole ? nextIndex : undefined));
    if (record.type === "session_info") title = stringOf(record.name) ?? title;
    if (whole) nextIndex += 1;
  }
  return { entries, header, title, nextIndex };
}

async function readPi(records: AsyncIterable<SourceRecord>, log: ReadLog): Promise<Session> {
  const { entries, header, title, nextIndex } = await entriesOf(records);
  const isTree = (numberOf(header.version) ?? 1) >= 2;
  const path = isTree ? branch(entries, log) : entries;
  const hidden = path.filter(({ native }) => native === undefined);
  log.leaveOut("abandoned branch", entries.length - path.length);
  for (const { type } of hidden)
    log.leaveOut(type === "message" ? "bashExecution kept from the model" : type);
  const format = { codec: "pi", usage: PI_USAGE, path: "entries", finish } as const;
  const told = decodeStretches(cut(path), format, log);
  const entryOf = new Map<unknown, PiEntry>(path.map((entry) => [entry.native, entry]));
  const context = told.segments.at(-1)?.messages.flatMap(({ native }) => entryOf.get(native) ?? []) ?? [];
  const file: PiFile = {
    isTree,
    lastId: entries.findLast(({ id }) => id !== undefined)?.id,
    nextIndex,
    context: context.filter(({ type }) => type !== "compaction"),
  };
  return {
    format: "pi",
    ...told,
    model: path.flatMap((entry) => modelOf(entry) ?? []).at(-1) ?? stringOf(header.modelId),
    sessionId: stringOf(header.id),
    title,
    cwd: stringOf(header.cwd),
    write: (compacted, ports) => ({ mode: "append", chunks: writePi(file, compacted, ports) }),
  };
}

const CONTEXT = ["message", "custom_message", "branch_summary", "compaction", "model_change"];

function entryOf(record: JsonRecord, index: number | undefined): PiEntry {
  const type = stringOf(record.type) ?? "unknown";
  return {
    id: stringOf(record.id),
    parent: stringOf(record.parentId),
    index,
    type,
    record: CONTEXT.includes(type) ? record : {},
    native: nativeOf(type, record),
  };
}

function nativeOf(type: string, record: JsonRecord): JsonRecord | undefined {
  const timestamp = Date.parse(stringOf(record.timestamp) ?? "");
  const { customType, content, display, details, summary, fromId, tokensBefore } = record;
  switch (type) {
    case "message": {
      const message = recordOf(record.message);
      return message.excludeFromContext === true ? undefined : message;
    }
    case "custom_message":
      return { role: "custom", customType, content, display, details, timestamp };
    case "branch_summary":
      return { role: "branchSummary", summary, fromId, timestamp };
    case "compaction":
      return { role: "compactionSummary", summary: stringOf(summary) ?? "", tokensBefore, timestamp };
    default:
      return undefined;
  }
}

function modelOf({ type, record }: PiEntry): string | undefined {
  return stringOf(type === "model_change" ? record.modelId : recordOf(record.message).model);
}

/** The branch from the root to the newest entry, oldest first. */
function branch(entries: readonly PiEntry[], log: ReadLog): PiEntry[] {
  const places = new Map(entries.map(({ id }, place) => [id, place]));
  const path: PiEntry[] = [];
  const seen = new Set<number>();
  let place = entries.length - 1;
  for (let entry = entries[place]; entry !== undefined && !seen.has(place); entry = entries[place]) {
    seen.add(place);
    path.push(entry);
    const { id = "without id", parent } = entry;
    if (parent === undefined) break;
    const found = places.get(parent);
    if (found === undefined) {
      log.problem({
        message: `entry ${id} follows ${parent}, which the file does not hold; it was placed after the entry before it`,
      });
    }
    place = found ?? place - 1;
  }
  return path.reverse();
}

interface Step extends Item {
  readonly native: JsonRecord;
  readonly entry: PiEntry;
}

/** After a compaction pi sends the summary, then the entries from the first kept one. */
function cut(path: readonly PiEntry[]): Stretch<Step>[] {
  const stepsOf = (entries: readonly PiEntry[]): Step[] =>
    entries.flatMap((entry) => {
      const { native, type } = entry;
      return native === undefined || type === "compaction"
        ? []
        : [{ entry, native, reported: [native.usage] }];
    });
  const stretches: Stretch<Step>[] = [];
  const ends = path.flatMap(({ type }, position) => (type === "compaction" ? [position] : []));
  let carried: Step[] = [];
  let start = 0;
  for (const end of [...ends, path.length]) {
    const compaction = path[end];
    const own = stepsOf(path.slice(start, end));
    // Entries after our compaction that are copies of kept messages.
    const copies = numberOf(recordOf(path[start - 1]?.record.details).copies) ?? 0;
    stretches.push({
      items: [...carried, ...own],
      carried: carried.length + Math.min(own.length, copies),
      endedBy: compaction && {
        kind: "summary",
        tokensBefore: numberOf(compaction.record.tokensBefore),
      },
    });
    if (compaction === undefined) break;
    const summary = { entry: compaction, native: compaction.native ?? {} };
    carried = [summary, ...stepsOf(keptBy(compaction, path.slice(0, end)))];
    start = end + 1;
  }
  return stretches;
}

function keptBy({ record }: PiEntry, before: readonly PiEntry[]): readonly PiEntry[] {
  const id = stringOf(record.firstKeptEntryId);
  const index = numberOf(record.firstKeptEntryIndex);
  const first = before.findIndex((entry) =>
    id === undefined ? index !== undefined && entry.index === index : entry.id === id,
  );
  return first < 0 ? [] : before.slice(first);
}

function finish(message: Message, { entry, native }: Step): Message {
  const dated = withMeta(message, {
    timestamp: stringOf(entry.record.timestamp),
    synthetic: entry.type === "message" ? undefined : true,
  });
  // The model sees pi's wrapper around a summary, with the version mark inside.
  if (native.role !== "compactionSummary") return dated;
  const own = withSummaryVersion({ ...dated, parts: [{ type: "text", text: String(native.summary) }] });
  return own.meta === undefined ? dated : { ...dated, meta: own.meta };
}

// ---- writing

interface PiFile {
  readonly isTree: boolean;
  readonly lastId: string | undefined;
  /** The index that pi assigns to the next entry. */
  readonly nextIndex: number;
  /** The entries of the live messages, in order. */
  readonly context: readonly PiEntry[];
}

const NO_SUMMARY = "Earlier messages were removed from the context; they remain in this session file.";

/**
 * A compaction entry that points at the kept end of the file. If the kept messages are not that unchanged end
 * (some were cleared, or are scattered), copies of them follow the entry instead.
 */
function* writePi(file: PiFile, compacted: CompactedSession, ports: WritePorts): Iterable<string> {
  const { before, summary, after } = splitAtSummary(compacted);
  let parentId = file.lastId ?? null;
  const line = (fields: JsonRecord, id: string): string => {
    const place = file.isTree ? { id, parentId } : {};
    parentId = id;
    return `${JSON.stringify({ ...fields, ...place, timestamp: ports.now() })}\n`;
  };
  const firstKept = keptEnd(file, after);
  const firstCopyId = ports.newId();
  const copies = firstKept === undefined ? codecFor("pi").encode(after) : [];
  const pointer = firstKept ?? { id: firstCopyId, index: file.nextIndex + 1 };
  yield line(
    {
      type: "compaction",
      summary: [summary ?? NO_SUMMARY, ...told(before)].join("\n\n"),
      firstKeptEntryId: file.isTree ? (pointer.id ?? "") : undefined,
      firstKeptEntryIndex: file.isTree ? undefined : pointer.index,
      tokensBefore: compacted.tokensBefore,
      details: { copies: copies.length },
      fromHook: true,
    },
    ports.newId(),
  );
  for (const [index, message] of copies.entries()) {
    yield line({ type: "message", message }, index === 0 ? firstCopyId : ports.newId());
  }
}

/** The entry from which on the live messages are exactly the kept ones; undefined if there is none. */
function keptEnd({ context }: PiFile, kept: readonly Message[]): PiEntry | undefined {
  if (kept.length === 0) return undefined;
  const end = context.slice(-kept.length);
  const isEnd = kept.every(({ native, edited }, place) => {
    const entry = end[place];
    return entry?.native === native && entry?.index !== undefined && edited !== true;
  });
  return isEnd ? end[0] : undefined;
}

/** pi puts the summary first, so messages kept before it become part of its text. */
function told(messages: readonly Message[]): string[] {
  if (messages.length === 0) return [];
  return ["## Kept word for word from before the summary", ...messages.map(asText)];
}

function asText(message: Message): string {
  const pieces = message.parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "toolCall") return `[call ${part.name}] ${argumentsText(part)}`;
    if (part.type === "toolResult")
      return `[result${part.isError === true ? ", error" : ""}] ${resultText(part)}`;
    return part.type === "media" ? `[${part.mediaType}]` : "";
  });
  return `### ${message.role}\n\n${pieces.filter((piece) => piece !== "").join("\n\n")}`;
}
