import { codecFor } from "compact-context/internal/codecs/formats";
import { defined } from "compact-context/internal/errors";
import { readList } from "./entries.ts";
import { documentChunks, isRecord, type JsonRecord, layoutOf, listOf, recordOf, textOf } from "./json.ts";
import type { DocumentFormat, ReadLog, Session } from "./transcript.ts";

/** LangGraph recordings: named snapshots of a message list, or the events of a stream. */
export const langchainRecording: DocumentFormat = {
  format: "langchain",
  recognises: (value) => snapshotOf(value) !== undefined || isMessageStream(value),
  read: ({ value, text }, log) => {
    const snapshot = snapshotOf(value);
    if (snapshot !== undefined) return readSnapshot(value, snapshot, { text, log });
    return readStream(listOf(value), text, log);
  },
};

interface Snapshot {
  readonly messages: readonly unknown[];
  /** Keys that lead to the list. */
  readonly path: readonly (string | number)[];
  readonly others: number;
}

/** The longest of the named lists, or the last full values of a stream. */
function snapshotOf(value: unknown): Snapshot | undefined {
  if (isRecord(value)) return longestList(value);
  if (!Array.isArray(value)) return undefined;
  const index = value.findLastIndex((event) => valuesOf(event) !== undefined);
  const found = valuesOf(value[index]);
  return found === undefined
    ? undefined
    : { ...found, path: [index, ...found.path], others: value.length - 1 };
}

function longestList(container: JsonRecord): Snapshot | undefined {
  const lists = Object.entries(container).filter(([, list]) => isMessageList(list));
  if (lists.length === 0 || lists.length < Object.keys(container).length) return undefined;
  // A list that was compacted is the one that goes on, although it is shorter now.
  const compacted = lists.find(([, list]) => JSON.stringify(list).includes('"<COMPACT-SUMMARY v'));
  const longest = lists.reduce((best, one) => (listOf(one[1]).length > listOf(best[1]).length ? one : best));
  const [key, list] = compacted ?? longest;
  return { messages: listOf(list), path: [key], others: lists.length - 1 };
}

/** `["values", {messages}]`, `[namespace, "values", {messages}]` or `{messages}` alone. */
function valuesOf(event: unknown): Pick<Snapshot, "messages" | "path"> | undefined {
  const at = Array.isArray(event) ? event.length - 1 : undefined;
  const state = recordOf(Array.isArray(event) ? event.at(-1) : event);
  if (!isMessageList(state.messages)) return undefined;
  return { messages: listOf(state.messages), path: at === undefined ? ["messages"] : [at, "messages"] };
}

function isMessageList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && codecFor("langchain").detect(value) > 0.5;
}

interface Source {
  readonly text: string;
  readonly log: ReadLog;
}

function readSnapshot(value: unknown, snapshot: Snapshot, { text, log }: Source): Session {
  log.leaveOut("other snapshot", snapshot.others);
  const read = readLangchain(snapshot.messages, log);
  const layout = layoutOf(text);
  return {
    ...read.session,
    write: (compacted) => ({
      mode: "replace",
      chunks: documentChunks(replaced(value, snapshot.path, read.encode(compacted.messages)), layout),
    }),
  };
}

function readLangchain(
  messages: readonly unknown[],
  log: ReadLog,
): { session: Omit<Session, "write">; encode: ReturnType<typeof readList>["encode"] } {
  const { segments, usage, encode } = readList(
    {
      format: "langchain",
      entries: messages,
      path: "messages",
      usage: { source: "langchain", of: (entry) => recordOf(recordOf(entry).kwargs).usage_metadata },
    },
    log,
  );
  return {
    session: { format: "langchain", list: "langchain", segments, usage, leftOut: log.leftOut() },
    encode,
  };
}

/** The value with what stands at `path` replaced. */
function replaced(value: unknown, path: readonly (string | number)[], list: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return list;
  if (Array.isArray(value))
    return value.map((item, index) => (index === key ? replaced(item, rest, list) : item));
  return { ...recordOf(value), [key]: replaced(recordOf(value)[key], rest, list) };
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

/** The chunks joined to messages; written back as a plain list, since a stream cannot be shortened. */
function readStream(events: readonly unknown[], text: string, log: ReadLog): Session {
  const byId = new Map<unknown, JsonRecord>();
  const chunks = events.map(chunkOf).filter((chunk) => chunk !== undefined);
  for (const chunk of chunks) {
    const id = recordOf(chunk.kwargs).id ?? chunk;
    const before = byId.get(id);
    byId.set(id, before === undefined ? chunk : joined(before, chunk));
  }
  const { session, encode } = readLangchain([...byId.values()], log);
  const layout = layoutOf(text);
  return {
    ...session,
    write: (compacted) => ({ mode: "replace", chunks: documentChunks(encode(compacted.messages), layout) }),
  };
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

/** Chunks of one call share its index; its name and id come with the first. */
function callsOf(chunks: readonly JsonRecord[]): JsonRecord[] {
  const calls = new Map<unknown, { id: unknown; name: unknown; text: string }>();
  for (const chunk of chunks) {
    const call = calls.get(chunk.index) ?? { id: chunk.id, name: chunk.name, text: "" };
    calls.set(chunk.index, { ...call, text: call.text + textOf(chunk.args) });
  }
  return [...calls.values()].map(({ id, name, text }) => ({
    id,
    name,
    args: argumentsFrom(text),
    type: "tool_call",
  }));
}

function argumentsFrom(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return { input: text };
  }
}
