import type { Message, Part } from "compact-context";
import {
  argumentsValue,
  messageText,
  resultText,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import { defined, isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  callPart,
  messagesFrom,
  type Reading,
  resultPart,
  singleSegment,
  textParts,
  usageOf,
} from "./session.ts";
import type { CompactedSession, ReadLog, RecordFormat, RecordReader, WritePorts } from "./transcript.ts";

/** Events of the Copilot CLI; what is compacted is written as a new file of the events that carry context. */
export const copilotCli: RecordFormat = {
  format: "copilot-cli",
  recognises: (record) =>
    isRecord(record) &&
    isRecord(record.data) &&
    /^(session|user|assistant|system|tool|hook)\.[a-z_.]+$/.test(stringOf(record.type) ?? ""),
  open: openCopilot,
};

function openCopilot(log: ReadLog): RecordReader {
  const events: JsonRecord[] = [];
  /** Events about the session as a whole, written back before the messages. */
  const frame: JsonRecord[] = [];
  return {
    add(value) {
      const event = recordOf(value);
      const type = stringOf(event.type) ?? "";
      if (CONTEXT.has(type)) events.push(event);
      else {
        log.leaveOut(type);
        if (type === "session.start") frame.push(event);
      }
    },
    end() {
      const segments = singleSegment(messagesFrom(events.map(readEvent)));
      const start = recordOf(frame[0]?.data);
      return {
        format: "copilot-cli",
        segments,
        usage: usageOf(segments, "copilot-cli", ({ native }) => recordOf(native).data),
        leftOut: log.leftOut(),
        sessionId: stringOf(start.sessionId),
        model: stringOf(start.selectedModel),
        cwd: stringOf(recordOf(start.context).cwd),
        write: (compacted, ports) => ({ mode: "replace", chunks: writeEvents(frame, compacted, ports) }),
      };
    },
  };
}

const CONTEXT: ReadonlySet<string> = new Set([
  "system.message",
  "user.message",
  "assistant.message",
  "tool.execution_complete",
]);

function readEvent(event: JsonRecord): Reading {
  const data = recordOf(event.data);
  const common = {
    native: event,
    id: stringOf(event.id),
    meta: { timestamp: stringOf(event.timestamp) },
  };
  switch (event.type) {
    case "assistant.message":
      return { role: "assistant", parts: answerParts(data), ...common };
    case "tool.execution_complete":
      return { role: "tool", parts: [resultOf(data)], ...common };
    case "system.message":
      return { role: "system", parts: textParts(textOf(data.content)), ...common };
    default:
      return { role: "user", parts: textParts(textOf(data.transformedContent ?? data.content)), ...common };
  }
}

function answerParts(data: JsonRecord): Part[] {
  const opaque = (stringOf(data.reasoningOpaque) ?? "").length;
  const thought = stringOf(data.reasoningText) ?? "";
  const reasoning: Part[] =
    thought === "" && opaque === 0
      ? []
      : [
          defined({
            type: "reasoning",
            text: thought,
            opaqueLength: opaque > 0 ? opaque : undefined,
            signed: opaque > 0 || undefined,
          }),
        ];
  const calls = listOf(data.toolRequests)
    .map(recordOf)
    .map((call) => callPart(call.toolCallId, call.name, call.arguments));
  return [...reasoning, ...textParts(textOf(data.content)), ...calls];
}

function resultOf(data: JsonRecord): Part {
  const error = data.error;
  const content = recordOf(data.result).content ?? recordOf(error).message ?? error;
  return resultPart(data.toolCallId, textOf(content), data.success === false);
}

function* writeEvents(
  frame: readonly JsonRecord[],
  compacted: CompactedSession,
  ports: WritePorts,
): Iterable<string> {
  let parentId: unknown = null;
  const line = (event: JsonRecord): string => {
    const linked = { ...event, parentId };
    parentId = event.id;
    return `${JSON.stringify(linked)}\n`;
  };
  for (const event of frame) yield line(event);
  for (const message of compacted.messages) {
    const original = isRecord(message.native) ? message.native : undefined;
    yield line(
      original !== undefined && message.edited !== true ? original : writeEvent(message, original, ports),
    );
  }
}

function writeEvent(message: Message, original: JsonRecord | undefined, ports: WritePorts): JsonRecord {
  const data = recordOf(original?.data);
  const result = toolResults(message)[0];
  const common = { id: ports.newId(), timestamp: ports.now(), ...original };
  if (result !== undefined) {
    const { error: _, ...rest } = data;
    const content = resultText(result);
    const success = result.isError !== true;
    const outcome = success ? { result: { content } } : { error: { message: content } };
    return {
      ...common,
      type: "tool.execution_complete",
      data: { ...rest, toolCallId: result.id, success, ...outcome },
    };
  }
  const content = messageText(message);
  if (message.role !== "assistant") {
    const type = message.role === "user" ? "user.message" : "system.message";
    const { transformedContent: _, ...rest } = data;
    return { ...common, type, data: { ...rest, content } };
  }
  const toolRequests = toolCalls(message).map((call) => ({
    toolCallId: call.id,
    name: call.name,
    arguments: argumentsValue(call),
  }));
  const { reasoningText: _, reasoningOpaque: __, ...rest } = data;
  const thinks = message.parts.some((part) => part.type === "reasoning");
  return { ...common, type: "assistant.message", data: { ...(thinks ? data : rest), content, toolRequests } };
}
