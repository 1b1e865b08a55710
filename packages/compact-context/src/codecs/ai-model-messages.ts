import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Message,
  type Part,
  type Role,
  type TextPart,
  type ToolResultPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import {
  type BuildContext,
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
  mediaFromValue,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

/** The roles of the AI SDK. */
export const MODEL_ROLES: Readonly<Record<string, Role>> = {
  system: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

/** Reads a `ModelMessage`, or a message of a provider prompt. */
export function readModelMessage(entry: NativeObject, place: string): Reading {
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
export function rewriteModelMessage(native: NativeObject, parts: readonly Part[]): unknown {
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
export function buildModelMessages(run: readonly Message[], context: BuildContext): unknown[] {
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
