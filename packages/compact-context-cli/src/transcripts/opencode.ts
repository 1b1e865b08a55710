import type { Message, Part } from "compact-context";
import { createIds, type Ids } from "compact-context/internal/codecs/create-codec";
import { callPart, resultPart, rewriteBlocks, type Slot } from "compact-context/internal/codecs/slots";
import { argumentsValue, messageText, resultText } from "compact-context/internal/core/message";
import { documentFormat } from "./document.ts";
import { defined, isoTime, isRecord, type JsonRecord, listOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  type DocumentFormat,
  type Reading,
  type ReadLog,
  type Segment,
  textParts,
  type WritePorts,
  withResults,
} from "./transcript.ts";

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
      usage: [["input", "cache.read", "cache.write"], usageIn],
      list: {
        read: (readable) => readable.flatMap((entry) => readEntry(entry, log)),
        build: (group, original, ports) =>
          original === undefined
            ? freshEntry(entries.map(recordOf), group, ports)
            : { ...original, parts: rewriteParts(original, group, ports) },
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
  const slots = slotsOf(entry);
  for (const { block } of slots) {
    const { type } = recordOf(block);
    if (!SHOWN.has(type)) log.leaveOut(`part ${String(type)}`);
  }
  const all = slots.flatMap((slot) => slot.parts);
  const parts = all.filter((part) => part.type !== "toolResult");
  const own: Reading = { role, parts, native: entry, id: stringOf(info.id), meta };
  return withResults(
    own,
    all.filter((part) => part.type === "toolResult"),
  );
}

const SHOWN: ReadonlySet<unknown> = new Set(["text", "subtask", "file", "reasoning", "tool"]);

/** The parts of an entry, with what the model sees of each. */
function slotsOf(entry: JsonRecord): Slot[] {
  const ids = createIds([]);
  return listOf(entry.parts)
    .filter(isRecord)
    .map((block, index) => ({ block, parts: readPart(block, ids), path: `parts[${index}]` }));
}

function readPart(part: JsonRecord, ids: Ids): readonly Part[] {
  switch (part.type) {
    case "text":
      return textParts(part.text);
    case "subtask":
      return textParts(part.prompt);
    case "file":
      return [fileOf(part)];
    case "reasoning":
      return [{ type: "reasoning", text: stringOf(part.text) ?? "", ...seal(part) }];
    case "tool":
      // Published sessions have redacted ids, so one id can occur twice.
      return callWithResult(part, ids.unique(stringOf(part.callID) ?? stringOf(part.id) ?? "call"));
    default:
      return [];
  }
}

function seal(part: JsonRecord): { opaqueLength?: number; signed?: boolean } {
  const lengths = Object.values(recordOf(part.metadata)).map(
    (provider) => (stringOf(recordOf(provider).reasoningEncryptedContent) ?? "").length,
  );
  const opaqueLength = lengths.reduce((sum, length) => sum + length, 0);
  return opaqueLength === 0 ? {} : { opaqueLength, signed: true };
}

function fileOf(part: JsonRecord): Part {
  const excerpt = stringOf(recordOf(recordOf(part.source).text).value);
  if (excerpt !== undefined) return { type: "text", text: excerpt };
  const mediaType = stringOf(part.mime) ?? "application/*";
  return defined({
    type: "media",
    mediaType,
    bytes: 0,
    url: stringOf(part.url),
    name: stringOf(part.filename),
  });
}

function callWithResult(part: JsonRecord, id: string): Part[] {
  const { status, input, output, error } = recordOf(part.state);
  const call = callPart(id, textOf(part.tool), input);
  if (status === "pending" || status === "running") return [call];
  return [call, resultPart(id, textOf(output ?? error), status === "error", part.tool)];
}

/** After a summary, OpenCode sends the request for it, the summary, and what follows. */
function segmentsOf(messages: readonly Message[]): readonly Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  let carried = 0;
  for (const [index, { role, native }] of messages.entries()) {
    if (role !== "assistant" || recordOf(recordOf(native).info).summary !== true) continue;
    const request = listOf(recordOf(messages[index - 1]?.native).parts);
    const isAsked = request.some((part) => recordOf(part).type === "compaction");
    const begin = isAsked ? index - 1 : index;
    segments.push({ messages: messages.slice(start, begin), carried, endedBy: { kind: "summary" } });
    start = begin;
    carried = index + 1 - begin;
  }
  return [...segments, { messages: messages.slice(start), carried }];
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
  const time = { created: Date.parse(ports.now()) };
  const own = { ...info, ...zeros, cost: cost === undefined ? undefined : 0, id, role, time };
  return { info: own, parts: [newText(group.map(messageText).join("\n"), own, ports)] };
}

function newText(text: string, { id: messageID, sessionID }: JsonRecord, ports: WritePorts): JsonRecord {
  return { type: "text", text, id: `prt_${ports.newId()}`, sessionID, messageID };
}

/** The remaining parts, with their current texts and outputs; a removed file is replaced by a text. */
function rewriteParts(original: JsonRecord, group: readonly Message[], ports: WritePorts): unknown[] {
  const parts = group.flatMap((message) => message.parts);
  return rewriteBlocks(slotsOf(original), parts, (part, block) =>
    block === undefined
      ? newText(part.type === "text" ? part.text : "", recordOf(original.info), ports)
      : patchPart(block, part),
  );
}

function patchPart(block: JsonRecord, part: Part): JsonRecord {
  const state = recordOf(block.state);
  switch (part.type) {
    case "toolCall":
      return { ...block, state: { ...state, input: argumentsValue(part) } };
    case "toolResult":
      return {
        ...block,
        state: { ...state, [state.status === "error" ? "error" : "output"]: resultText(part) },
      };
    case "text": {
      if (block.type !== "file") return { ...block, prompt: part.text };
      const source = recordOf(block.source);
      return { ...block, source: { ...source, text: { ...recordOf(source.text), value: part.text } } };
    }
    default:
      return block;
  }
}
