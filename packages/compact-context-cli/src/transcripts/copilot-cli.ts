import type { Message, Part } from "compact-context";
import { callPart, resultPart, thought } from "compact-context/internal/codecs/slots";
import {
  argumentsValue,
  messageText,
  resultText,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import { type Body, readBody } from "./document.ts";
import { isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  type Reading,
  type ReadLog,
  type RecordFormat,
  type Session,
  type SourceRecord,
  textParts,
  type WritePorts,
} from "./transcript.ts";

/** Events of the Copilot CLI; a compacted session is written as a new file with the events that carry context. */
export const copilotCli: RecordFormat = {
  format: "copilot-cli",
  recognises: (record) =>
    isRecord(record) &&
    isRecord(record.data) &&
    /^(session|user|assistant|system|tool|hook)\.[a-z_.]+$/.test(stringOf(record.type) ?? ""),
  read: readCopilot,
};

async function readCopilot(records: AsyncIterable<SourceRecord>, log: ReadLog): Promise<Session> {
  const events: JsonRecord[] = [];
  /** Session-wide events, written back before the messages. */
  const frame: JsonRecord[] = [];
  for await (const { value } of records) {
    const event = recordOf(value);
    const type = stringOf(event.type) ?? "";
    if (CONTEXT.has(type)) events.push(event);
    else log.leaveOut(type);
    if (type === "session.start") frame.push(event);
  }
  const start = recordOf(frame[0]?.data);
  const body: Body = {
    entries: events,
    path: "events",
    sessionId: stringOf(start.sessionId),
    model: stringOf(start.selectedModel),
    cwd: stringOf(recordOf(start.context).cwd),
    list: { read: (all) => all.map(readEvent), build: writeEvent },
    rebuild: (entries) => [...frame, ...entries],
  };
  return readBody("copilot-cli", body, log, linkedLines);
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
  const reasoning = thought(stringOf(data.reasoningText) ?? "", data.reasoningOpaque);
  const calls = listOf(data.toolRequests)
    .map(recordOf)
    .map((call) => callPart(call.toolCallId, textOf(call.name), call.arguments));
  const thinks = reasoning.text !== "" || reasoning.signed === true;
  return [...(thinks ? [reasoning] : []), ...textParts(textOf(data.content)), ...calls];
}

function resultOf(data: JsonRecord): Part {
  const error = data.error;
  const content = recordOf(data.result).content ?? recordOf(error).message ?? error;
  return resultPart(data.toolCallId, textOf(content), data.success === false);
}

/** Each event refers to the previous one. */
function* linkedLines(events: unknown): Iterable<string> {
  let parentId: unknown = null;
  for (const event of listOf(events).map(recordOf)) {
    yield `${JSON.stringify({ ...event, parentId })}\n`;
    parentId = event.id;
  }
}

function writeEvent(
  [message]: readonly Message[],
  original: JsonRecord | undefined,
  ports: WritePorts,
): JsonRecord {
  if (message === undefined) return {};
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
