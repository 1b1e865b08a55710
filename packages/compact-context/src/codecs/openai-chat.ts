import {
  argumentsText,
  jsonText,
  type MediaPart,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import { createCodec, type NativeCodec, piecesOf, type Reading, type Step, spoken } from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  isBlockList,
  mediaFromData,
  mediaFromUrl,
  mediaFromValue,
  mediaUrl,
  mediaWords,
  type NativeObject,
  objectAt,
  objectOf,
  ROLES,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import {
  blockWriter,
  callPart,
  contentSlots,
  partsOf,
  resultContent,
  resultPart,
  rewriteBlocks,
  type Slot,
  slot,
  textPart,
} from "./slots.ts";

/** Chat Completions messages and compatible formats; `protected` is read from the entry's `meta` or `metadata`. */
export const openaiChatCodec: NativeCodec = createCodec({
  format: "openai-chat",
  read,
  rewrite,
  build: (steps) => steps.flatMap(buildStep),
});

const REASONING_FIELDS = ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];

/** Shared by all entries without such a field. */
const NONE: readonly Slot[] = [];

function read(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, ROLES["openai-chat"], place);
  const slots =
    role === "tool"
      ? [resultSlot(entry, place)]
      : [
          ...reasoningSlots(entry, place),
          ...spokenSlots(entry.content, `${place}.content`),
          ...fieldSlots(entry, place),
          ...callSlots(entry, place),
        ];
  return { role, slots, meta: readMeta(entry) };
}

function spokenSlots(content: unknown, place: string): readonly Slot[] {
  return content === null || content === undefined ? NONE : contentSlots(content, place, readBlock, true);
}

function readBlock(block: NativeObject, place: string): Part | undefined {
  const type = stringAt(block.type, `${place}.type`);
  if (type === "text") return textPart(stringAt(block.text, `${place}.text`));
  return type === "refusal" ? textPart(jsonText(block.refusal)) : readMedia(block, type);
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
  if (type !== "file") return undefined;
  const { file_data: data, filename, file_id: id } = value;
  const mediaType = typeof data === "string" ? "application/pdf" : "application/*";
  return mediaFromValue(data, mediaType, { name: filename ?? id });
}

function reasoningSlots(entry: NativeObject, place: string): readonly Slot[] {
  if (REASONING_FIELDS.every((field) => entry[field] === undefined)) return NONE;
  const text = filled(entry.reasoning_content) ?? filled(entry.reasoning) ?? "";
  const hidden = [entry.reasoning_details, entry.thinking_blocks].filter(Array.isArray);
  if (text === "" && hidden.every((list) => list.length === 0)) return NONE;
  const seals = hidden
    .flat()
    .map(objectOf)
    .flatMap(({ data, signature }) => [data, signature]);
  const texts = seals.filter((seal) => typeof seal === "string");
  if (texts.length === 0) return [slot(undefined, { type: "reasoning", text }, place)];
  const opaqueLength = texts.reduce((sum, seal) => sum + seal.length, 0);
  return [slot(undefined, { type: "reasoning", text, opaqueLength, signed: true }, place)];
}

/** Texts and media in fields of their own; the block is the field's name. */
function fieldSlots({ refusal, audio }: NativeObject, place: string): readonly Slot[] {
  if (refusal === undefined && audio === undefined) return NONE;
  const slots: Slot[] = [];
  if (filled(refusal) !== undefined) slots.push(slot("refusal", textPart(jsonText(refusal)), place));
  if (isObject(audio)) {
    const words = filled(audio.transcript);
    const part =
      words === undefined ? mediaFromValue(undefined, "audio/*", { name: audio.id }) : textPart(words);
    slots.push(slot("audio", part, place));
  }
  return slots;
}

function callSlots(entry: NativeObject, place: string): readonly Slot[] {
  const { tool_calls: calls, function_call: old } = entry;
  if (calls === undefined && old === undefined) return NONE;
  const slots = arrayAt(calls ?? [], `${place}.tool_calls`).map((value, index) => {
    const path = `${place}.tool_calls[${index}]`;
    const call = objectAt(value, path);
    return slot(call, readCall(call, path), path);
  });
  // Beside other calls, some servers send an empty one.
  if (!isObject(old) || (slots.length > 0 && filled(old.name) === undefined)) return slots;
  const path = `${place}.function_call`;
  const call = readCall(old, path);
  // Some servers send the first call in both fields.
  const isCopy = partsOf(slots).some((part) => part.type === "toolCall" && isSameCall(part, call));
  return isCopy ? slots : [...slots, slot(old, call, path)];
}

function isSameCall(one: ToolCallPart, other: ToolCallPart): boolean {
  return one.name === other.name && argumentsText(one) === argumentsText(other);
}

/** Also reads custom tools, and the flat shapes that benchmarks and frameworks store. */
function readCall(call: NativeObject, place: string): ToolCallPart {
  const nested = [call.function, call.custom].find(isObject) ?? call;
  const name = stringAt(nested.name ?? call.function ?? call.name, `${place}.function.name`);
  return callPart(call.id, name, nested.arguments ?? nested.input ?? call.args ?? "");
}

function resultSlot(entry: NativeObject, place: string): Slot {
  const { error } = entry;
  const failed =
    (error !== undefined && error !== null && error !== false && error !== "") || entry.is_error === true;
  const content = resultContent(entry.content, (blocks) => spokenSlots(blocks, `${place}.content`));
  const name = filled(entry.name) ?? entry.function;
  return slot(entry, resultPart(filled(entry.tool_call_id) ?? entry.id, content, failed, name), place);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined)
    return copyWith(native, { content: rewriteResult(native.content, result.content) });
  const changes: Record<string, unknown> = {};
  if (!parts.some((part) => part.type === "reasoning"))
    for (const field of REASONING_FIELDS) changes[field] = undefined;
  const said = parts.filter((part) => part.type === "text" || part.type === "media");
  const fields = fieldSlots(native, "message");
  const slots = [...spokenSlots(native.content, "content"), ...fields];
  const blocks = rewriteBlocks(slots, said, write);
  const names = fields.map((one) => one.block);
  for (const name of names) if (!blocks.includes(name)) changes[String(name)] = undefined;
  const content = blocks.filter((block) => !names.includes(block));
  if (content.length > 0 || slots.length > fields.length) changes.content = joined(content);
  return copyWith(native, { ...changes, ...rewriteCalls(native, parts) });
}

/** Content that a server accepts in results, images included, is written back in the same form. */
function rewriteResult(native: unknown, content: ToolResultPart["content"]): unknown {
  if (typeof content === "string" || !isBlockList(native)) return writeResult(content);
  return rewriteBlocks(spokenSlots(native, "content"), content, writePiece);
}

function joined(blocks: readonly unknown[]): unknown {
  if (blocks.length === 0) return null;
  if (blocks.length === 1 && typeof blocks[0] === "string") return blocks[0];
  return blocks.map((block) => (typeof block === "string" ? textPart(block) : block));
}

function rewriteCalls(native: NativeObject, parts: readonly Part[]): NativeObject {
  const calls = parts.filter((part) => part.type === "toolCall");
  const slots = callSlots(native, "message");
  if (slots.length === 0 && calls.length === 0) return {};
  const blocks = rewriteBlocks(slots, calls, write);
  const listedOnly = { tool_calls: blocks.length > 0 ? blocks : undefined };
  if (!isObject(native.function_call)) return listedOnly;
  // A copy of a call in the legacy field would be another call once the call itself is changed.
  if (slots.at(-1)?.block !== native.function_call) return { ...listedOnly, function_call: undefined };
  // The legacy call is the last one, and the only one without an id.
  const isKept = slots.length === 1 || objectOf(blocks.at(-1)).id === undefined;
  const listed = isKept ? blocks.slice(0, -1) : blocks;
  return {
    function_call: isKept ? blocks.at(-1) : undefined,
    tool_calls: listed.length > 0 ? listed : undefined,
  };
}

/** A new text is a string until it stands beside other blocks. */
const write = blockWriter({
  text: ({ text }, block) => (block === undefined ? text : textPart(text)),
  media: buildMedia,
  toolCall: writeCall,
});

/** Results hold texts only. */
const writePiece = blockWriter({ media: (part) => textPart(mediaWords(part)) });

function writeCall(part: ToolCallPart, block?: NativeObject): unknown {
  const text = argumentsText(part);
  if (block === undefined)
    return { id: part.id, type: "function", function: { name: part.name, arguments: text || "{}" } };
  if (isObject(block.function))
    return { ...block, function: { ...block.function, name: part.name, arguments: text } };
  if (isObject(block.custom)) return { ...block, custom: { ...block.custom, name: part.name, input: text } };
  return { ...block, ["args" in block ? "args" : "arguments"]: part.arguments };
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
  if (part.data === undefined) return textPart(mediaWords(part));
  return { type: "file", file: { file_data: url, filename: part.name ?? "file" } };
}

function buildStep({ role, content, calls, results }: Step): unknown[] {
  if (role === "tool") return buildResults(results);
  if (role !== "assistant") return [{ role, content: joined(content.map((part) => write(part))) ?? "" }];
  const said = joined(content.map(spoken));
  if (calls.length === 0) return [{ role, content: said ?? "" }];
  return [{ role, content: said, tool_calls: calls.map((call) => write(call)) }];
}

/** Tool messages accept text only: media of results follow in one user message. */
function buildResults(results: readonly ToolResultPart[]): unknown[] {
  const messages: unknown[] = results.map((result) => {
    return { role: "tool", tool_call_id: result.id, content: writeResult(result.content) };
  });
  const pieces = results.flatMap((result) => piecesOf(result.content));
  const media = pieces.filter((piece) => piece.type === "media");
  if (media.length > 0) messages.push({ role: "user", content: joined(media.map(buildMedia)) });
  return messages;
}

function writeResult(content: ToolResultPart["content"]): unknown {
  return typeof content === "string" ? content : content.map((piece) => writePiece(piece));
}
