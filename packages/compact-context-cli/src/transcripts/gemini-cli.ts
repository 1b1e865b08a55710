import type { Message, Part } from "compact-context";
import { callPart, resultPart } from "compact-context/internal/codecs/slots";
import { messageText, resultText, toolCalls, toolResults } from "compact-context/internal/core/message";
import { type Body, documentFormat, readBody } from "./document.ts";
import { isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  type DocumentFormat,
  type Reading,
  type ReadLog,
  type RecordFormat,
  type SourceRecord,
  textParts,
  type WritePorts,
  withResults,
} from "./transcript.ts";

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
  read: async (records, log) => readBody("gemini-cli", bodyOf(await replayed(records), log), log, chatLines),
};

function isHeader(value: unknown): value is JsonRecord {
  return isRecord(value) && typeof value.projectHash === "string";
}

function bodyOf(container: JsonRecord, log: ReadLog): Body {
  const entries = listOf(container.messages);
  /** Notices by the turn that they follow: they are written back with it. */
  const notices = new Map<unknown, readonly JsonRecord[]>();
  return {
    entries,
    path: "messages",
    model: entries.flatMap((entry) => stringOf(recordOf(entry).model) ?? []).at(-1),
    sessionId: stringOf(container.sessionId),
    title: stringOf(container.summary),
    usage: [["input", "tool"], (entry) => recordOf(entry).tokens],
    list: {
      read(readable) {
        let turn: JsonRecord | undefined;
        for (const entry of readable) {
          if (isTurn(entry)) turn = entry;
          else {
            log.leaveOut(`notice ${String(entry.type)}`);
            notices.set(turn, [...(notices.get(turn) ?? []), entry]);
          }
        }
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

// ---- a record per change

/**
 * The records replayed into the document that earlier versions wrote. A message record replaces an earlier one
 * of its id and type, `$set` changes fields or all messages, and `$rewindTo` removes the message of that id
 * with all later ones; all if it is missing, as Gemini CLI reads it.
 */
async function replayed(records: AsyncIterable<SourceRecord>): Promise<JsonRecord> {
  let header: JsonRecord = {};
  let messages = new Map<string, JsonRecord>();
  const put = (entry: JsonRecord): unknown =>
    messages.set(`${String(entry.type)} ${String(entry.id)}`, entry);
  for await (const { value } of records) {
    const record = recordOf(value);
    const rewound = stringOf(record.$rewindTo);
    if (rewound !== undefined) {
      const entries = [...messages];
      const at = entries.findIndex(([, entry]) => entry.id === rewound);
      messages = new Map(entries.slice(0, Math.max(0, at)));
    } else if (typeof record.id === "string") put(record);
    else {
      const { messages: all, ...fields } = "$set" in record ? recordOf(record.$set) : record;
      header = { ...header, ...fields };
      if (!Array.isArray(all)) continue;
      messages = new Map();
      all.map(recordOf).forEach(put);
    }
  }
  return { ...header, messages: withOwnResults([...messages.values()]) };
}

/** Each answer with its calls and their results; messages that only repeat results are left out. */
function withOwnResults(entries: readonly JsonRecord[]): JsonRecord[] {
  const responses = new Map<unknown, unknown>();
  for (const part of entries.flatMap(({ content }) => listOf(content))) {
    const { id } = recordOf(recordOf(part).functionResponse);
    if (id !== undefined && !responses.has(id)) responses.set(id, part);
  }
  const answers = entries.map((entry) => (entry.type === "gemini" ? answerOf(entry, responses) : entry));
  const answered = new Set(
    answers.flatMap(({ toolCalls }) => listOf(toolCalls).map((call) => recordOf(call).id)),
  );
  return answers.flatMap((entry) => {
    if (!Array.isArray(entry.content)) return [entry];
    const rest = entry.content.filter(
      (part) => !answered.has(recordOf(recordOf(part).functionResponse).id ?? part),
    );
    if (rest.length === entry.content.length) return [withPlainText(entry)];
    return rest.length === 0 ? [] : [withPlainText({ ...entry, content: rest })];
  });
}

/** After a resume, the content of an answer holds its thoughts and calls. */
function answerOf(entry: JsonRecord, responses: ReadonlyMap<unknown, unknown>): JsonRecord {
  const parts = listOf(entry.content).map(recordOf);
  const calls = parts.flatMap(({ functionCall }) =>
    functionCall === undefined ? [] : [recordOf(functionCall)],
  );
  const made = calls.map(({ id, name, args }) => ({ id, name, args, status: "success" }));
  const toolCalls = listOf(entry.toolCalls ?? made)
    .map(recordOf)
    .map((call) => {
      const response = responses.get(call.id);
      return call.result != null || response === undefined ? call : { ...call, result: [response] };
    });
  const thoughts = parts.flatMap(({ thought, text }) => (thought === true ? [{ description: text }] : []));
  const answer: Record<string, unknown> = { ...entry };
  if (Array.isArray(entry.content))
    answer.content = parts.filter(
      ({ thought, functionCall }) => thought !== true && functionCall === undefined,
    );
  if (thoughts.length > 0) answer.thoughts = thoughts;
  if (toolCalls.length > 0) answer.toolCalls = toolCalls;
  return answer;
}

/** The entry with parts of text alone as one text. */
function withPlainText(entry: JsonRecord): JsonRecord {
  const texts = listOf(entry.content).map((part) => stringOf(recordOf(part).text));
  return texts.includes(undefined) ? entry : { ...entry, content: texts.map(textOf).join("") };
}

/** The header, then a record per message. */
function* chatLines(document: unknown): Iterable<string> {
  const { messages, ...header } = recordOf(document);
  for (const record of [header, ...listOf(messages)]) yield `${JSON.stringify(record)}\n`;
}
