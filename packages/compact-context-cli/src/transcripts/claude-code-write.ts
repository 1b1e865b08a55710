import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { type ClaudeEnvelope, copyOf } from "./claude-code-chain.ts";
import { isRecord, type JsonRecord, listOf, recordOf } from "./json.ts";
import { splitAtSummary } from "./session.ts";
import type { CompactedSession, WritePorts } from "./transcript.ts";

interface Place {
  readonly envelope: ClaudeEnvelope;
  readonly lastUuid: string | undefined;
  readonly endsWithNewline: boolean;
}

/** Copies must not report the old prompt: Claude Code reads the last usage as the size of the context and would compact at once. */
const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
} as const;

/** The lines that make Claude Code resume with the summary and the kept messages: boundary, summary, copies. */
export function* writeClaudeCode(
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

/** One record for each block of an answer and for each tool result, the shape Claude Code writes. */
function recordsOf(message: Message, ports: WritePorts): JsonRecord[] {
  const natives = codecFor("anthropic").encode([message]).map(recordOf);
  return natives.flatMap((native) =>
    native.role === "assistant" ? answerRecords(native, ports) : userRecords(native, message),
  );
}

function answerRecords(native: JsonRecord, ports: WritePorts): JsonRecord[] {
  const { content, ...rest } = native;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
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
