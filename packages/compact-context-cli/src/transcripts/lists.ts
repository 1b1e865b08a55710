import type { Format } from "compact-context";
import { codecFor, detectFormat } from "compact-context/internal/codecs/formats";
import { fieldsOf } from "compact-context/internal/codecs/langchain";
import { inputObject } from "compact-context/internal/codecs/native";
import { callPart } from "compact-context/internal/codecs/slots";
import { argumentsValue } from "compact-context/internal/core/message";
import { wordsOf } from "compact-context/internal/providers/request";
import { type Body, documentFormat, readBody } from "./document.ts";
import { defined, isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  ANTHROPIC_USAGE,
  type DocumentFormat,
  PI_USAGE,
  RESPONSES_USAGE,
  type ReadLog,
  type Session,
} from "./transcript.ts";

// Lists of messages in a provider's own format: alone, in a request body, in the files of Cline and LangGraph.

const USAGE: Partial<Record<Format, Body["usage"]>> = {
  langchain: [RESPONSES_USAGE, (entry) => fieldsOf(recordOf(entry)).usage_metadata],
  anthropic: [ANTHROPIC_USAGE, (entry) => recordOf(entry).usage],
  pi: [PI_USAGE, (entry) => recordOf(entry).usage],
};

/** A JSON list of messages, or the request body that holds one. */
export function plainFormat(format: Format): DocumentFormat {
  return documentFormat(
    format,
    (value) => detectPlainFormat(value) === format,
    (body, _, value) => {
      const { entries, key } = listIn(value) ?? { entries: [], key: undefined };
      return {
        entries,
        path: key ?? "messages",
        list: { codec: format },
        usage: USAGE[format],
        system: systemOf(body),
        tools: Array.isArray(body.tools) ? body.tools : undefined,
        model: stringOf(body.model),
        rebuild: (list) => (key === undefined ? list : { ...body, [key]: list }),
      };
    },
  );
}

/** A list stored as JSONL, one entry per line. */
export function readEntryLines(format: Format, entries: readonly unknown[], log: ReadLog): Session {
  const rebuild = (list: readonly unknown[]): readonly unknown[] => list;
  const body: Body = { entries, path: "messages", list: { codec: format }, usage: USAGE[format], rebuild };
  return readBody(format, body, log, (list) => listOf(list).map((entry) => `${JSON.stringify(entry)}\n`));
}

/** Location of a document's list: under a key, or the document itself. */
export function listIn(value: unknown): { entries: readonly unknown[]; key: string | undefined } | undefined {
  if (Array.isArray(value)) return { entries: value, key: undefined };
  const key = ["messages", "input", "contents"].find((word) => Array.isArray(recordOf(value)[word]));
  return key === undefined ? undefined : { entries: listOf(recordOf(value)[key]), key };
}

/** The codec format of a list or request body. */
function detectPlainFormat(value: unknown): Format | undefined {
  const found = listIn(value);
  if (found === undefined) return undefined;
  const { entries, key } = found;
  // Without content blocks an Anthropic list looks like a chat list; only Anthropic has a `system` field next
  // to it.
  const outside = key === "messages" && "system" in recordOf(value) && hasOnlyTurns(entries);
  if (outside && codecFor("anthropic").detect(entries) > 0) return "anthropic";
  if (key === "input" && codecFor("openai-responses").detect(entries) > 0) return "openai-responses";
  return detectFormat(entries);
}

function hasOnlyTurns(entries: readonly unknown[]): boolean {
  return entries.every((entry) => ["user", "assistant"].includes(String(recordOf(entry).role)));
}

/** The system prompt of any provider's request body. */
function systemOf({ system, instructions, systemInstruction, config }: JsonRecord): string | undefined {
  return (
    wordsOf(system ?? instructions ?? systemInstruction ?? recordOf(config).systemInstruction) || undefined
  );
}

/** Cline's session file: Anthropic messages with attached files as blocks of their own. */
export const cline: DocumentFormat = documentFormat(
  "cline",
  (value) =>
    isRecord(value) &&
    Array.isArray(value.messages) &&
    typeof value.sessionId === "string" &&
    ("agent" in value || "system_prompt" in value) &&
    !("projectHash" in value),
  (container) => {
    const entries = listOf(container.messages);
    const models = entries.flatMap((entry) => stringOf(recordOf(recordOf(entry).modelInfo).id) ?? []);
    return {
      entries,
      path: "messages",
      list: { codec: "anthropic", translate: withFilesAsText },
      usage: [["inputTokens"], (entry) => recordOf(entry).metrics],
      system: stringOf(container.system_prompt),
      sessionId: stringOf(container.sessionId),
      model: models.at(-1),
      rebuild: (messages) => ({ ...container, messages }),
    };
  },
);

/** Cline sends an attached file as text. */
function withFilesAsText(entry: unknown): unknown {
  const { content, ...message } = recordOf(entry);
  if (!Array.isArray(content) || !content.some((block) => recordOf(block).type === "file")) return entry;
  return { ...message, content: content.map(fileAsText) };
}

function fileAsText(block: unknown): unknown {
  const { type, path, content } = recordOf(block);
  if (type !== "file") return block;
  return { type: "text", text: `<file_content path="${textOf(path)}">\n${textOf(content)}\n</file_content>` };
}

/** LangGraph recordings: named snapshots of a message list, or the events of a stream. */
export const langchainRecording: DocumentFormat = documentFormat(
  "langchain",
  (value) => snapshotOf(value) !== undefined || isMessageStream(value),
  (_, log, value) => {
    const snapshot = snapshotOf(value);
    log.leaveOut("other snapshot", snapshot?.others ?? 0);
    return {
      entries: snapshot?.messages ?? joinedChunks(listOf(value)),
      path: "messages",
      list: { codec: "langchain" },
      usage: USAGE.langchain,
      // A stream cannot be shortened: it becomes a plain list.
      rebuild: snapshot?.replace ?? ((list) => list),
    };
  },
);

interface Snapshot {
  readonly messages: readonly unknown[];
  readonly others: number;
  /** The recording with another list in its place. */
  replace(messages: readonly unknown[]): unknown;
}

/** The longest of the named lists, or the last complete values of a stream. */
function snapshotOf(value: unknown): Snapshot | undefined {
  if (isRecord(value)) return longestList(value);
  if (!Array.isArray(value)) return undefined;
  const index = value.findLastIndex((event) => isMessageList(stateOf(event).messages));
  const event: unknown = value[index];
  const state = stateOf(event);
  if (index < 0) return undefined;
  return {
    messages: listOf(state.messages),
    others: value.length - 1,
    replace: (messages) =>
      value.with(
        index,
        Array.isArray(event) ? event.with(-1, { ...state, messages }) : { ...state, messages },
      ),
  };
}

function longestList(container: JsonRecord): Snapshot | undefined {
  const lists = Object.entries(container).filter(([, list]) => isMessageList(list));
  if (lists.length === 0 || lists.length < Object.keys(container).length) return undefined;
  // The session continues with the compacted list, although it is shorter.
  const compacted = lists.find(([, list]) => JSON.stringify(list).includes('"<COMPACT-SUMMARY v'));
  const longest = lists.reduce((best, one) => (listOf(one[1]).length > listOf(best[1]).length ? one : best));
  const [key, list] = compacted ?? longest;
  return {
    messages: listOf(list),
    others: lists.length - 1,
    replace: (messages) => ({ ...container, [key]: messages }),
  };
}

/** The state in `["values", state]`, `[namespace, "values", state]` or `state` alone. */
function stateOf(event: unknown): JsonRecord {
  return recordOf(Array.isArray(event) ? event.at(-1) : event);
}

function isMessageList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && codecFor("langchain").detect(value) > 0.5;
}

/** Events `[namespace, [chunk, metadata]]` or `[chunk, metadata]`. */
function isMessageStream(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((event) => chunkOf(event) !== undefined);
}

function chunkOf(event: unknown): JsonRecord | undefined {
  const pair = Array.isArray(event) && Array.isArray(event[1]) ? event[1] : event;
  const chunk: unknown = Array.isArray(pair) ? pair[0] : undefined;
  return isRecord(chunk) && isRecord(chunk.kwargs) && chunk.lc === 1 ? chunk : undefined;
}

/** Joins the chunks of a stream to messages. */
function joinedChunks(events: readonly unknown[]): JsonRecord[] {
  const byId = new Map<unknown, JsonRecord>();
  for (const chunk of events.map(chunkOf).filter((one) => one !== undefined)) {
    const id = recordOf(chunk.kwargs).id ?? chunk;
    const before = byId.get(id);
    byId.set(id, before === undefined ? chunk : joined(before, chunk));
  }
  return [...byId.values()];
}

function joined(first: JsonRecord, next: JsonRecord): JsonRecord {
  const [a, b] = [recordOf(first.kwargs), recordOf(next.kwargs)];
  const chunks = [...listOf(a.tool_call_chunks), ...listOf(b.tool_call_chunks)].map(recordOf);
  const content =
    Array.isArray(a.content) || Array.isArray(b.content)
      ? [...listOf(a.content), ...listOf(b.content)]
      : textOf(a.content) + textOf(b.content);
  const usage = recordOf(b.usage_metadata);
  const more = defined({
    tool_call_chunks: chunks.length > 0 ? chunks : undefined,
    tool_calls: chunks.length > 0 ? callsOf(chunks) : undefined,
    usage_metadata: Object.keys(usage).length > 0 ? usage : undefined,
  });
  return { ...first, kwargs: { ...a, content, ...more } };
}

/** Chunks of one call share its index; the first has its name and id. */
function callsOf(chunks: readonly JsonRecord[]): JsonRecord[] {
  const calls = new Map<unknown, { id: unknown; name: unknown; text: string }>();
  for (const chunk of chunks) {
    const call = calls.get(chunk.index) ?? { id: chunk.id, name: chunk.name, text: "" };
    calls.set(chunk.index, { ...call, text: call.text + textOf(chunk.args) });
  }
  return [...calls.values()].map(({ id, name, text }) => {
    const args = inputObject(argumentsValue(callPart(id, textOf(name), text)));
    return { id, name, args, type: "tool_call" };
  });
}
