import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Message,
  type Part,
  resultText,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import { type BuildContext, createCodec, type NativeCodec, type Reading } from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  mediaFromUrl,
  mediaFromValue,
  mediaUrl,
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
  joinedContent,
  partsOf,
  resultPart,
  rewriteBlocks,
  type Slot,
  textPart,
} from "./slots.ts";
import { type Step, toSteps } from "./steps.ts";

/**
 * AI SDK messages for the model (`content`) and for the UI (`parts`), distinguished entry by entry;
 * `protected` is read from `providerOptions.compact` of the former and `metadata` of the latter.
 */
export const aiSdkCodec: NativeCodec = createCodec({
  format: "ai-sdk",
  read,
  rewrite: (native, parts) =>
    isUi(native)
      ? copyWith(native, { parts: rewriteBlocks(slotsOf(native, "message"), parts, UI_WRITER) })
      : copyWith(native, {
          content: joinedContent(
            native.content,
            rewriteBlocks(slotsOf(native, "message"), parts, MODEL_WRITER),
          ),
        }),
  build: (run, context) => (isUi(context.sample) ? buildUiMessages(run) : buildModelMessages(run, context)),
});

function isUi(entry: unknown): boolean {
  return isObject(entry) && Array.isArray(entry.parts);
}

/** A `UIMessage`, a `ModelMessage`, or a message of a provider prompt. */
function read(entry: NativeObject, place: string): Reading {
  return {
    role: roleAt(entry.role, isUi(entry) ? ROLES.ui : ROLES["ai-sdk"], place),
    slots: slotsOf(entry, place),
    id: filled(entry.id),
    meta: isUi(entry) ? readMeta(entry) : readMeta(entry, entry.providerOptions),
  };
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
function readMedia(block: NativeObject, type: string): TextPart | MediaPart | undefined {
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

function readOutputPiece(value: unknown): TextPart | MediaPart {
  if (!isObject(value)) return textPart(jsonText(value));
  const type = jsonText(value.type);
  return readMedia(value, type) ?? textPart(jsonText(type === "text" ? value.text : value));
}

const MODEL_WRITER = {
  patch(block: NativeObject, part: Part): unknown {
    if (part.type === "toolCall")
      return copyWith(block, { toolName: part.name, input: argumentsValue(part), args: undefined });
    if (part.type !== "toolResult") return undefined;
    return copyWith(block, { output: writeOutput(part), result: undefined });
  },
  build: (part: Part) => build(part),
};

function build(part: Part, name = ""): unknown {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "media":
      return buildMedia(part);
    case "reasoning":
      return { type: "reasoning", text: part.text };
    case "toolCall":
      return {
        type: "tool-call",
        toolCallId: part.id,
        toolName: part.name,
        input: argumentsValue(part) ?? {},
      };
    case "toolResult":
      return {
        type: "tool-result",
        toolCallId: part.id,
        toolName: part.name ?? name,
        output: writeOutput(part),
      };
  }
}

function buildMedia(part: MediaPart): unknown {
  const data = part.data ?? part.url;
  if (data === undefined) return textPart(mediaWords(part));
  const named = part.name === undefined ? {} : { filename: part.name };
  return { type: "file", mediaType: part.mediaType, data, ...named };
}

function writeOutput(part: ToolResultPart): unknown {
  const { content } = part;
  if (typeof content === "string")
    return { type: part.isError === true ? "error-text" : "text", value: content };
  return { type: "content", value: content.map(writePiece) };
}

function writePiece(piece: TextPart | MediaPart): unknown {
  if (piece.type === "text") return textPart(piece.text);
  const kind = piece.mediaType.startsWith("image/") ? "image" : "file";
  if (piece.data !== undefined) return { type: `${kind}-data`, data: piece.data, mediaType: piece.mediaType };
  if (piece.url !== undefined) return { type: `${kind}-url`, url: piece.url };
  return textPart(mediaWords(piece));
}

/** Adjacent results share one tool message. */
function buildModelMessages(run: readonly Message[], context: BuildContext): unknown[] {
  return toSteps(run).map((step) => buildStep(step, context));
}

function buildStep(step: Step, context: BuildContext): unknown {
  if (step.type === "results") {
    return {
      role: "tool",
      content: step.results.map((result) => build(result, context.callName(result.id))),
    };
  }
  const texts = step.content.every((part) => part.type === "text");
  if (step.type === "input" && step.role !== "user") {
    const words = step.content.map((part) => (part.type === "text" ? part.text : mediaWords(part)));
    return { role: "system", content: words.join("\n") };
  }
  const role = step.type === "assistant" ? "assistant" : "user";
  const calls = step.type === "assistant" ? step.calls : [];
  const only = step.content[0];
  if (texts && calls.length === 0 && step.content.length <= 1)
    return { role, content: only?.type === "text" ? only.text : "" };
  return { role, content: [...step.content, ...calls].map((part) => build(part)) };
}

// ---- messages for the interface

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
  if (type === "steering-message") return partsOf(contentSlots(part.parts, `${place}.parts`, readUiPart));
  if (!type.startsWith("tool-") && type !== "dynamic-tool") return [];
  const id = stringAt(part.toolCallId, `${place}.toolCallId`);
  const name = type === "dynamic-tool" ? jsonText(part.toolName) : type.slice("tool-".length);
  const call = callPart(id, name, part.input ?? part.rawInput, part.providerExecuted === true);
  switch (part.state) {
    case "output-available":
      return [call, resultPart(id, jsonText(part.output), false, name)];
    case "output-error":
      return [call, resultPart(id, jsonText(part.errorText), true, name)];
    case "output-denied": {
      const { approval } = part;
      const reason = isObject(approval) ? filled(approval.reason) : undefined;
      return [call, resultPart(id, reason ?? DENIED, true, name)];
    }
    default:
      return call;
  }
}

const UI_WRITER = {
  patch(block: NativeObject, part: Part): unknown {
    if (part.type === "toolCall") return { ...block, input: argumentsValue(part) };
    return part.type === "toolResult" ? copyWith(block, resultFields(part)) : undefined;
  },
  build: buildUi,
};

function resultFields(part: ToolResultPart | undefined): NativeObject {
  if (part === undefined) return { state: "input-available" };
  const output = contentText(part);
  return part.isError === true
    ? { state: "output-error", errorText: output, output: undefined }
    : { state: "output-available", output, errorText: undefined };
}

/** A UI part has one output value: media are described in words. */
function contentText(part: ToolResultPart): string {
  const media = typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
  return [resultText(part), ...media.map(mediaWords)].filter((text) => text !== "").join("\n");
}

function buildUi(part: Part): object {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "media": {
      const url = mediaUrl(part);
      return url === "" ? textPart(mediaWords(part)) : { type: "file", mediaType: part.mediaType, url };
    }
    case "reasoning":
      return { type: "reasoning", text: part.text };
    case "toolCall":
      return buildTool(part, undefined);
    case "toolResult":
      return buildTool({ type: "toolCall", id: part.id, name: part.name ?? "tool", arguments: {} }, part);
  }
}

function buildTool(call: ToolCallPart, result: ToolResultPart | undefined): NativeObject {
  const tool = { type: "dynamic-tool", toolName: call.name, toolCallId: call.id };
  return copyWith({ ...tool, input: argumentsValue(call) ?? {} }, resultFields(result));
}

/** UI messages for neutral messages; a result is stored in the part of its call. */
function buildUiMessages(run: readonly Message[]): unknown[] {
  const messages: unknown[] = [];
  const used = new Set<string>();
  const steps = toSteps(run);
  steps.forEach((step, index) => {
    if (step.type === "results" && steps[index - 1]?.type === "assistant") return;
    const wished = step.message.id;
    const id = used.has(wished) ? `${wished}-${index}` : wished;
    used.add(id);
    messages.push(buildUiStep(step, steps[index + 1], id));
  });
  return messages;
}

function buildUiStep(step: Step, next: Step | undefined, id: string): unknown {
  if (step.type === "results") return { id, role: "assistant", parts: step.results.map(buildUi) };
  const content = step.content.map(buildUi);
  if (step.type === "input") return { id, role: step.role === "user" ? "user" : "system", parts: content };
  const results = next?.type === "results" ? next.results : [];
  const tools = step.calls.map((call) =>
    buildTool(
      call,
      results.find((result) => result.id === call.id),
    ),
  );
  return { id, role: "assistant", parts: [...content, ...tools] };
}
