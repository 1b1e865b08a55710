import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  resultText,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import {
  type BuildContext,
  type Content,
  createCodec,
  type NativeCodec,
  onlyText,
  type Step,
  spoken,
} from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
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
  partsOf,
  resultPart,
  rewriteField,
  type Slot,
  textPart,
} from "./slots.ts";

/**
 * AI SDK messages for the model (`content`) and for the UI (`parts`), distinguished entry by entry;
 * `protected` is read from `providerOptions.compact` of the former and `metadata` of the latter.
 */
export const aiSdkCodec: NativeCodec = createCodec({
  format: "ai-sdk",
  read: (entry, place) => ({
    role: roleAt(entry.role, isUi(entry) ? ROLES.ui : ROLES["ai-sdk"], place),
    slots: slotsOf(entry, place),
    id: filled(entry.id),
    meta: isUi(entry) ? readMeta(entry) : readMeta(entry, entry.providerOptions),
  }),
  rewrite: (native, parts) =>
    isUi(native)
      ? rewriteField(native, "parts", slotsOf(native, "message"), parts, writeUi)
      : rewriteField(native, "content", slotsOf(native, "message"), parts, write),
  build: (steps, context) =>
    isUi(context.natives()[0]) ? buildUiMessages(steps) : steps.map((step) => buildStep(step, context)),
});

function isUi(entry: unknown): boolean {
  return isObject(entry) && Array.isArray(entry.parts);
}

function slotsOf(entry: NativeObject, place: string): Slot[] {
  if (!isUi(entry)) return contentSlots(entry.content, `${place}.content`, readBlock);
  return contentSlots(arrayAt(entry.parts, `${place}.parts`), `${place}.parts`, readUiPart);
}

// ---- messages for the model

function readBlock(block: NativeObject, place: string): Part | readonly Part[] | undefined {
  const type = stringAt(block.type, `${place}.type`);
  // Approvals only have ids; they are carried along with their entry.
  if (type.startsWith("tool-approval")) return [];
  switch (type) {
    case "text":
      return textPart(jsonText(block.text));
    case "reasoning":
      return reasoning(block.text, block.providerOptions);
    case "tool-call": {
      const id = stringAt(block.toolCallId, `${place}.toolCallId`);
      const name = stringAt(block.toolName, `${place}.toolName`);
      return callPart(id, name, block.input ?? block.args, block.providerExecuted === true);
    }
    case "tool-result": {
      const { content, failed } = readOutput(block.output ?? block.result);
      return resultPart(stringAt(block.toolCallId, `${place}.toolCallId`), content, failed, block.toolName);
    }
    default:
      return readMedia(block, type);
  }
}

function reasoning(text: unknown, seal: unknown): Part {
  const said = { type: "reasoning", text: jsonText(text) } as const;
  return isObject(seal) ? { ...said, signed: true } : said;
}

/** Files and images, including tagged ones (`{type, data}`, `{type, url}`) and those in tool outputs. */
function readMedia(block: NativeObject, type: string): Content | undefined {
  if (!/^(image|file|media|reasoning-file)/.test(type)) return undefined;
  const isImage = type.startsWith("image");
  const mediaType = filled(block.mediaType) ?? (isImage ? "image/*" : "application/*");
  const extra = { name: block.filename };
  const value = block.image ?? block.data ?? block.url;
  if (isObject(value) && typeof value.text === "string") return textPart(value.text);
  return mediaFromValue(isObject(value) ? (value.data ?? value.url ?? value) : value, mediaType, extra);
}

function readOutput(output: unknown): { content: ToolResultPart["content"]; failed: boolean } {
  if (!isObject(output)) return { content: jsonText(output), failed: false };
  const { type, value } = output;
  if (type === "execution-denied") return { content: filled(output.reason) ?? DENIED, failed: true };
  if (type === "content" && Array.isArray(value))
    return { content: value.flatMap(readOutputPiece), failed: false };
  const isTagged = typeof type === "string" && "value" in output;
  const failed = type === "error-text" || type === "error-json";
  return { content: jsonText(isTagged ? value : output), failed };
}

const DENIED = "Execution denied.";

function readOutputPiece(value: unknown): Content {
  if (!isObject(value)) return textPart(jsonText(value));
  const type = jsonText(value.type);
  return readMedia(value, type) ?? textPart(jsonText(type === "text" ? value.text : value));
}

const write = blockWriter({
  media: buildMedia,
  reasoning: ({ text }) => ({ type: "reasoning", text }),
  toolCall: (part, block) => {
    const input = argumentsValue(part);
    if (block !== undefined) return copyWith(block, { toolName: part.name, input, args: undefined });
    return { type: "tool-call", toolCallId: part.id, toolName: part.name, input: input ?? {} };
  },
  toolResult: (part, block) => writeResult(part, part.name ?? "", block),
});

function writeResult(part: ToolResultPart, name: string, block?: NativeObject): unknown {
  const { id, content, isError } = part;
  const output =
    typeof content === "string"
      ? { type: isError === true ? "error-text" : "text", value: content }
      : { type: "content", value: content.map(writePiece) };
  const fresh = { type: "tool-result", toolCallId: id, toolName: name };
  return copyWith(block ?? fresh, { output, result: undefined });
}

function buildMedia(part: MediaPart): unknown {
  const data = part.data ?? part.url;
  if (data === undefined) return textPart(mediaWords(part));
  const named = part.name === undefined ? {} : { filename: part.name };
  return { type: "file", mediaType: part.mediaType, data, ...named };
}

function writePiece(piece: Content): unknown {
  if (piece.type === "text") return textPart(piece.text);
  const kind = piece.mediaType.startsWith("image/") ? "image" : "file";
  if (piece.data !== undefined) return { type: `${kind}-data`, data: piece.data, mediaType: piece.mediaType };
  if (piece.url !== undefined) return { type: `${kind}-url`, url: piece.url };
  return textPart(mediaWords(piece));
}

/** Adjacent results share one tool message. */
function buildStep(step: Step, context: BuildContext): unknown {
  const { role, content, calls, results } = step;
  if (role === "tool")
    return { role, content: results.map((one) => writeResult(one, one.name ?? context.callName(one.id))) };
  if (role === "system" || role === "developer")
    return { role: "system", content: content.map(spoken).join("\n") };
  const blocks = [...content, ...calls].map((part) => write(part));
  return { role, content: onlyText(step) ?? (blocks.length === 0 ? "" : blocks) };
}

// ---- messages for the interface

/** Leads the words of a user that stand in a message of the assistant. */
const STEERED = "The user said meanwhile: ";

/**
 * A call and its result share one native part and become two neutral parts. Step marks, sources and
 * application data are not sent to a model: they are carried along without parts.
 */
function readUiPart(part: NativeObject, place: string): Part | readonly Part[] {
  const type = stringAt(part.type, `${place}.type`);
  if (type === "text") return textPart(jsonText(part.text));
  if (type === "reasoning") return reasoning(part.text, part.providerMetadata);
  if (type === "file" || type === "reasoning-file") {
    const mediaType = filled(part.mediaType) ?? "application/*";
    return mediaFromUrl(jsonText(part.url), mediaType, { name: part.filename });
  }
  if (type === "steering-message") {
    const parts = partsOf(contentSlots(part.parts, `${place}.parts`, readUiPart));
    return parts.map((one) => (one.type === "text" ? textPart(`${STEERED}${one.text}`) : one));
  }
  if (!type.startsWith("tool-") && type !== "dynamic-tool") return [];
  const id = stringAt(part.toolCallId, `${place}.toolCallId`);
  const name = type === "dynamic-tool" ? jsonText(part.toolName) : type.slice("tool-".length);
  const call = callPart(id, name, part.input ?? part.rawInput, part.providerExecuted === true);
  switch (part.state) {
    case "output-available":
      return [call, resultPart(id, jsonText(part.output), false, name)];
    case "output-error":
      return [call, resultPart(id, jsonText(part.errorText), true, name)];
    case "output-denied":
      return [call, resultPart(id, filled(objectOf(part.approval).reason) ?? DENIED, true, name)];
    default:
      return call;
  }
}

const writeUi = blockWriter({
  media: (part) => {
    const url = mediaUrl(part);
    return url === "" ? textPart(mediaWords(part)) : { type: "file", mediaType: part.mediaType, url };
  },
  reasoning: ({ text }) => ({ type: "reasoning", text }),
  toolCall: (part, block) =>
    block === undefined ? buildTool(part, undefined) : { ...block, input: argumentsValue(part) },
  toolResult: (part, block) =>
    block === undefined
      ? buildTool({ type: "toolCall", id: part.id, name: part.name ?? "tool", arguments: {} }, part)
      : copyWith(block, resultFields(part)),
});

function resultFields(part: ToolResultPart | undefined): NativeObject {
  if (part === undefined) return { state: "input-available" };
  // A UI part has one output value: media are described in words.
  const media = typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
  const output = [resultText(part), ...media.map(mediaWords)].filter((text) => text !== "").join("\n");
  return part.isError === true
    ? { state: "output-error", errorText: output, output: undefined }
    : { state: "output-available", output, errorText: undefined };
}

function buildTool(call: ToolCallPart, result: ToolResultPart | undefined): NativeObject {
  const tool = { type: "dynamic-tool", toolName: call.name, toolCallId: call.id };
  return copyWith({ ...tool, input: argumentsValue(call) ?? {} }, resultFields(result));
}

/** UI messages for neutral messages; a result is stored in the part of its call. */
function buildUiMessages(steps: readonly Step[]): unknown[] {
  const used = new Set<string>();
  return steps.flatMap(({ role, content, calls, results, message }, index) => {
    if (role === "tool" && steps[index - 1]?.role === "assistant") return [];
    const id = used.has(message.id) ? `${message.id}-${index}` : message.id;
    used.add(id);
    const answers = steps[index + 1]?.results ?? [];
    const answerOf = (call: ToolCallPart) => answers.find((result) => result.id === call.id);
    const tools = calls.map((call) => buildTool(call, answerOf(call)));
    const parts = [...[...content, ...results].map((part) => writeUi(part)), ...tools];
    if (role === "user") return [{ id, role, parts }];
    return [{ id, role: role === "assistant" || role === "tool" ? "assistant" : "system", parts }];
  });
}
