import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { argumentsText, resultText } from "compact-context/internal/core/message";
import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "./json.ts";
import {
  decodeStretches,
  type Item,
  type Stretch,
  splitAtSummary,
  withMeta,
  withSummaryVersion,
} from "./session.ts";
import type {
  CompactedSession,
  ReadLog,
  RecordFormat,
  RecordReader,
  Session,
  SourceLine,
  WritePorts,
} from "./transcript.ts";

/** The session files of pi (`~/.pi/agent/sessions`), versions 1 (a list) to 3 (a tree). */
export const pi: RecordFormat = {
  format: "pi",
  recognises: (record) => isRecord(record) && (isHeader(record) || isEntry(record)),
  open: openPi,
};

function isHeader(record: JsonRecord): boolean {
  return record.type === "session" && typeof record.id === "string" && typeof record.timestamp === "string";
}

function isEntry(record: JsonRecord): boolean {
  const role = recordOf(record.message).role;
  return record.type === "message" && typeof role === "string" && typeof record.timestamp === "string";
}

function openPi(log: ReadLog): RecordReader {
  const entries: PiEntry[] = [];
  let header: JsonRecord = {};
  let title: string | undefined;
  // pi skips lines with more than one record, and its indexes count the records it read.
  let strictIndex = 0;
  let lastId: string | undefined;

  function addEntry(record: JsonRecord, line: SourceLine): void {
    const id = stringOf(record.id);
    entries.push({
      id,
      parent: stringOf(record.parentId),
      previous: entries.length - 1,
      index: line.whole ? strictIndex : undefined,
      ...reduced(record),
    });
    if (id !== undefined) lastId = id;
  }

  return {
    add(value, line) {
      const record = recordOf(value);
      if (isHeader(record)) header = record;
      else addEntry(record, line);
      if (record.type === "session_info") title = stringOf(record.name) ?? title;
      if (line.whole) strictIndex += 1;
    },
    end: (endsWithNewline) =>
      finish({ entries, header, title, log, lastId, endsWithNewline, nextIndex: strictIndex }),
  };
}

/** Entries without context only keep their place in the tree. */
function reduced(record: JsonRecord): Pick<PiEntry, "type" | "record"> {
  const type = stringOf(record.type) ?? "unknown";
  const needed = ["message", "custom_message", "branch_summary", "compaction", "model_change"].includes(type);
  return { type, record: needed ? record : {} };
}

interface Finished {
  readonly entries: readonly PiEntry[];
  readonly header: JsonRecord;
  readonly title: string | undefined;
  readonly log: ReadLog;
  readonly lastId: string | undefined;
  /** The index that pi assigns to the next entry. */
  readonly nextIndex: number;
  readonly endsWithNewline: boolean;
}

function finish(finished: Finished): Session {
  const { entries, header, title, log } = finished;
  const isTree = (numberOf(header.version) ?? 1) >= 2;
  const path = isTree ? branch(entries, log) : entries;
  const live = new Set(path);
  for (const entry of entries) {
    if (!live.has(entry)) log.leaveOut("abandoned branch");
    else if (nativeOf(entry) === undefined) log.leaveOut(kindOf(entry));
  }
  const stretches = cut(path);
  const { segments, usage, unreadable } = decodeStretches(
    stretches,
    { codec: "pi", usage: "pi", path: "entries", finish: finishMessage },
    log,
  );
  const entryOf = new Map<unknown, PiEntry>();
  for (const { native, entry } of stretches.flatMap(({ items }) => items))
    if (entry.type !== "compaction" && !unreadable.has(native)) entryOf.set(native, entry);
  return {
    format: "pi",
    list: "pi",
    segments,
    usage,
    leftOut: log.leftOut(),
    model: lastModel(path) ?? stringOf(header.modelId),
    sessionId: stringOf(header.id),
    title,
    cwd: stringOf(header.cwd),
    write: (compacted, ports) => ({
      mode: "append",
      chunks: writePi({ ...finished, isTree, entryOf }, compacted, ports),
    }),
  };
}

interface PiFile extends Finished {
  readonly isTree: boolean;
  /** The entry of each live message's native object, in order. */
  readonly entryOf: ReadonlyMap<unknown, PiEntry>;
}

const NO_SUMMARY = "Earlier messages were removed from the context; they remain in this session file.";

/**
 * A compaction entry that points at the kept end of the file. If the kept messages are not that unchanged end
 * (some were cleared, or are scattered), copies of them follow the entry instead.
 */
function* writePi(file: PiFile, compacted: CompactedSession, ports: WritePorts): Iterable<string> {
  if (!file.endsWithNewline) yield "\n";
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
  const pointer = firstKept === undefined ? { id: firstCopyId, index: file.nextIndex + 1 } : firstKept;
  yield line(
    {
      type: "compaction",
      summary: [summary ?? NO_SUMMARY, ...told(before)].join("\n\n"),
      firstKeptEntryId: file.isTree ? pointer.id : undefined,
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

/** The entry after which the live messages are exactly the kept ones; undefined if there is none. */
function keptEnd({ entryOf }: PiFile, kept: readonly Message[]): { id: string; index: number } | undefined {
  const live = [...entryOf];
  const end = live.slice(live.findIndex(([native]) => native === kept[0]?.native));
  const [first] = end;
  const isEnd =
    end.length === kept.length &&
    end.every(([native, { index }], place) => {
      const message = kept[place];
      return native === message?.native && message?.edited !== true && index !== undefined;
    });
  return isEnd && first?.[1].index !== undefined
    ? { id: first[1].id ?? "", index: first[1].index }
    : undefined;
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

interface PiEntry {
  readonly id?: string;
  readonly parent: string | undefined;
  /** Position of the parent entry, -1 for the first. */
  readonly previous: number;
  /** pi's index of the entry, the header being 0; undefined if pi cannot read the line. */
  readonly index: number | undefined;
  readonly type: string;
  /** Empty if the entry carries no context. */
  readonly record: JsonRecord;
}

interface Step extends Item {
  readonly entry: PiEntry;
}

/** The branch from the root to the newest entry, oldest first. */
function branch(entries: readonly PiEntry[], log: ReadLog): PiEntry[] {
  const byId = new Map(
    entries.flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry] as const])),
  );
  const path: PiEntry[] = [];
  const seen = new Set<PiEntry>();
  let current = entries.at(-1);
  while (current !== undefined && !seen.has(current)) {
    seen.add(current);
    path.push(current);
    if (current.parent === undefined) break;
    const parent = byId.get(current.parent);
    if (parent === undefined) {
      log.problem({
        message: `entry ${current.id ?? "without id"} follows ${current.parent}, which the file does not hold; it was placed after the entry before it`,
      });
    }
    current = parent ?? entries[current.previous];
  }
  return path.reverse();
}

function kindOf(entry: PiEntry): string {
  if (entry.type !== "message") return entry.type;
  return "bashExecution kept from the model";
}

/** The message that pi puts into its context for the entry. */
function nativeOf(entry: PiEntry): JsonRecord | undefined {
  const { record } = entry;
  const timestamp = Date.parse(stringOf(record.timestamp) ?? "");
  switch (entry.type) {
    case "message": {
      const message = recordOf(record.message);
      return message.excludeFromContext === true ? undefined : message;
    }
    case "custom_message":
      return {
        role: "custom",
        customType: record.customType,
        content: record.content,
        display: record.display,
        details: record.details,
        timestamp,
      };
    case "branch_summary":
      return { role: "branchSummary", summary: record.summary, fromId: record.fromId, timestamp };
    case "compaction":
      return {
        role: "compactionSummary",
        summary: stringOf(record.summary) ?? "",
        tokensBefore: record.tokensBefore,
        timestamp,
      };
    default:
      return undefined;
  }
}

/** After a compaction pi sends the summary, then the entries from the first kept one. */
function cut(path: readonly PiEntry[]): Stretch<Step>[] {
  const stretches: Stretch<Step>[] = [];
  // Natives made here must be the same object in every segment that contains the entry.
  const natives = new Map(path.map((entry) => [entry, nativeOf(entry)]));
  const stepsOf = (entries: readonly PiEntry[]): Step[] =>
    entries.flatMap((entry) => {
      const native = natives.get(entry);
      return native === undefined || entry.type === "compaction"
        ? []
        : [{ entry, native, reported: [native.usage] }];
    });
  const compactions = path.flatMap((entry, position) => (entry.type === "compaction" ? [position] : []));
  let carried: Step[] = [];
  let start = 0;
  for (const end of [...compactions, path.length]) {
    const compaction = path[end];
    const own = stepsOf(path.slice(start, end));
    const copies = Math.min(own.length, copiesAfter(path[start - 1]));
    stretches.push({
      items: [...carried, ...own],
      carried: carried.length + copies,
      endedBy:
        compaction === undefined
          ? undefined
          : { kind: "summary", tokensBefore: numberOf(compaction.record.tokensBefore) },
    });
    if (compaction === undefined) break;
    const summary = natives.get(compaction) ?? {};
    carried = [{ entry: compaction, native: summary }, ...stepsOf(keptBy(compaction, path.slice(0, end)))];
    start = end + 1;
  }
  return stretches;
}

/** Number of entries after our compaction that are copies of kept messages. */
function copiesAfter(compaction: PiEntry | undefined): number {
  return numberOf(recordOf(compaction?.record.details).copies) ?? 0;
}

function keptBy(compaction: PiEntry, before: readonly PiEntry[]): readonly PiEntry[] {
  const id = stringOf(compaction.record.firstKeptEntryId);
  const index = numberOf(compaction.record.firstKeptEntryIndex);
  const first = before.findIndex((entry) =>
    id === undefined ? index !== undefined && entry.index === index : entry.id === id,
  );
  return first < 0 ? [] : before.slice(first);
}

function finishMessage(message: Message, { entry, native }: Step): Message {
  const dated = withMeta(message, {
    timestamp: stringOf(entry.record.timestamp),
    synthetic: entry.type === "message" ? undefined : true,
  });
  // The model sees pi's wrapper around a summary, with the version mark inside.
  if (native.role !== "compactionSummary") return dated;
  const own = withSummaryVersion({ ...dated, parts: [{ type: "text", text: String(native.summary) }] });
  return own.meta === undefined ? dated : { ...dated, meta: own.meta };
}

function lastModel(path: readonly PiEntry[]): string | undefined {
  const model = (entry: PiEntry): string | undefined =>
    entry.type === "model_change"
      ? stringOf(entry.record.modelId)
      : stringOf(recordOf(entry.record.message).model);
  const last = path.findLast((entry) => model(entry) !== undefined);
  return last === undefined ? undefined : model(last);
}
