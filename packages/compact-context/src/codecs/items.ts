import {
  argumentsText,
  jsonText,
  type MediaPart,
  type Part,
  type ReasoningPart,
  type Role,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { defined, isObject } from "../errors.ts";
import { createCodec, opaqueSlot, type Reading, rewriteBlocks, type Slot, slot } from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  invalidMessages,
  isBlockList,
  mediaFromValue,
  mediaReference,
  mediaUrl,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

/** What the item lists of the Responses API and of the OpenAI Agents SDK say differently. */
export interface ItemDialect {
  readonly callId: "call_id" | "callId";
  /** The bags in which extra data may say `protected`. */
  readonly bags: (item: NativeObject) => readonly unknown[];
}

const ROLES: Readonly<Record<string, Role>> = {
  system: "system",
  developer: "developer",
  user: "user",
  assistant: "assistant",
};

/** Reads one item: a message, a call, a result, reasoning, or something opaque. */
export function readItem(item: NativeObject, place: string, dialect: ItemDialect): Reading {
  const { role, slots } = readBody(item, place, dialect);
  return { role, slots, id: filled(item.id), meta: readMeta(item, dialect.bags(item)) };
}

function readBody(item: NativeObject, place: string, dialect: ItemDialect): Pick<Reading, "role" | "slots"> {
  const type = filled(item.type) ?? ("role" in item ? "message" : "");
  if (type === "") throw invalidMessages(`${place}.type`, "is missing", "Give every item a type or a role.");
  if (type === "message") {
    const role = roleAt(item.role, ROLES, place);
    return { role, slots: contentSlots(item.content, `${place}.content`) };
  }
  const reasoning = readReasoning(item, type);
  if (reasoning !== undefined) return { role: "assistant", slots: [slot(item, reasoning)] };
  if (isResult(type)) return { role: "tool", slots: [slot(item, readResult(item, place, dialect))] };
  if (type.endsWith("_call"))
    return { role: "assistant", slots: [{ block: item, parts: readCall(item, type, dialect) }] };
  // Such as the tools that Codex adds in the name of the developer.
  return { role: ROLES[filled(item.role) ?? ""] ?? "assistant", slots: [opaqueSlot(item)] };
}

function isResult(type: string): boolean {
  return type.endsWith("_output") || type.endsWith("_result");
}

/** The content of a message item. */
function contentSlots(content: unknown, place: string): Slot[] {
  if (content === "") return [{ block: content, parts: [] }];
  if (typeof content === "string") return [slot(content, { type: "text", text: content })];
  return arrayAt(content, place).map((block, index) => {
    const at = `${place}[${index}]`;
    const piece = readPiece(objectAt(block, at), at);
    return piece === undefined ? opaqueSlot(block) : slot(block, piece);
  });
}

function readPiece(block: NativeObject, place: string): TextPart | MediaPart | undefined {
  const type = stringAt(block.type, `${place}.type`);
  const text = type === "refusal" ? block.refusal : block.text;
  if (typeof text === "string") return { type: "text", text };
  const kind = /^(?:input_|output_)?(image|file|audio)$|^computer_screenshot$/.exec(type);
  return kind === null ? undefined : readMedia(block, kind[1] ?? "image");
}

const ANY_TYPE: Readonly<Record<string, string>> = {
  image: "image/*",
  file: "application/pdf",
  audio: "audio/*",
};

function readMedia(block: NativeObject, kind: string): MediaPart {
  const source = firstOf(block, [
    "image_url",
    "imageUrl",
    "file_data",
    "file_url",
    "image",
    "file",
    "audio",
    "data",
  ]);
  const reference = firstOf(block, ["file_id", "fileId"]) ?? (isObject(source) ? source.id : undefined);
  const extra = { name: filled(block.filename) ?? reference, detail: block.detail };
  const mediaType = filled(block.mediaType) ?? ANY_TYPE[kind] ?? "application/*";
  if (typeof source === "string") return mediaFromValue(source, mediaType, extra);
  if (!isObject(source)) return mediaReference(mediaType, extra);
  const inner = firstOf(source, ["url", "data"]);
  const innerType = filled(source.mediaType) ?? mediaType;
  return typeof inner === "string"
    ? mediaFromValue(inner, innerType, extra)
    : mediaReference(mediaType, extra);
}

function firstOf(object: NativeObject, keys: readonly string[]): unknown {
  return keys.map((key) => object[key]).find((value) => value !== undefined && value !== null);
}

function readReasoning(item: NativeObject, type: string): ReasoningPart | undefined {
  const isCompaction = type.includes("compaction");
  if (type !== "reasoning" && !isCompaction) return undefined;
  const lists = [item.summary, item.content, item.rawContent].filter(isBlockList);
  const text = lists.flatMap((list) => list.map((block) => jsonText(block.text))).join("\n");
  const data = isObject(item.providerData) ? item.providerData : {};
  const sealed = firstOf({ ...data, ...item }, ["encrypted_content", "encryptedContent"]);
  return { type: "reasoning", text, opaqueLength: jsonText(sealed).length, signed: true };
}

const ARGUMENT_FIELDS = ["arguments", "input", "action", "operation", "queries", "code", "actions"];

/** Calls that answer themselves carry no call id, or are hosted; what they found stands in the same item. */
function readCall(item: NativeObject, type: string, dialect: ItemDialect): Part[] {
  const callId = filled(item[dialect.callId]);
  const served = callId === undefined || type === "hosted_tool_call" || item.execution === "server";
  const call: ToolCallPart = defined({
    type: "toolCall",
    id: callId ?? filled(item.id) ?? "",
    name: filled(item.name) ?? type.slice(0, -"_call".length),
    arguments: firstOf(item, ARGUMENT_FIELDS) ?? "",
    providerExecuted: served || undefined,
  });
  if (!served) return [call];
  if (type === "image_generation_call" && typeof item.result === "string")
    return [call, mediaFromValue(item.result, "image/png")];
  const found = firstOf(item, ["output", "outputs", "results", "error"]);
  if (found === undefined) return [call];
  return [call, { type: "toolResult", id: call.id, name: call.name, content: jsonText(found) }];
}

function readResult(item: NativeObject, place: string, dialect: ItemDialect): ToolResultPart {
  const name = filled(item.name);
  const id = filled(item[dialect.callId]) ?? "";
  return defined({
    type: "toolResult",
    id,
    name,
    content: readOutput(item.output ?? item.tools, `${place}.output`),
  });
}

function readOutput(output: unknown, place: string): ToolResultPart["content"] {
  const blocks = isObject(output) && typeof output.type === "string" ? [output] : output;
  if (!isBlockList(blocks)) return jsonText(output);
  const pieces = blocks.map((block, index) => readPiece(block, `${place}[${index}]`));
  const known = pieces.filter((piece) => piece !== undefined);
  return known.length === pieces.length ? known : jsonText(output);
}

/** A copy of `item` with these parts; calls keep their ids and status. */
export function rewriteItem(item: NativeObject, parts: readonly Part[], dialect: ItemDialect): unknown {
  const type = filled(item.type) ?? "message";
  if (type === "message") return rewriteMessage(item, parts);
  const { slots } = readBody(item, "item", dialect);
  const [block] = rewriteBlocks(slots, parts, {
    patch: (one, part) => patchItem(one, part),
    build: () => undefined,
  });
  return block ?? item;
}

function patchItem(block: unknown, part: Part): unknown {
  if (!isObject(block)) return block;
  if (part.type === "toolCall") {
    const field = ARGUMENT_FIELDS.find((key) => key in block) ?? "arguments";
    const value = typeof block[field] === "string" ? argumentsText(part) : part.arguments;
    return copyWith(block, { [field]: value });
  }
  if (part.type !== "toolResult") return block;
  const field = ["output", "outputs", "results", "tools"].find((key) => key in block) ?? "output";
  return copyWith(block, { [field]: writeOutput(part.content) });
}

function rewriteMessage(item: NativeObject, parts: readonly Part[]): unknown {
  const side = item.role === "assistant" ? "output" : "input";
  const blocks = rewriteBlocks(contentSlots(item.content, "content"), parts, {
    patch: (block, part) =>
      isObject(block) && "text" in block && part.type === "text"
        ? { ...block, text: part.text }
        : buildPiece(part, side),
    build: (part) => buildPiece(part, side),
  });
  const only = blocks.length === 1 ? blocks[0] : undefined;
  const isPlain = typeof item.content === "string" && isObject(only) && typeof only.text === "string";
  if (isPlain) return copyWith(item, { content: only.text });
  const content = blocks.map((block) =>
    typeof block === "string" ? { type: `${side}_text`, text: block } : block,
  );
  return copyWith(item, { content: typeof only === "string" ? only : content });
}

/** Items that a provider takes without an id; hosted calls and requests for approval have to have theirs. */
const MAY_LACK_ID: ReadonlySet<unknown> = new Set(["message", "function_call", "custom_tool_call"]);

/** The same item without the id by which the provider would look for its reasoning, where it can be without one. */
export function withoutId(item: unknown): unknown {
  if (!isObject(item) || item.id === undefined || !MAY_LACK_ID.has(item.type ?? "message")) return item;
  const { id: _, ...rest } = item;
  return rest;
}

/** A text or media block for the input or the output side. */
export function buildPiece(part: Part, side: "input" | "output"): NativeObject {
  if (part.type === "text") return { type: `${side}_text`, text: part.text };
  if (part.type !== "media") return { type: `${side}_text`, text: jsonText(part) };
  const url = mediaUrl(part);
  if (url === "" || side === "output") return { type: `${side}_text`, text: mediaWords(part) };
  if (part.mediaType.startsWith("image/"))
    return { type: "input_image", image_url: url, detail: part.detail ?? "auto" };
  return part.url === undefined
    ? { type: "input_file", filename: part.name ?? "file", file_data: url }
    : { type: "input_file", file_url: url };
}

/** A result's content for an item's `output`. */
function writeOutput(content: ToolResultPart["content"]): unknown {
  return typeof content === "string" ? content : content.map((piece) => buildPiece(piece, "input"));
}

const DIALECT: ItemDialect = { callId: "call_id", bags: metaBags };

/** Items of the Responses API; `protected` is read from the item's `meta` or `metadata`. */
export const openaiResponsesCodec: Codec = createCodec({
  format: "openai-responses",
  read: (item, place) => readItem(item, place, DIALECT),
  rewrite: (native, parts) => rewriteItem(native, parts, DIALECT),
  withoutReasoning: withoutId,
  build: (run) => toSteps(run).flatMap(buildStep),
});

function buildStep(step: Step): unknown[] {
  if (step.type === "results") {
    return step.results.map((result) => {
      return { type: "function_call_output", call_id: result.id, output: writeOutput(result.content) };
    });
  }
  const role = step.type === "assistant" ? "assistant" : step.role;
  const side = role === "assistant" ? "output" : "input";
  const content = step.content.map((part) => buildPiece(part, side));
  const calls = step.type === "assistant" ? step.calls : [];
  const items: unknown[] = calls.map((call) => {
    return {
      type: "function_call",
      call_id: call.id,
      name: call.name,
      arguments: argumentsText(call) || "{}",
    };
  });
  if (content.length > 0 || calls.length === 0) items.unshift({ type: "message", role, content });
  return items;
}
