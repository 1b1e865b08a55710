import { type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";

// The records of a Gemini CLI chat, replayed into the document that earlier versions wrote.

/** A chat under replay. */
interface Chat {
  add(record: JsonRecord): void;
  /** The chat as one document. */
  container(): JsonRecord;
}

/**
 * A message record replaces an earlier one of its id and type, `$set` changes fields or all messages, and
 * `$rewindTo` removes the message of that id with all later ones.
 */
export function openChat(): Chat {
  let header: JsonRecord = {};
  let messages = new Map<string, JsonRecord>();
  const put = (entry: JsonRecord): void =>
    void messages.set(`${String(entry.type)} ${String(entry.id)}`, entry);
  const setFields = ({ messages: all, ...fields }: JsonRecord): void => {
    header = { ...header, ...fields };
    if (!Array.isArray(all)) return;
    messages = new Map();
    for (const entry of all.map(recordOf)) put(entry);
  };
  return {
    add(record) {
      const rewound = stringOf(record.$rewindTo);
      if (rewound !== undefined) messages = before(messages, rewound);
      else if (typeof record.id === "string") put(record);
      else setFields("$set" in record ? recordOf(record.$set) : record);
    },
    container: () => ({ ...header, messages: withOwnResults([...messages.values()]) }),
  };
}

/** The messages before the one with this id; none if it is missing, as Gemini CLI reads it. */
function before(messages: ReadonlyMap<string, JsonRecord>, id: string): Map<string, JsonRecord> {
  const entries = [...messages];
  const at = entries.findIndex(([, entry]) => entry.id === id);
  return new Map(entries.slice(0, Math.max(0, at)));
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
export function* chatLines(document: unknown): Iterable<string> {
  const { messages, ...header } = recordOf(document);
  for (const record of [header, ...listOf(messages)]) yield `${JSON.stringify(record)}\n`;
}
