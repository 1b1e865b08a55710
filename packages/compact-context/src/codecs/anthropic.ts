import { argumentsValue, jsonText, type MediaPart, type Part, type ToolResultPart } from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
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
  callPart,
  contentSlots,
  holdsOnlyResults,
  joinedContent,
  resultContent,
  resultPart,
  rewriteBlocks,
  type Slot,
  textPart,
  thought,
} from "./slots.ts";
import { type Step, toSteps } from "./steps.ts";

/**
 * Anthropic Messages; `protected` is read from the entry's `meta` or `metadata`. System and developer messages of
 * other formats become entries of role `system`, to be lifted into the request's own `system` field.
 */
export const anthropicCodec: NativeCodec = createCodec({
  format: "anthropic",
  read,
  rewrite: (native, parts) => {
    const blocks = rewriteBlocks(slotsOf(native.content, "content"), parts, { patch, build });
    return copyWith(native, { content: joinedContent(native.content, blocks) });
  },
  build: (run) => toSteps(run).map(buildStep),
});

function read(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, ROLES.anthropic, place);
  // A system message may consist of its `output_config` only.
  const content = role === "system" ? (entry.content ?? []) : entry.content;
  const slots = slotsOf(content, `${place}.content`);
  return {
    role: role === "user" && holdsOnlyResults(slots) ? "tool" : role,
    slots,
    id: filled(entry.id),
    meta: readMeta(entry),
  };
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

/** Results whose content may change; the content of a server tool's result is only accepted unchanged. */
const FREE_RESULTS = new Set<unknown>(["tool_result", "mcp_tool_result"]);

function patch(block: NativeObject, part: Part): unknown {
  if (part.type === "toolCall")
    return { ...block, name: part.name, input: inputObject(argumentsValue(part)) };
  if (part.type !== "toolResult") return undefined;
  if (!FREE_RESULTS.has(block.type)) return block;
  return copyWith(block, { content: writeResult(part.content), is_error: part.isError ?? block.is_error });
}

function build(part: Part): unknown {
  switch (part.type) {
    case "text":
      return textPart(part.text);
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
