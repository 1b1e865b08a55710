import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "./json.ts";
import { type PiEntry, piSegments } from "./pi-tree.ts";
import { writePi } from "./pi-write.ts";
import type { ReadLog, RecordFormat, RecordReader, Session, SourceLine } from "./transcript.ts";

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
