import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  resultText,
  type ToolResultPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import {
  type BuildContext,
  createCodec,
  type NativeCodec,
  onlyText,
  piecesOf,
  type Reading,
  type Step,
} from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  inputObject,
  mediaFromData,
  mediaFromUrl,
  mediaFromValue,
  mediaUrl,
  mediaWords,
  type NativeObject,
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
  resultContent,
  resultPart,
  rewriteField,
  type Slot,
  textPart,
  thought,
} from "./slots.ts";

// The two formats whose results are blocks of a user's entry.

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
      return mediaFromValue(undefined, "application/*", { name: block.file_id });
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
  return source.type === "file" ? mediaFromValue(undefined, mediaType, { name: source.file_id }) : undefined;
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
  toolCall: (part, block) => {
    const { name } = part;
    const input = inputObject(argumentsValue(part));
    return block === undefined
      ? { type: "tool_use", id: acceptedId(part.id), name, input }
      : { ...block, name, input };
  },
  toolResult: writeResult,
});

/** The content of a server tool's result is only accepted unchanged. */
function writeResult(part: ToolResultPart, block?: NativeObject): unknown {
  const type = block?.type ?? "tool_result";
  if (block !== undefined && type !== "tool_result" && type !== "mcp_tool_result") return block;
  const content = typeof part.content === "string" ? part.content : part.content.map((piece) => write(piece));
  if (block !== undefined) return copyWith(block, { content, is_error: part.isError ?? block.is_error });
  return defined({ type, tool_use_id: acceptedId(part.id), content, is_error: part.isError || undefined });
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

// ---- Gemini

/**
 * Gemini contents; `protected` is read from the content's `meta` or `metadata`. System and developer messages of other
 * formats become contents of role `system`, to be lifted into the request's `systemInstruction`.
 */
export const geminiCodec: NativeCodec = createCodec({
  format: "gemini",
  read: (entry, place) => ({
    role: entry.role === undefined ? "user" : roleAt(entry.role, ROLES.gemini, place),
    slots: partSlots(entry, place),
    id: filled(entry.id),
    meta: readMeta(entry),
  }),
  rewrite: (native, parts) => rewriteField(native, "parts", partSlots(native, "content"), parts, writeGemini),
  build: (steps, context) => steps.map((step) => buildContent(step, context)),
});

function partSlots(entry: NativeObject, place: string): Slot[] {
  const parts = arrayAt(entry.parts ?? [], `${place}.parts`);
  return contentSlots(
    parts,
    `${place}.parts`,
    (block) => readSpoken(block) ?? readCall(block) ?? readResult(block),
  );
}

/** A field's name in the spelling of the REST interface; the SDKs spell it in camelCase. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function field(block: NativeObject, name: string): NativeObject | undefined {
  const value = block[name] ?? block[snake(name)];
  return isObject(value) ? value : undefined;
}

function readSpoken(block: NativeObject): Part | undefined {
  if (typeof block.text !== "string") return readGeminiMedia(block);
  if (block.thought !== true) return textPart(block.text);
  return thought(block.text, filled(block.thoughtSignature) ?? block.thought_signature);
}

function readGeminiMedia(block: NativeObject): MediaPart | undefined {
  const inline = field(block, "inlineData");
  const source = inline ?? field(block, "fileData");
  if (source === undefined) return undefined;
  const mediaType = filled(source.mimeType) ?? filled(source.mime_type) ?? "application/*";
  const extra = { name: source.displayName };
  if (inline !== undefined) return mediaFromData(jsonText(inline.data), mediaType, extra);
  return mediaFromUrl(jsonText(source.fileUri ?? source.file_uri), mediaType, extra);
}

function readCall(block: NativeObject): Part | undefined {
  const call = field(block, "functionCall");
  if (call !== undefined) return callPart(call.id, jsonText(call.name), call.args ?? {});
  const served = field(block, "toolCall");
  if (served !== undefined) return callPart(served.id, jsonText(served.toolType), served.args ?? {}, true);
  const code = field(block, "executableCode");
  return code && callPart(code.id, CODE_TOOL, code, true);
}

const CODE_TOOL = "code_execution";

function readResult(block: NativeObject): Part | undefined {
  const response = field(block, "functionResponse");
  if (response !== undefined) {
    const key = responseKey(response.response);
    const content = jsonText(key === undefined ? response.response : objectOf(response.response)[key]);
    const parts: unknown[] = Array.isArray(response.parts) ? response.parts : [];
    const media = parts.filter(isObject).flatMap((part) => readGeminiMedia(part) ?? []);
    const pieces = media.length === 0 ? content : [textPart(content), ...media];
    return resultPart(response.id, pieces, key === "error", response.name);
  }
  const served = field(block, "toolResponse");
  if (served !== undefined) return resultPart(served.id, jsonText(served.response), false, served.toolType);
  const result = field(block, "codeExecutionResult");
  if (result === undefined) return undefined;
  const failed = result.outcome !== undefined && result.outcome !== "OUTCOME_OK";
  return resultPart(result.id, jsonText(result.output), failed, CODE_TOOL);
}

/** `{output}`, `{result}` and `{error}` are conventions of Google's SDKs; other responses are shown whole. */
function responseKey(response: unknown): string | undefined {
  const [key, ...others] = isObject(response) ? Object.keys(response) : [];
  return key !== undefined && others.length === 0 && /^(output|result|error)$/.test(key) ? key : undefined;
}

const writeGemini = blockWriter({
  text: ({ text }) => ({ text }),
  media: geminiMedia,
  reasoning: ({ text }) => ({ text, thought: true }),
  toolCall: (part, block) => {
    const call = { name: part.name, args: inputObject(argumentsValue(part)) };
    if (block !== undefined) return withFields(block, "functionCall", call);
    return { functionCall: { id: part.id, ...call } };
  },
  toolResult: (part, block) => writeResponse(part, part.name ?? "", block),
});

function writeResponse(part: ToolResultPart, name: string, block?: NativeObject): unknown {
  const text = resultText(part);
  if (block !== undefined && field(block, "toolResponse") !== undefined) return block;
  if (block !== undefined && field(block, "codeExecutionResult") !== undefined)
    return withFields(block, "codeExecutionResult", { output: text });
  const key = responseKey(field(block ?? {}, "functionResponse")?.response) ?? "output";
  const response = { [part.isError === true ? "error" : key]: text };
  const media = piecesOf(part.content).filter((piece) => piece.type === "media");
  const parts = media.length === 0 ? undefined : media.map(geminiMedia);
  if (block !== undefined) return withFields(block, "functionResponse", { response, parts });
  return { functionResponse: defined({ id: part.id || undefined, name, response, parts }) };
}

/** A copy of the block with changes in the object that one of its fields holds, in either spelling. */
function withFields(block: NativeObject, name: string, changes: NativeObject): unknown {
  return { ...block, [name in block ? name : snake(name)]: copyWith(field(block, name) ?? {}, changes) };
}

function geminiMedia(part: MediaPart): unknown {
  if (part.data !== undefined) return { inlineData: { mimeType: part.mediaType, data: part.data } };
  const uri = mediaUrl(part);
  return uri === "" ? { text: mediaWords(part) } : { fileData: { mimeType: part.mediaType, fileUri: uri } };
}

function buildContent({ role, content, calls, results }: Step, context: BuildContext): unknown {
  const roles = { user: "user", tool: "user", assistant: "model", system: "system", developer: "system" };
  const answers = results.map((part) => writeResponse(part, part.name ?? context.callName(part.id)));
  return {
    role: roles[role],
    parts: [...[...content, ...calls].map((part) => writeGemini(part)), ...answers],
  };
}
