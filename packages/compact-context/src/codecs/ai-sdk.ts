import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Message,
  type Part,
  type Role,
  resultText,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { defined, isObject } from "../errors.ts";
import {
  type BuildContext,
  createCodec,
  opaqueSlot,
  type Reading,
  rewriteBlocks,
  type Slot,
  slot,
} from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  mediaFromUrl,
  mediaFromValue,
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

/**
 * AI SDK messages, both the model's (`content`) and the interface's (`parts`), decided entry by entry; `protected` is
 * read from `providerOptions.compact` of the first and `metadata` of the second.
 */
export const aiSdkCodec: Codec = createCodec({
  format: "ai-sdk",
  read: (entry, place) => (isUi(entry) ? readUiMessage(entry, place) : readModelMessage(entry, place)),
  rewrite: (native, parts) =>
    isUi(native) ? rewriteUiMessage(native, parts) : rewriteModelMessage(native, parts),
  build: (run, context) => (isUi(context.sample) ? buildUiMessages(run) : buildModelMessages(run, context)),
});

function isUi(entry: unknown): boolean {
  return isObject(entry) && Array.isArray(entry.parts);
}

// ---- messages for the model

/** The roles of the AI SDK. */
const MODEL_ROLES: Readonly<Record<string, Role>> = {
  system: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

/** Reads a `ModelMessage`, or a message of a provider prompt. */
function readModelMessage(entry: NativeObject, place: string): Reading {
  const role = roleAt(entry.role, MODEL_ROLES, place);
  const slots = contentSlots(entry.content, `${place}.content`);
  const meta = readMeta(entry, [entry.providerOptions, ...metaBags(entry)]);
  return { role, slots, id: filled(entry.id), meta };
}

function contentSlots(content: unknown, place: string): Slot[] {
  if (content === "") return [{ block: content, parts: [] }];
  if (typeof content === "string") return [slot(content, { type: "text", text: content })];
  return arrayAt(content, place).map((value, index) => {
    const at = `${place}[${index}]`;
    const block = objectAt(value, at);
    const type = stringAt(block.type, `${at}.type`);
    // Approvals carry ids only; they travel along with their entry.
    if (type.startsWith("tool-approval")) return { block, parts: [] };
    const part = readTool(block, type, at) ?? readPiece(block, type);
    return part === undefined ? opaqueSlot(block) : slot(block, part);
  });
}

function readPiece(block: NativeObject, type: string): Part | undefined {
  if (type === "text") return { type: "text", text: jsonText(block.text) };
  if (type === "reasoning") {
    const signed = isObject(block.providerOptions) ? { signed: true } : {};
    return { type: "reasoning", text: jsonText(block.text), ...signed };
  }
  return readMedia(block, type);
}

/** Files and images, also tagged ones (`{type, data}`, `{type, url}`) and those inside of tool outputs. */
function readMedia(block: NativeObject, type: string): MediaPart | undefined {
  if (!/^(image|file|media|reasoning-file)/.test(type)) return undefined;
  const isImage = type.startsWith("image");
  const mediaType = filled(block.mediaType) ?? (isImage ? "image/*" : "application/*");
  const extra = { name: block.filename };
  const value = block.image ?? block.data ?? block.url;
  return mediaFromValue(isObject(value) ? (value.data ?? value.url ?? value) : value, mediaType, extra);
}

function readTool(block: NativeObject, type: string, place: string): Part | undefined {
  if (type === "tool-call") {
    return defined({
      type: "toolCall",
      id: stringAt(block.toolCallId, `${place}.toolCallId`),
      name: stringAt(block.toolName, `${place}.toolName`),
      arguments: block.input ?? block.args,
      providerExecuted: block.providerExecuted === true || undefined,
    });
  }
  if (type !== "tool-result") return undefined;
  const name = filled(block.toolName);
  return defined({
    type: "toolResult",
    id: stringAt(block.toolCallId, `${place}.toolCallId`),
    name,
    ...readOutput(block.output ?? block.result),
  });
}

function readOutput(output: unknown): Pick<ToolResultPart, "content" | "isError"> {
  if (!isObject(output)) return { content: jsonText(output) };
  const { type, value } = output;
  if (type === "execution-denied")
    return { content: filled(output.reason) ?? "Execution denied.", isError: true };
  if (type === "content" && Array.isArray(value)) return { content: value.flatMap(readOutputPiece) };
  const failed = type === "error-text" || type === "error-json" ? { isError: true } : {};
  const isTagged = typeof type === "string" && "value" in output;
  return { content: jsonText(isTagged ? value : output), ...failed };
}

function readOutputPiece(value: unknown): TextPart | MediaPart {
  if (!isObject(value)) return { type: "text", text: jsonText(value) };
  const type = jsonText(value.type);
  const text = type === "text" ? jsonText(value.text) : jsonText(value);
  return readMedia(value, type) ?? { type: "text", text };
}

/** A copy of a model message with these parts. */
function rewriteModelMessage(native: NativeObject, parts: readonly Part[]): unknown {
  const blocks = rewriteBlocks(contentSlots(native.content, "content"), parts, {
    patch,
    build: (part) => build(part, ""),
  });
  const only = blocks.length === 1 ? blocks[0] : undefined;
  const text = isObject(only) && only.type === "text" ? only.text : only;
  if (typeof native.content === "string" && typeof text === "string")
    return copyWith(native, { content: text });
  const content = blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
  return copyWith(native, { content });
}

function patch(block: unknown, part: Part): unknown {
  if (!isObject(block)) return build(part, "");
  if (part.type === "text" && block.type === "text") return { ...block, text: part.text };
  if (part.type === "toolCall")
    return copyWith(block, { toolName: part.name, input: argumentsValue(part), args: undefined });
  if (part.type === "toolResult") return copyWith(block, { output: writeOutput(part), result: undefined });
  return build(part, "");
}

function build(part: Part, name: string): unknown {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
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
  if (data === undefined) return { type: "text", text: mediaWords(part) };
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
  if (piece.type === "text") return { type: "text", text: piece.text };
  const kind = piece.mediaType.startsWith("image/") ? "image" : "file";
  if (piece.data !== undefined) return { type: `${kind}-data`, data: piece.data, mediaType: piece.mediaType };
  if (piece.url !== undefined) return { type: `${kind}-url`, url: piece.url };
  return { type: "text", text: mediaWords(piece) };
}

/** Model messages for neutral ones; adjacent results share one tool message. */
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
  return { role, content: [...step.content, ...calls].map((part) => build(part, "")) };
}

// ---- messages for the interface

const ROLES: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant" };

/** Reads a `UIMessage`: a call and its result share one native part and become two neutral ones. */
function readUiMessage(entry: NativeObject, place: string): Reading {
  return {
    role: roleAt(entry.role, ROLES, place),
    slots: partSlots(entry, place),
    id: filled(entry.id),
    meta: readMeta(entry, metaBags(entry)),
  };
}

function partSlots(entry: NativeObject, place: string): Slot[] {
  return arrayAt(entry.parts, `${place}.parts`).map((value, index) => {
    const at = `${place}.parts[${index}]`;
    const part = objectAt(value, at);
    return readPart(part, stringAt(part.type, `${at}.type`), at);
  });
}

/** Step marks, sources and application data are not sent to a model: they travel along without parts. */
function readPart(part: NativeObject, type: string, place: string): Slot {
  if (type === "text") return slot(part, { type: "text", text: jsonText(part.text) });
  if (type === "reasoning") {
    const signed = isObject(part.providerMetadata) ? { signed: true } : {};
    return slot(part, { type: "reasoning", text: jsonText(part.text), ...signed });
  }
  if (type === "file") {
    const mediaType = filled(part.mediaType) ?? "application/*";
    return slot(part, mediaFromUrl(jsonText(part.url), mediaType, { name: part.filename }));
  }
  const isTool = type.startsWith("tool-") || type === "dynamic-tool";
  return { block: part, parts: isTool ? readUiTool(part, type, place) : [] };
}

function readUiTool(part: NativeObject, type: string, place: string): Part[] {
  const id = stringAt(part.toolCallId, `${place}.toolCallId`);
  const name = type === "dynamic-tool" ? jsonText(part.toolName) : type.slice("tool-".length);
  const served = part.providerExecuted === true ? { providerExecuted: true } : {};
  const call: ToolCallPart = {
    type: "toolCall",
    id,
    name,
    arguments: part.input ?? part.rawInput,
    ...served,
  };
  const result = readResult(part, id, name);
  return result === undefined ? [call] : [call, result];
}

function readResult(part: NativeObject, id: string, name: string): ToolResultPart | undefined {
  switch (part.state) {
    case "output-available":
      return { type: "toolResult", id, name, content: jsonText(part.output) };
    case "output-error":
      return { type: "toolResult", id, name, content: jsonText(part.errorText), isError: true };
    case "output-denied": {
      const { approval } = part;
      const reason = isObject(approval) ? filled(approval.reason) : undefined;
      return { type: "toolResult", id, name, content: reason ?? "Execution denied.", isError: true };
    }
    default:
      return undefined;
  }
}

/** A copy of a UI message with these parts. */
function rewriteUiMessage(native: NativeObject, parts: readonly Part[]): unknown {
  const slots = partSlots(native, "message");
  return copyWith(native, { parts: rewriteBlocks(slots, parts, { patch: patchUi, build: buildUi }) });
}

function patchUi(block: unknown, part: Part): unknown {
  if (!isObject(block)) return buildUi(part);
  if (part.type === "text") return { ...block, text: part.text };
  if (part.type === "toolCall") return { ...block, input: argumentsValue(part) };
  return part.type === "toolResult" ? copyWith(block, resultFields(part)) : buildUi(part);
}

function resultFields(part: ToolResultPart | undefined): NativeObject {
  if (part === undefined) return { state: "input-available" };
  const output = typeof part.content === "string" ? part.content : contentText(part);
  return part.isError === true
    ? { state: "output-error", errorText: output, output: undefined }
    : { state: "output-available", output, errorText: undefined };
}

/** A UI part has one output value: what is shown there is told in words. */
function contentText(part: ToolResultPart): string {
  const media = typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
  return [resultText(part), ...media.map(mediaWords)].filter((text) => text !== "").join("\n");
}

function buildUi(part: Part): NativeObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media": {
      const url = mediaUrl(part);
      return url === ""
        ? { type: "text", text: mediaWords(part) }
        : { type: "file", mediaType: part.mediaType, url };
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

/** UI messages for neutral ones: results stand in the parts of their calls. */
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
