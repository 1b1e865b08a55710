import type { Message, Part } from "compact-context";
import { callPart, resultPart } from "compact-context/internal/codecs/slots";
import {
  argumentsValue,
  type MediaPart,
  messageText,
  resultText,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import { documentFormat } from "./document.ts";
import { defined, isoTime, isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import { addSegment, type Reading, textParts, withResults, withSummaryVersion } from "./session.ts";
import type { DocumentFormat, ReadLog, Segment, WritePorts } from "./transcript.ts";

/** `opencode export`: messages with parts; a call and its result are one part. */
export const opencode: DocumentFormat = documentFormat(
  "opencode",
  (value) =>
    isRecord(value) &&
    isRecord(value.info) &&
    listOf(value.messages).some((one) => Array.isArray(recordOf(one).parts)),
  (container, log) => {
    const info = recordOf(container.info);
    const entries = listOf(container.messages);
    return {
      entries,
      path: "messages",
      model: entries.flatMap((entry) => modelOf(recordOf(entry)) ?? []).at(-1),
      sessionId: stringOf(info.id),
      title: stringOf(info.title),
      cwd: stringOf(info.directory),
      usage: ["opencode", usageIn],
      list: {
        read: (readable) => readable.flatMap((entry) => readEntry(entry, log)),
        build: (group, original, ports) =>
          original === undefined
            ? freshEntry(entries.map(recordOf), group, ports)
            : { ...original, parts: rewriteParts(original, group) },
        segmentsOf,
      },
      rebuild: (messages) => ({ ...container, messages }),
    };
  },
);

/** The cost of an answer is next to its tokens. */
function usageIn(entry: unknown): JsonRecord {
  const { tokens, cost } = recordOf(recordOf(entry).info);
  return { ...recordOf(tokens), cost };
}

function modelOf(entry: JsonRecord): string | undefined {
  const info = recordOf(entry.info);
  return stringOf(info.modelID) ?? stringOf(recordOf(info.model).modelID);
}

function readEntry(entry: JsonRecord, log: ReadLog): Reading[] {
  const info = recordOf(entry.info);
  const role = info.role === "assistant" ? "assistant" : "user";
  const meta = {
    timestamp: isoTime(recordOf(info.time).created),
    model: role === "assistant" ? modelOf(entry) : undefined,
  };
  const parts: Part[] = [];
  const results: Part[] = [];
  const ids = callIds(entry);
  for (const part of partsOf(entry)) {
    const callId = ids.get(part);
    if (callId !== undefined) {
      parts.push(callPart(callId, textOf(part.tool), recordOf(part.state).input));
      results.push(...resultOf(part, callId));
    } else parts.push(...readPart(part, log));
  }
  const own: Reading = { role, parts, native: entry, id: stringOf(info.id), meta };
  return withResults(own, results);
}

function readPart(part: JsonRecord, log: ReadLog): Part[] {
  switch (part.type) {
    case "text":
    case "subtask":
    case "file":
      return saidBy(part);
    case "reasoning":
      return [{ type: "reasoning", text: stringOf(part.text) ?? "", ...seal(part) }];
    default:
      log.leaveOut(`part ${String(part.type)}`);
      return [];
  }
}

/** Text or media of a part; none for an empty text. */
function saidBy(part: JsonRecord): Part[] {
  if (part.type === "file") return [fileOf(part)];
  return textParts(part.type === "text" ? part.text : part.prompt);
}

function seal(part: JsonRecord): { opaqueLength?: number; signed?: boolean } {
  const lengths = Object.values(recordOf(part.metadata)).map(
    (provider) => (stringOf(recordOf(provider).reasoningEncryptedContent) ?? "").length,
  );
  const opaqueLength = lengths.reduce((sum, length) => sum + length, 0);
  return opaqueLength === 0 ? {} : { opaqueLength, signed: true };
}

function excerptOf(part: JsonRecord): string | undefined {
  return stringOf(recordOf(recordOf(part.source).text).value);
}

function fileOf(part: JsonRecord): Part {
  const excerpt = excerptOf(part);
  if (excerpt !== undefined) return { type: "text", text: excerpt };
  const url = stringOf(part.url);
  return defined({
    type: "media",
    mediaType: stringOf(part.mime) ?? "application/*",
    bytes: 0,
    url,
    name: stringOf(part.filename),
  });
}

function partsOf(entry: JsonRecord): readonly JsonRecord[] {
  return listOf(entry.parts).filter(isRecord);
}

/** The id of each call of a message. Published sessions have redacted ids, so one id can occur twice. */
function callIds(entry: JsonRecord): ReadonlyMap<JsonRecord, string> {
  const ids = new Map<JsonRecord, string>();
  const taken = new Set<string>();
  for (const part of partsOf(entry)) {
    if (part.type !== "tool") continue;
    const base = stringOf(part.callID) ?? stringOf(part.id) ?? "call";
    let id = base;
    for (let number = 2; taken.has(id); number += 1) id = `${base}-${number}`;
    taken.add(id);
    ids.set(part, id);
  }
  return ids;
}

function resultOf(part: JsonRecord, id: string): Part[] {
  const state = recordOf(part.state);
  if (state.status === "pending" || state.status === "running") return [];
  return [resultPart(id, textOf(state.output ?? state.error), state.status === "error", part.tool)];
}

/** After a summary, OpenCode sends the request for it, the summary, and what follows. */
function segmentsOf(all: readonly Message[]): readonly Segment[] {
  const messages = all.map(withSummaryVersion);
  const segments: Segment[] = [];
  let start = 0;
  let carried = 0;
  messages.forEach((message, index) => {
    if (message.role !== "assistant" || recordOf(recordOf(message.native).info).summary !== true) return;
    const request = messages[index - 1];
    const begin = request !== undefined && asksForSummary(request) ? index - 1 : index;
    addSegment(segments, { messages: messages.slice(start, begin), carried }, { kind: "summary" });
    start = begin;
    carried = index + 1 - begin;
  });
  return [...segments, { messages: messages.slice(start), carried }];
}

function asksForSummary(message: Message): boolean {
  return partsOf(recordOf(message.native)).some((part) => part.type === "compaction");
}

/** A new message copies the `info` fields that opencode expects from a neighbour of the same role. */
function freshEntry(
  entries: readonly JsonRecord[],
  group: readonly Message[],
  ports: WritePorts,
): JsonRecord {
  const role = group[0]?.role === "user" ? "user" : "assistant";
  const template = recordOf(entries.find((entry) => recordOf(entry.info).role === role)?.info);
  const { summary: _, tokens, cost, ...info } = template;
  const id = `msg_${ports.newId()}`;
  const zeros =
    tokens === undefined
      ? {}
      : { tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } } };
  const time = Date.parse(ports.now());
  const text = group.map(messageText).join("\n");
  return {
    info: { ...info, ...zeros, cost: cost === undefined ? undefined : 0, id, role, time: { created: time } },
    parts: [{ type: "text", text, id: `prt_${ports.newId()}`, sessionID: info.sessionID, messageID: id }],
  };
}

/** The remaining parts, with their current texts and outputs. */
function rewriteParts(original: JsonRecord, group: readonly Message[]): unknown[] {
  const parts = group.flatMap((message) => message.parts);
  const now: PartsNow = {
    ids: callIds(original),
    said: parts.filter((part) => part.type === "text" || part.type === "media"),
    results: new Map(group.flatMap(toolResults).map((result) => [result.id, result])),
    calls: new Map(group.flatMap(toolCalls).map((call) => [call.id, call])),
    hasReasoning: parts.some((part) => part.type === "reasoning"),
  };
  const kept = partsOf(original).flatMap((part) => rewritePart(part, now));
  return [...kept, ...now.said.filter((part) => part.type === "text" && part.text !== "")];
}

interface PartsNow {
  readonly ids: ReadonlyMap<JsonRecord, string>;
  /** Consumed in order by parts with visible content. */
  readonly said: (TextPart | MediaPart)[];
  readonly results: ReadonlyMap<string, ToolResultPart>;
  readonly calls: ReadonlyMap<string, ToolCallPart>;
  readonly hasReasoning: boolean;
}

function rewritePart(part: JsonRecord, now: PartsNow): JsonRecord[] {
  switch (part.type) {
    case "text":
    case "subtask":
    case "file":
      return saidBy(part).length === 0 ? [part] : rewriteSaid(part, now.said.shift());
    case "reasoning":
      return now.hasReasoning ? [part] : [];
    case "tool": {
      const id = now.ids.get(part) ?? "";
      const call = now.calls.get(id);
      if (call === undefined) return [];
      return [{ ...part, state: stateWith(part, argumentsValue(call), now.results.get(id)) }];
    }
    default:
      return [part];
  }
}

/** The part with its current text; a removed file is replaced by a text. */
function rewriteSaid(part: JsonRecord, now: TextPart | MediaPart | undefined): JsonRecord[] {
  if (now === undefined) return [];
  if (now.type === "media") return [part];
  const { text } = now;
  if (part.type !== "file") return [{ ...part, [part.type === "text" ? "text" : "prompt"]: text }];
  const { id, sessionID, messageID } = part;
  if (excerptOf(part) === undefined) return [{ id, sessionID, messageID, type: "text", text }];
  const source = recordOf(part.source);
  return [{ ...part, source: { ...source, text: { ...recordOf(source.text), value: text } } }];
}

function stateWith(part: JsonRecord, input: unknown, result: ToolResultPart | undefined): JsonRecord {
  const state = recordOf(part.state);
  const field = state.status === "error" ? "error" : "output";
  return { ...state, input, [field]: result === undefined ? state[field] : resultText(result) };
}
