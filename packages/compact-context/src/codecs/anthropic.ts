import { argumentsValue, jsonText, type MediaPart, type Part, type ToolResultPart } from "../core/message.ts";
import { isObject } from "../errors.ts";
import { createCodec, type NativeCodec, type Reading } from "./create-codec.ts";
import {
  copyWith,
  filled,
  inputObject,
  mediaFromData,
  mediaFromUrl,
  mediaReference,
  mediaWords,
  type NativeObject,
  ROLES,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import {
  blockWriter,
  callPart,
  contentSlots,
  resultContent,
  resultPart,
  rewriteField,
  type Slot,
  textPart,
  thought,
} from "./slots.ts";
import { onlyText, type Step } from "./steps.ts";

/**
 * Anthropic Messages; `protected` is read from the entry's `meta` or `metadata`. System and developer messages of
 * other formats become entries of role `system`, to be lifted into the request's own `system` field.
 */
export const anthropicCodec: NativeCodec = createCodec({
  format: "anthropic",
  read,
  rewrite: (native, parts) =>
    rewriteField(native, "content", slotsOf(native.content, "content"), parts, write),
  build: (steps) => steps.map(buildStep),
});

function read(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, ROLES.anthropic, place);
  // A system message may consist of its `output_config` only.
  const content = role === "system" ? (entry.content ?? []) : entry.content;
  return { role, slots: slotsOf(content, `${place}.content`), id: filled(entry.id), meta: readMeta(entry) };
}

function slotsOf(content: unknown, place: string): Slot[] {
  return contentSlots(content, place, readBlock);
}

function readBlock(block: NativeObject, place: string): Part | undefined {
  const type = stringAt(block.type, `${place}.type`);
  switch (type) {
    case "text":
      return textPart(stringAt(block.text, `${place}.text`));
    case "image":
    case "document":
      return readSource(block, type);
    case "container_upload":
      return mediaReference("application/*", { name: block.file_id });
    case "file":
      return typeof block.content === "string" ? textPart(block.content) : undefined;
    case "thinking":
      return thought(jsonText(block.thinking), block.signature);
    case "redacted_thinking":
      return sealed("", block.data);
    case "compaction":
      return sealed(jsonText(block.content), block.encrypted_content);
    default:
      return readTool(block, type, place);
  }
}

function readSource(block: NativeObject, type: "image" | "document"): Part | undefined {
  const source = block.source;
  if (!isObject(source)) return undefined;
  const extra = { name: block.title };
  const mediaType = filled(source.media_type) ?? (type === "image" ? "image/*" : "application/pdf");
  const data = source.data;
  if (source.type === "text" && typeof data === "string") return textPart(data);
  if (source.type === "base64" && typeof data === "string") return mediaFromData(data, mediaType, extra);
  if (source.type === "url") return mediaFromUrl(jsonText(source.url), mediaType, extra);
  return source.type === "file" ? mediaReference(mediaType, { name: source.file_id }) : undefined;
}

function sealed(text: string, seal: unknown): Part {
  return { type: "reasoning", text, opaqueLength: jsonText(seal).length, signed: true };
}

function readTool(block: NativeObject, type: string, place: string): Part | undefined {
  if (type.endsWith("tool_use")) {
    const id = stringAt(block.id, `${place}.id`);
    return callPart(id, stringAt(block.name, `${place}.name`), block.input, type !== "tool_use");
  }
  if (!type.endsWith("tool_result")) return undefined;
  const id = stringAt(block.tool_use_id, `${place}.tool_use_id`);
  const content = resultContent(block.content, (blocks) => slotsOf(blocks, `${place}.content`));
  return resultPart(id, content, block.is_error === true);
}

const write = blockWriter({
  media: buildMedia,
  reasoning: ({ text }) => ({ type: "thinking", thinking: text }),
  toolCall: (part, block = { type: "tool_use", id: acceptedId(part.id) }) => {
    return { ...block, name: part.name, input: inputObject(argumentsValue(part)) };
  },
  toolResult: writeResult,
});

/** The content of a server tool's result is only accepted unchanged. */
function writeResult(part: ToolResultPart, block?: NativeObject): unknown {
  const type = block?.type ?? "tool_result";
  if (block !== undefined && type !== "tool_result" && type !== "mcp_tool_result") return block;
  const content = typeof part.content === "string" ? part.content : part.content.map((piece) => write(piece));
  return copyWith(block ?? { type, tool_use_id: acceptedId(part.id) }, {
    content,
    is_error: part.isError ?? block?.is_error,
  });
}

/** The API refuses ids with other characters. */
function acceptedId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, "_");
}

function buildMedia(part: MediaPart): unknown {
  const type = part.mediaType.startsWith("image/") ? "image" : "document";
  const isReadable = type === "image" || part.mediaType === "application/pdf";
  if (!isReadable || (part.data === undefined && part.url === undefined)) return textPart(mediaWords(part));
  const source =
    part.data === undefined
      ? { type: "url", url: part.url }
      : { type: "base64", media_type: part.mediaType, data: part.data };
  return { type, source };
}

function buildStep(step: Step): unknown {
  if (step.role === "tool") return { role: "user", content: step.results.map((result) => write(result)) };
  const role = step.role === "developer" ? "system" : step.role;
  const said = step.content.filter((part) => part.type !== "text" || part.text.trim() !== "");
  const content = onlyText(step) ?? [...said, ...step.calls].map((part) => write(part));
  return { role, content };
}
