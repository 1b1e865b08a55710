import type { Message, Part } from "compact-context";
import { callPart, resultPart } from "compact-context/internal/codecs/slots";
import { messageText, resultText, toolCalls, toolResults } from "compact-context/internal/core/message";
import { type Body, documentFormat, readBody } from "./document.ts";
import { chatLines, openChat } from "./gemini-cli-lines.ts";
import { isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import { type Reading, textParts, withResults } from "./session.ts";
import type { DocumentFormat, ReadLog, RecordFormat, WritePorts } from "./transcript.ts";

/** Gemini CLI's chat files (`~/.gemini/tmp/<project>/chats`) before version 0.40: one document. */
export const geminiCli: DocumentFormat = documentFormat(
  "gemini-cli",
  (value) => isHeader(value) && Array.isArray(value.messages),
  bodyOf,
);

/** Newer chat files: a record per change. A compacted session is written as a new file. */
export const geminiCliLines: RecordFormat = {
  format: "gemini-cli",
  recognises: (record) => isHeader(record) && !Array.isArray(record.messages),
  open: (log) => {
    const chat = openChat();
    return {
      add: (record) => chat.add(recordOf(record)),
      end: () => readBody("gemini-cli", bodyOf(chat.container(), log), log, chatLines),
    };
  },
};

function isHeader(value: unknown): value is JsonRecord {
  return isRecord(value) && typeof value.projectHash === "string";
}

function bodyOf(container: JsonRecord, log: ReadLog): Body {
  const entries = listOf(container.messages);
  let notices: ReadonlyMap<unknown, readonly JsonRecord[]> = new Map();
  return {
    entries,
    path: "messages",
    model: entries.flatMap((entry) => stringOf(recordOf(entry).model) ?? []).at(-1),
    sessionId: stringOf(container.sessionId),
    title: stringOf(container.summary),
    usage: ["gemini-cli", (entry) => recordOf(entry).tokens],
    list: {
      read(readable) {
        notices = noticesAfter(readable, log);
        return readable.filter(isTurn).flatMap(readEntry);
      },
      build: (group, original, ports) =>
        original === undefined ? freshEntry(group, ports) : rewriteEntry(original, group),
    },
    rebuild: (turns) => ({
      ...container,
      messages: turns.flatMap((turn) => [turn, ...(notices.get(turn) ?? [])]),
    }),
  };
}

/** Notices of the program (`info`, `error`, `warning`) are in the list but only shown to the user. */
function isTurn(entry: JsonRecord): boolean {
  return entry.type === "user" || entry.type === "gemini";
}

/** Notices by the turn that they follow: they are written back with it. */
function noticesAfter(
  entries: readonly JsonRecord[],
  log: ReadLog,
): ReadonlyMap<unknown, readonly JsonRecord[]> {
  const notices = new Map<unknown, JsonRecord[]>();
  let turn: JsonRecord | undefined;
  for (const entry of entries) {
    if (isTurn(entry)) turn = entry;
    else {
      log.leaveOut(`notice ${String(entry.type)}`);
      notices.set(turn, [...(notices.get(turn) ?? []), entry]);
    }
  }
  return notices;
}

function readEntry(entry: JsonRecord): Reading[] {
  const type = entry.type;
  const meta = { timestamp: stringOf(entry.timestamp), model: stringOf(entry.model) };
  const thoughts = listOf(entry.thoughts).map(recordOf).map(readThought);
  const calls = callsOf(entry);
  const parts = [
    ...thoughts,
    ...textParts(textOf(entry.content)),
    ...calls.map(({ call, id }) => callPart(id, textOf(call.name), call.args)),
  ];
  const results = calls.flatMap(resultParts);
  const role = type === "gemini" ? "assistant" : "user";
  const own: Reading = { role, parts, native: entry, id: stringOf(entry.id), meta };
  return withResults(own, results);
}

function readThought(thought: JsonRecord): Part {
  const words = [stringOf(thought.subject), stringOf(thought.description)];
  return { type: "reasoning", text: words.filter((word) => word !== undefined).join("\n") };
}

interface IdentifiedCall {
  readonly call: JsonRecord;
  readonly id: string;
}

/** The calls of an answer; a call without an id is identified by its position. */
function callsOf(entry: JsonRecord): IdentifiedCall[] {
  const calls = listOf(entry.toolCalls).map(recordOf);
  const answer = stringOf(entry.id) ?? "message";
  return calls.map((call, index) => ({ call, id: stringOf(call.id) ?? `${answer}:call-${index + 1}` }));
}

function resultParts({ call, id }: IdentifiedCall): Part[] {
  const { result, status, name } = call;
  if (result === undefined || result === null) return [];
  return [resultPart(id, outputOf(result), status === "error", name)];
}

function outputOf(result: unknown): string {
  const pieces = listOf(result).map((piece) => {
    const response = recordOf(recordOf(recordOf(piece).functionResponse).response);
    return textOf(response.output ?? response.error ?? recordOf(piece).text ?? piece);
  });
  return Array.isArray(result) ? pieces.join("\n") : textOf(result);
}

function freshEntry(group: readonly Message[], ports: WritePorts): JsonRecord {
  const type = group[0]?.role === "assistant" ? "gemini" : "user";
  return { id: ports.newId(), timestamp: ports.now(), type, content: group.map(messageText).join("\n") };
}

function rewriteEntry(original: JsonRecord, group: readonly Message[]): JsonRecord {
  const own = group.filter((message) => message.role !== "tool");
  const calls = new Set(group.flatMap(toolCalls).map((call) => call.id));
  const results = new Map(group.flatMap(toolResults).map((result) => [result.id, resultText(result)]));
  const thinks = own.some((message) => message.parts.some((part) => part.type === "reasoning"));
  const { thoughts, toolCalls: old, ...rest } = original;
  const kept = callsOf(original)
    .filter(({ id }) => calls.has(id))
    .map(({ call, id }) => withOutput(call, results.get(id)));
  return {
    ...rest,
    content: own.map(messageText).join("\n"),
    thoughts: thinks ? thoughts : undefined,
    toolCalls: old === undefined ? undefined : kept,
  };
}

function withOutput(call: JsonRecord, output: string | undefined): JsonRecord {
  if (output === undefined || output === outputOf(call.result)) return call;
  const { resultDisplay: _, ...rest } = call;
  const { id, name } = call;
  return { ...rest, result: [{ functionResponse: { id, name, response: { output } } }] };
}
