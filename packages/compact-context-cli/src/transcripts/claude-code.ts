import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import {
  asBlocks,
  type ClaudeEnvelope,
  type ClaudeRecord,
  claudeSegments,
  copyOf,
} from "./claude-code-chain.ts";
import { isRecord, type JsonRecord, recordOf, stringOf } from "./json.ts";
import { splitAtSummary } from "./session.ts";
import type { CompactedSession, ReadLog, RecordFormat, RecordReader, WritePorts } from "./transcript.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "user",
  "assistant",
  "system",
  "progress",
  "summary",
  "file-history-snapshot",
  "queue-operation",
  "pr-link",
  "attachment",
  "custom-title",
  "ai-title",
  "last-prompt",
]);

/** Claude Code's `~/.claude/projects/<directory>/<sessionId>.jsonl`. */
export const claudeCode: RecordFormat = {
  format: "claude-code",
  recognises: (record) =>
    isRecord(record) &&
    TYPES.has(record.type) &&
    (isRecord(record.message) || !("message" in record)) &&
    ["sessionId", "leafUuid", "messageId", "uuid"].some((key) => typeof record[key] === "string"),
  open: openClaudeCode,
};

function openClaudeCode(log: ReadLog): RecordReader {
  const records = new Map<string, ClaudeRecord>();
  let envelope: ClaudeEnvelope = {};
  let title: string | undefined;
  let last: string | undefined;

  /** Session-wide fields of the record; the newest value wins. */
  function noteSession(record: JsonRecord): void {
    title = stringOf(record.summary) ?? stringOf(record.customTitle) ?? stringOf(record.aiTitle) ?? title;
    if (typeof record.sessionId === "string" && record.isSidechain !== true) {
      envelope = { ...envelope, ...envelopeOf(record) };
    }
  }

  /** A record that others may refer to; its content is kept with it. */
  function place(record: JsonRecord, uuid: string, kept: Kept): void {
    const sidechain = isSidechain(record);
    const carried = typeof kept === "string" ? { kind: "link" as const } : kept;
    // Streamed output of the command line has no parents: every record follows the previous one.
    const parent = "parentUuid" in record ? stringOf(record.parentUuid) : last;
    records.set(uuid, {
      uuid,
      parent: parent ?? null,
      sidechain,
      previous: last,
      logicalParent: stringOf(record.logicalParentUuid),
      ...carried,
    });
    if (!sidechain) last = uuid;
  }

  return {
    add(value) {
      const record = recordOf(value);
      noteSession(record);
      const uuid = stringOf(record.uuid);
      const kept = keep(record);
      if (typeof kept === "string") log.leaveOut(kept);
      else if (uuid === undefined || records.has(uuid)) log.leaveOut("record written twice or without uuid");
      if (uuid !== undefined && !records.has(uuid)) place(record, uuid, kept);
    },
    end(endsWithNewline) {
      const { lastUuid, ...told } = claudeSegments(records, log);
      return {
        format: "claude-code",
        list: "anthropic",
        ...told,
        leftOut: log.leftOut(),
        sessionId: stringOf(envelope.sessionId),
        title,
        cwd: stringOf(envelope.cwd),
        write: (compacted, ports) => ({
          mode: "append",
          chunks: writeClaudeCode({ envelope, lastUuid, endsWithNewline }, compacted, ports),
        }),
      };
    },
  };
}

/** The part of a record that is kept in memory; a string names the kind of a skipped record. */
type Kept = Pick<ClaudeRecord, "kind" | "message" | "synthetic" | "timestamp"> | string;

function keep(record: JsonRecord): Kept {
  const type = record.type;
  if (isSidechain(record)) return "sidechain";
  if (type === "system" && record.subtype === "compact_boundary") {
    return { kind: "boundary", message: recordOf(record.compactMetadata), ...stamp(record) };
  }
  if ((type === "user" || type === "assistant") && isRecord(record.message)) {
    if (record.isApiErrorMessage === true) return "API error";
    return {
      kind: record.isCompactSummary === true ? "summary" : type,
      message: record.message,
      synthetic: record.isMeta === true,
      ...stamp(record),
    };
  }
  const subtype = stringOf(record.subtype);
  return `${String(type)}${subtype === undefined ? "" : ` ${subtype}`}`;
}

/** Work of a sub-agent, which the main agent does not see. */
function isSidechain(record: JsonRecord): boolean {
  return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

function stamp(record: JsonRecord): { timestamp?: string } {
  return { timestamp: stringOf(record.timestamp) };
}

function envelopeOf(record: JsonRecord): ClaudeEnvelope {
  const fields = ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"];
  return Object.fromEntries(
    fields.filter((key) => typeof record[key] === "string").map((key) => [key, record[key]]),
  );
}

interface Place {
  readonly envelope: ClaudeEnvelope;
  readonly lastUuid: string | undefined;
  readonly endsWithNewline: boolean;
}

/**
 * Copies must not report the old prompt: Claude Code reads the last usage as the size of the context and
 * would compact immediately.
 */
const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
} as const;

/** Lines that make Claude Code resume with the summary and the kept messages: boundary, summary, copies. */
function* writeClaudeCode(
  { envelope, lastUuid, endsWithNewline }: Place,
  compacted: CompactedSession,
  ports: WritePorts,
): Iterable<string> {
  if (!endsWithNewline) yield "\n";
  const { before, summary, after } = splitAtSummary(compacted);
  let parent: string | null = null;
  const line = (fields: JsonRecord): string => {
    const uuid = ports.newId();
    const record = {
      parentUuid: parent,
      isSidechain: false,
      ...envelope,
      ...fields,
      uuid,
      timestamp: ports.now(),
    };
    parent = uuid;
    return `${JSON.stringify(record)}\n`;
  };

  yield line({
    logicalParentUuid: lastUuid,
    type: "system",
    subtype: "compact_boundary",
    content: "Conversation compacted",
    isMeta: false,
    level: "info",
    compactMetadata: { trigger: "manual", preTokens: compacted.tokensBefore },
  });
  if (summary !== undefined) {
    yield line({
      type: "user",
      message: { role: "user", content: summary },
      isVisibleInTranscriptOnly: true,
      isCompactSummary: true,
    });
  }
  for (const message of [...before, ...after]) {
    for (const fields of recordsOf(message, ports)) yield line(fields);
  }
}

/** One record per block of an answer and per tool result, as Claude Code writes them. */
function recordsOf(message: Message, ports: WritePorts): JsonRecord[] {
  const natives = codecFor("anthropic").encode([message]).map(recordOf);
  return natives.flatMap((native) =>
    native.role === "assistant" ? answerRecords(native, ports) : userRecords(native, message),
  );
}

function answerRecords(native: JsonRecord, ports: WritePorts): JsonRecord[] {
  const { content, ...rest } = native;
  const blocks = asBlocks(content);
  const answer = {
    type: "message",
    stop_reason: null,
    stop_sequence: null,
    ...rest,
    id: copyOf(native.id, ports.newId()),
    usage: NO_USAGE,
  };
  return blocks.map((block) => ({ type: "assistant", message: { ...answer, content: [block] } }));
}

function userRecords(native: JsonRecord, message: Message): JsonRecord[] {
  const meta = message.meta?.synthetic === true ? { isMeta: true } : {};
  const content = native.content;
  if (!Array.isArray(content)) return [{ type: "user", message: native, ...meta }];
  const isResult = (block: unknown): boolean => isRecord(block) && block.type === "tool_result";
  const results = content.filter(isResult).map((block) => [block]);
  const others = content.filter((block) => !isResult(block));
  return [...results, ...(others.length > 0 ? [others] : [])].map((blocks) => ({
    type: "user",
    message: { ...native, content: blocks },
    ...meta,
  }));
}
