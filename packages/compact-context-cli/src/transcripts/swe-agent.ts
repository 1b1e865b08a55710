import type { Message, Part } from "compact-context";
import {
  argumentsText,
  messageText,
  resultText,
  type ToolCallPart,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import { messagesFrom, type Reading, readableEntries, rebuildEntries, textParts } from "./entries.ts";
import {
  documentChunks,
  isRecord,
  type JsonRecord,
  layoutOf,
  listOf,
  recordOf,
  stringOf,
  textOf,
} from "./json.ts";
import { singleSegment } from "./session.ts";
import type { DocumentFormat, ReadLog, Session } from "./transcript.ts";

/** SWE-agent's `.traj`: the prompt history beside a trajectory that tells the same in other words. */
export const sweAgent: DocumentFormat = {
  format: "swe-agent",
  recognises: (value) => isRecord(value) && Array.isArray(value.trajectory) && Array.isArray(value.history),
  read: ({ value, text }, log) => readSweAgent(recordOf(value), text, log),
};

function readSweAgent(container: JsonRecord, text: string, log: ReadLog): Session {
  const all = readableEntries(listOf(container.history), "history", log).map(recordOf);
  const demos = all.filter(isDemonstration);
  const entries = all.filter((entry) => !isDemonstration(entry));
  log.leaveOut("demonstration", demos.length);
  const segments = singleSegment(messagesFrom(readHistory(entries)));
  const live = segments[0]?.messages ?? [];
  const layout = layoutOf(text);
  return {
    format: "swe-agent",
    segments,
    usage: [],
    leftOut: log.leftOut(),
    write: (compacted) => {
      const history = rebuildEntries(live, compacted.messages, writeEntry);
      const afterSystem = history.findIndex((entry) => recordOf(entry).role !== "system");
      const position = afterSystem < 0 ? history.length : afterSystem;
      return {
        mode: "replace",
        chunks: documentChunks({ ...container, history: history.toSpliced(position, 0, ...demos) }, layout),
      };
    },
  };
}

/** Solved examples shown before the work begins are no part of it. */
function isDemonstration(entry: JsonRecord): boolean {
  return entry.is_demo === true || entry.isDemo === true || entry.agent === "demo";
}

/** Without function calling an action is plain text and the user message after it its observation. */
function readHistory(entries: readonly JsonRecord[]): Reading[] {
  let open: string | undefined;
  return entries.map((entry, index): Reading => {
    if (entry.role === "assistant") {
      const calls = callsOf(entry, `action-${index}`);
      open = Array.isArray(entry.tool_calls) ? undefined : calls[0]?.id;
      return { role: "assistant", parts: [...thoughtOf(entry), ...calls], native: entry };
    }
    const answered = answeredCall(entry) ?? open;
    open = undefined;
    return readTurn(entry, answered);
  });
}

function thoughtOf(entry: JsonRecord): Part[] {
  const thought = stringOf(entry.thought) ?? "";
  return textParts(thought === "" ? contentOf(entry.content) : thought);
}

function answeredCall(entry: JsonRecord): string | undefined {
  return stringOf(listOf(entry.tool_call_ids)[0]) ?? stringOf(entry.tool_call_id);
}

function readTurn(entry: JsonRecord, answered: string | undefined): Reading {
  const content = contentOf(entry.content);
  if (entry.role === "tool" || (entry.role === "user" && answered !== undefined)) {
    return { role: "tool", parts: [{ type: "toolResult", id: answered ?? "", content }], native: entry };
  }
  return { role: entry.role === "system" ? "system" : "user", parts: textParts(content), native: entry };
}

function contentOf(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((piece: unknown) => stringOf(recordOf(piece).text) ?? textOf(piece)).join("\n");
}

function callsOf(entry: JsonRecord, id: string): ToolCallPart[] {
  if (Array.isArray(entry.tool_calls)) {
    return entry.tool_calls.map(recordOf).map((call): ToolCallPart => {
      const target = recordOf(call.function);
      const name = stringOf(target.name) ?? "";
      return { type: "toolCall", id: stringOf(call.id) ?? id, name, arguments: target.arguments ?? "" };
    });
  }
  const action = stringOf(entry.action);
  return action === undefined || action === ""
    ? []
    : [{ type: "toolCall", id, name: "shell", arguments: action }];
}

function writeEntry(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const [message] = group;
  const result = message === undefined ? undefined : toolResults(message)[0];
  const content = result === undefined ? group.map(messageText).join("\n") : resultText(result);
  if (original === undefined) {
    return {
      role: message?.role ?? "user",
      content,
      agent: "main",
      message_type: message?.role === "assistant" ? "action" : "observation",
    };
  }
  if (message?.role !== "assistant") return { ...original, content };
  const calls = toolCalls(message);
  return {
    ...original,
    content,
    thought: content,
    action: calls.length === 0 && "action" in original ? "" : original.action,
    tool_calls: Array.isArray(original.tool_calls)
      ? keptCalls(original.tool_calls, message)
      : original.tool_calls,
  };
}

function keptCalls(old: readonly unknown[], message: Message): unknown[] {
  const now = new Map(toolCalls(message).map((call) => [call.id, argumentsText(call)]));
  return old
    .map(recordOf)
    .filter((call) => now.has(String(call.id)))
    .map((call) => ({
      ...call,
      function: { ...recordOf(call.function), arguments: now.get(String(call.id)) },
    }));
}
