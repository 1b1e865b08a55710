import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { argumentsText, resultText } from "compact-context/internal/core/message";
import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "./json.ts";
import { type PiEntry, piSegments } from "./pi-tree.ts";
import { splitAtSummary } from "./session.ts";
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
  // pi skips lines that hold more than one record, and its indexes count what it read.
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

/** Entries that carry no context keep only their place in the tree. */
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
  readonly nextIndex: number;
  readonly endsWithNewline: boolean;
}

function finish(finished: Finished): Session {
  const { entries, header, title, log } = finished;
  const isTree = (numberOf(header.version) ?? 1) >= 2;
  const { segments, usage, model, entryOf } = piSegments(entries, isTree, log);
  return {
    format: "pi",
    list: "pi",
    segments,
    usage,
    leftOut: log.leftOut(),
    model: model ?? stringOf(header.modelId),
    sessionId: stringOf(header.id),
    title,
    cwd: stringOf(header.cwd),
    write: (compacted, ports) => ({
      mode: "append",
      chunks: writePi({ ...finished, isTree, entryOf }, compacted, ports),
    }),
  };
}

interface PiFile {
  readonly entries: readonly PiEntry[];
  readonly entryOf: ReadonlyMap<unknown, PiEntry>;
  readonly isTree: boolean;
  readonly lastId: string | undefined;
  /** The index that pi gives the next entry. */
  readonly nextIndex: number;
  readonly endsWithNewline: boolean;
}

const NO_SUMMARY = "Earlier messages were removed from the context; they remain in this session file.";

/**
 * A compaction entry that points at the kept end of the file. Where the kept messages are not that end as it
 * stands (some were cleared, some lie apart), copies of them follow the entry instead.
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

/** The entry from which on the live messages are exactly the kept ones; undefined when there is none. */
function keptEnd(file: PiFile, kept: readonly Message[]): { id: string; index: number } | undefined {
  const first = file.entryOf.get(kept[0]?.native);
  if (first === undefined || kept.some((message) => message.edited === true)) return undefined;
  const live = [...file.entryOf].map(([native]) => native);
  const end = live.slice(live.indexOf(kept[0]?.native));
  const same = end.length === kept.length && end.every((native, index) => native === kept[index]?.native);
  if (
    !same ||
    first.index === undefined ||
    end.some((native) => file.entryOf.get(native)?.index === undefined)
  ) {
    return undefined;
  }
  return { id: first.id ?? "", index: first.index };
}

/** pi puts the summary first, so what is kept before it is told in it. */
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
