import {
  argumentsText,
  jsonText,
  type MediaPart,
  type Part,
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
  isBlockList,
  mediaFromData,
  mediaFromUrl,
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
import { piecesOf, type Step, toSteps } from "./steps.ts";

/** Chat Completions messages and their clones; `protected` is read from the entry's `meta` or `metadata`. */
export const openaiChatCodec: Codec = createCodec({
  format: "openai-chat",
  read,
  rewrite,
  build: (run) => toSteps(run).flatMap(buildStep),
});

const ROLES: Readonly<Record<string, Role>> = {
  system: "system",
  developer: "developer",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

const REASONING_FIELDS = ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];

/** Most entries lack most fields. */
const NONE: readonly Slot[] = [];

function read(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, ROLES, place);
  const meta = readMeta(entry, metaBags(entry));
  if (role === "tool") return { role, slots: [resultSlot(entry, place)], meta };
  const slots: Slot[] = [];
  slots.push(...reasoningSlots(entry));
  slots.push(...contentSlots(entry.content, `${place}.content`));
  slots.push(...fieldSlots(entry));
  slots.push(...callSlots(entry, place));
  return { role, slots, meta };
}

function contentSlots(content: unknown, place: string): readonly Slot[] {
  if (content === null || content === undefined) return NONE;
  if (content === "") return [{ block: content, parts: [] }];
  if (typeof content === "string") return [slot(content, { type: "text", text: content })];
  return arrayAt(content, place).map((block, index) => contentSlot(block, `${place}[${index}]`));
}

function contentSlot(value: unknown, place: string): Slot {
  if (typeof value === "string") return slot(value, { type: "text", text: value });
  const block = objectAt(value, place);
  const type = stringAt(block.type, `${place}.type`);
  if (type === "text") return slot(block, { type: "text", text: stringAt(block.text, `${place}.text`) });
  if (type === "refusal") return slot(block, { type: "text", text: jsonText(block.refusal) });
  const media = readMedia(block, type);
  return media === undefined ? opaqueSlot(block) : slot(block, media);
}

function readMedia(block: NativeObject, type: string): MediaPart | undefined {
  const value = block[type];
  if (type === "image_url" || type === "video_url") {
    const { url, detail } = isObject(value) ? value : { url: value, detail: undefined };
    return mediaFromUrl(jsonText(url), type === "image_url" ? "image/*" : "video/*", { detail });
  }
  if (type === "image" && typeof value === "string") return mediaFromValue(value, "image/*", block);
  if (!isObject(value)) return undefined;
  if (type === "input_audio")
    return mediaFromData(jsonText(value.data), `audio/${jsonText(value.format) || "*"}`);
  return type === "file" ? readFile(value) : undefined;
}

function readFile(file: NativeObject): MediaPart {
  const { file_data: data, filename, file_id: id } = file;
  const name = { name: filename ?? id };
  if (typeof data !== "string") return mediaReference("application/*", name);
  return data.startsWith("data:")
    ? mediaFromUrl(data, "application/pdf", name)
    : mediaFromData(data, "application/pdf", name);
}

function reasoningSlots(entry: NativeObject): readonly Slot[] {
  if (REASONING_FIELDS.every((field) => entry[field] === undefined)) return NONE;
  const text = filled(entry.reasoning_content) ?? filled(entry.reasoning) ?? "";
  const hidden = [entry.reasoning_details, entry.thinking_blocks].filter(Array.isArray);
  if (text === "" && hidden.every((list) => list.length === 0)) return [];
  const sealed = hidden.flat().flatMap((one: unknown) => (isObject(one) ? sealOf(one) : []));
  const opaqueLength = sealed.reduce((sum, seal) => sum + seal.length, 0);
  return [
    slot(
      undefined,
      defined({
        type: "reasoning",
        text,
        opaqueLength: sealed.length > 0 ? opaqueLength : undefined,
        signed: sealed.length > 0 || undefined,
      }),
    ),
  ];
}

function sealOf(block: NativeObject): string[] {
  return [block.data, block.signature].filter((seal) => typeof seal === "string");
}

/** Texts and media that stand in fields of their own; the block is the field's name. */
function fieldSlots(entry: NativeObject): readonly Slot[] {
  if (entry.refusal === undefined && entry.audio === undefined) return NONE;
  const slots: Slot[] = [];
  const refusal = filled(entry.refusal);
  if (refusal !== undefined) slots.push(slot("refusal", { type: "text", text: refusal }));
  const audio = entry.audio;
  if (isObject(audio)) {
    const words = filled(audio.transcript);
    const part: Part =
      words === undefined ? mediaReference("audio/*", { name: audio.id }) : { type: "text", text: words };
    slots.push(slot("audio", part));
  }
  return slots;
}

function callSlots(entry: NativeObject, place: string): readonly Slot[] {
  if (entry.tool_calls === undefined && entry.function_call === undefined) return NONE;
  const list = entry.tool_calls ?? [];
  const slots = arrayAt(list, `${place}.tool_calls`).map((value, index) => {
    const at = `${place}.tool_calls[${index}]`;
    const call = objectAt(value, at);
    return slot(call, readCall(call, at));
  });
  if (isObject(entry.function_call) && slots.length === 0) {
    slots.push(slot(entry.function_call, readCall(entry.function_call, `${place}.function_call`)));
  }
  return slots;
}

/** Besides the wire's own shape: custom tools, and the flat shapes that benchmarks and frameworks store. */
function readCall(call: NativeObject, place: string): ToolCallPart {
  const nested = [call.function, call.custom].find(isObject) ?? call;
  const named = nested.name ?? call.function ?? call.name;
  return {
    type: "toolCall",
    id: filled(call.id) ?? "",
    name: stringAt(named, `${place}.function.name`),
    arguments: nested.arguments ?? nested.input ?? call.args ?? "",
  };
}

function resultSlot(entry: NativeObject, place: string): Slot {
  const id = filled(entry.tool_call_id) ?? filled(entry.id) ?? "";
  const name = filled(entry.name) ?? filled(entry.function);
  const isError = isSaid(entry.error) || entry.is_error === true;
  return slot(
    entry,
    defined({
      type: "toolResult",
      id,
      name,
      content: resultContent(entry.content, `${place}.content`),
      isError: isError || undefined,
    }),
  );
}

function isSaid(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false && error !== "";
}

function resultContent(content: unknown, place: string): string | (TextPart | MediaPart)[] {
  if (!isBlockList(content)) return jsonText(content);
  return contentSlots(content, place).flatMap((one) =>
    one.parts.filter((part): part is TextPart | MediaPart => part.type === "text" || part.type === "media"),
  );
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined)
    return copyWith(native, { content: rewriteResult(native.content, result.content) });
  const changes: Record<string, unknown> = {};
  if (!parts.some((part) => part.type === "reasoning"))
    for (const field of REASONING_FIELDS) changes[field] = undefined;
  const spoken = parts.filter((part) => part.type === "text" || part.type === "media");
  const fields = fieldSlots(native);
  const slots = [...contentSlots(native.content, "content"), ...fields];
  const blocks = rewriteBlocks(slots, spoken, { patch: patchContent, build: buildContent });
  const names = fields.map((one) => one.block);
  for (const name of names) if (!blocks.includes(name)) changes[String(name)] = undefined;
  const content = blocks.filter((block) => !names.includes(block));
  if (content.length > 0 || slots.length > fields.length) changes.content = joined(content);
  return copyWith(native, { ...changes, ...rewriteCalls(native, parts) });
}

/** What a server takes in its results, pictures among them, it takes back. */
function rewriteResult(native: unknown, content: ToolResultPart["content"]): unknown {
  if (typeof content === "string" || !isBlockList(native)) return writeResult(content);
  return rewriteBlocks(contentSlots(native, "content"), content, { patch: patchContent, build: buildPiece });
}

function patchContent(block: unknown, part: Part): unknown {
  if (part.type !== "text" || !isObject(block)) return buildContent(part);
  return block.type === "text" ? { ...block, text: part.text } : { type: "text", text: part.text };
}

function joined(blocks: readonly unknown[]): unknown {
  if (blocks.length === 0) return null;
  if (blocks.length === 1 && typeof blocks[0] === "string") return blocks[0];
  return blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
}

function rewriteCalls(native: NativeObject, parts: readonly Part[]): NativeObject {
  const calls = parts.filter((part) => part.type === "toolCall");
  const slots = callSlots(native, "message");
  if (slots.length === 0 && calls.length === 0) return {};
  const blocks = rewriteBlocks(slots, calls, { patch: patchCall, build: buildCall });
  if (isObject(native.function_call) && !Array.isArray(native.tool_calls))
    return { function_call: blocks[0] };
  return { tool_calls: blocks.length > 0 ? blocks : undefined };
}

function patchCall(block: unknown, part: Part): unknown {
  if (!isObject(block) || part.type !== "toolCall") return block;
  if (isObject(block.function))
    return { ...block, function: { ...block.function, name: part.name, arguments: argumentsText(part) } };
  if (isObject(block.custom))
    return { ...block, custom: { ...block.custom, name: part.name, input: argumentsText(part) } };
  return { ...block, ["args" in block ? "args" : "arguments"]: part.arguments };
}

function buildCall(part: Part): unknown {
  if (part.type !== "toolCall") return part;
  const args = argumentsText(part) || "{}";
  return { id: part.id, type: "function", function: { name: part.name, arguments: args } };
}

function buildContent(part: Part): unknown {
  if (part.type === "text") return part.text;
  return part.type === "media" ? buildMedia(part) : part;
}

function buildMedia(part: MediaPart): unknown {
  const url = mediaUrl(part);
  const [kind, format] = part.mediaType.split("/");
  if (kind === "image" && url !== "") {
    const detail = part.detail === undefined ? {} : { detail: part.detail };
    return { type: "image_url", image_url: { url, ...detail } };
  }
  if (kind === "audio" && part.data !== undefined)
    return { type: "input_audio", input_audio: { data: part.data, format } };
  if (part.data === undefined) return { type: "text", text: mediaWords(part) };
  return { type: "file", file: { file_data: url, filename: part.name ?? "file" } };
}

function buildStep(step: Step): unknown[] {
  if (step.type === "results") return buildResults(step);
  const blocks = step.content.map(buildContent);
  if (step.type === "input") return [{ role: step.role, content: joined(blocks) ?? "" }];
  const words = step.content.map((part) => (part.type === "text" ? part.text : mediaWords(part)));
  if (step.calls.length === 0) return [{ role: "assistant", content: joined(words) ?? "" }];
  return [{ role: "assistant", content: joined(words), tool_calls: step.calls.map(buildCall) }];
}

/** Tool messages take text only: what results show is handed on in one user message behind them. */
function buildResults(step: Step & { type: "results" }): unknown[] {
  const messages: unknown[] = step.results.map((result) => {
    return { role: "tool", tool_call_id: result.id, content: writeResult(result.content) };
  });
  const media = step.results.flatMap((result) =>
    piecesOf(result.content).filter((piece) => piece.type === "media"),
  );
  if (media.length > 0) messages.push({ role: "user", content: joined(media.map(buildMedia)) });
  return messages;
}

function writeResult(content: ToolResultPart["content"]): unknown {
  return typeof content === "string" ? content : content.map(buildPiece);
}

function buildPiece(piece: Part): unknown {
  if (piece.type === "media") return { type: "text", text: mediaWords(piece) };
  return piece.type === "text" ? { type: "text", text: piece.text } : piece;
}
