import {
  argumentsValue,
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
  inputObject,
  isBlockList,
  mediaFromData,
  mediaFromUrl,
  mediaReference,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

/**
 * Anthropic Messages; `protected` is read from the entry's `meta` or `metadata`. System and developer messages of
 * other formats become entries of role `system`, to be lifted into the request's own `system` field.
 */
export const anthropicCodec: Codec = createCodec({
  format: "anthropic",
  read,
  rewrite,
  build: (run) => toSteps(run).map(buildStep),
});

const ROLES: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant", system: "system" };

function read(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, ROLES, place);
  const slots = contentSlots(entry.content, `${place}.content`);
  const onlyResults = slots.length > 0 && slots.every((one) => one.parts[0]?.type === "toolResult");
  return {
    role: role === "user" && onlyResults ? "tool" : role,
    slots,
    id: filled(entry.id),
    meta: readMeta(entry, metaBags(entry)),
  };
}

function contentSlots(content: unknown, place: string): Slot[] {
  if (content === "") return [{ block: content, parts: [] }];
  if (typeof content === "string") return [slot(content, { type: "text", text: content })];
  return arrayAt(content, place).map((block, index) => blockSlot(block, `${place}[${index}]`));
}

function blockSlot(value: unknown, place: string): Slot {
  const block = objectAt(value, place);
  const type = stringAt(block.type, `${place}.type`);
  const part = readSpoken(block, type, place) ?? readReasoning(block, type) ?? readTool(block, type, place);
  return part === undefined ? opaqueSlot(block) : slot(block, part);
}

function readSpoken(block: NativeObject, type: string, place: string): TextPart | MediaPart | undefined {
  if (type === "text") return { type: "text", text: stringAt(block.text, `${place}.text`) };
  if (type === "image" || type === "document") return readSource(block, type);
  if (type === "container_upload") return mediaReference("application/*", { name: block.file_id });
  if (type === "file" && typeof block.content === "string") return { type: "text", text: block.content };
  return undefined;
}

function readSource(block: NativeObject, type: string): TextPart | MediaPart | undefined {
  const source = block.source;
  if (!isObject(source)) return undefined;
  const extra = { name: block.title };
  const fallback = type === "image" ? "image/*" : "application/pdf";
  const mediaType = filled(source.media_type) ?? fallback;
  const data = source.data;
  if (source.type === "text" && typeof data === "string") return { type: "text", text: data };
  if (source.type === "base64" && typeof data === "string") return mediaFromData(data, mediaType, extra);
  if (source.type === "url") return mediaFromUrl(jsonText(source.url), mediaType, extra);
  if (source.type === "file") return mediaReference(mediaType, { name: source.file_id });
  return undefined;
}

function readReasoning(block: NativeObject, type: string): ReasoningPart | undefined {
  if (type === "thinking") {
    const signature = filled(block.signature);
    const seal = signature === undefined ? {} : { opaqueLength: signature.length, signed: true };
    return { type: "reasoning", text: jsonText(block.thinking), ...seal };
  }
  if (type === "redacted_thinking")
    return { type: "reasoning", text: "", opaqueLength: jsonText(block.data).length, signed: true };
  if (type !== "compaction") return undefined;
  const sealed = jsonText(block.encrypted_content).length;
  return { type: "reasoning", text: jsonText(block.content), opaqueLength: sealed, signed: true };
}

function readTool(
  block: NativeObject,
  type: string,
  place: string,
): ToolCallPart | ToolResultPart | undefined {
  if (type.endsWith("tool_use")) {
    return defined({
      type: "toolCall",
      id: stringAt(block.id, `${place}.id`),
      name: stringAt(block.name, `${place}.name`),
      arguments: block.input,
      providerExecuted: type === "tool_use" ? undefined : true,
    });
  }
  if (!type.endsWith("tool_result")) return undefined;
  return defined({
    type: "toolResult",
    id: stringAt(block.tool_use_id, `${place}.tool_use_id`),
    content: resultContent(block.content, `${place}.content`),
    isError: block.is_error === true || undefined,
  });
}

function resultContent(content: unknown, place: string): ToolResultPart["content"] {
  if (!isBlockList(content)) return jsonText(content);
  return contentSlots(content, place).flatMap((one) =>
    one.parts.filter((part): part is TextPart | MediaPart => part.type === "text" || part.type === "media"),
  );
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const blocks = rewriteBlocks(contentSlots(native.content, "content"), parts, { patch, build });
  const wasText = typeof native.content === "string";
  const only = blocks.length === 1 ? blocks[0] : undefined;
  if (wasText && typeof only === "string") return copyWith(native, { content: only });
  if (wasText && isObject(only) && only.type === "text") return copyWith(native, { content: only.text });
  return copyWith(native, {
    content: blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block)),
  });
}

function patch(block: unknown, part: Part): unknown {
  if (!isObject(block)) return build(part);
  if (part.type === "text" && block.type === "text") return { ...block, text: part.text };
  if (part.type === "toolCall")
    return { ...block, name: part.name, input: inputObject(argumentsValue(part)) };
  return part.type === "toolResult" ? patchResult(block, part) : build(part);
}

/** The content of a server tool's result is bound to its call and only accepted as it was given. */
const FREE_RESULTS = new Set(["tool_result", "mcp_tool_result"]);

function patchResult(block: NativeObject, part: ToolResultPart): unknown {
  if (!FREE_RESULTS.has(String(block.type))) return block;
  const content = writeResult(part.content);
  return copyWith(block, { content, is_error: part.isError ?? block.is_error });
}

function build(part: Part): unknown {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media":
      return buildMedia(part);
    case "reasoning":
      return { type: "thinking", thinking: part.text };
    case "toolCall":
      return {
        type: "tool_use",
        id: acceptedId(part.id),
        name: part.name,
        input: inputObject(argumentsValue(part)),
      };
    case "toolResult":
      return defined({
        type: "tool_result",
        tool_use_id: acceptedId(part.id),
        content: writeResult(part.content),
        is_error: part.isError === true || undefined,
      });
  }
}

/** The API refuses ids with other characters than these. */
function acceptedId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, "_");
}

function buildMedia(part: MediaPart): unknown {
  const type = part.mediaType.startsWith("image/") ? "image" : "document";
  const readable = type === "image" || part.mediaType === "application/pdf";
  const source =
    part.data === undefined
      ? { type: "url", url: part.url }
      : { type: "base64", media_type: part.mediaType, data: part.data };
  if (!readable || (part.data === undefined && part.url === undefined))
    return { type: "text", text: mediaWords(part) };
  return { type, source };
}

function writeResult(content: ToolResultPart["content"]): unknown {
  return typeof content === "string" ? content : content.map(build);
}

function buildStep(step: Step): unknown {
  if (step.type === "results") return { role: "user", content: step.results.map(build) };
  const role = step.type === "assistant" ? "assistant" : step.role === "user" ? "user" : "system";
  const only = step.content.length === 1 ? step.content[0] : undefined;
  const calls = step.type === "assistant" ? step.calls : [];
  if (only?.type === "text" && calls.length === 0) return { role, content: only.text };
  const said = step.content.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return { role, content: [...said, ...calls].map(build) };
}
