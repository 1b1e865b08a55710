import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
  type TextPart,
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
  inputObject,
  invalidMessages,
  mediaFromData,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  stringAt,
} from "./native.ts";
import { piecesOf, type Step, toSteps } from "./steps.ts";

/**
 * Messages of the pi agent, custom roles included (they reach the model as user text); `protected` is read from the
 * message's `meta`, `metadata` or `details`.
 */
export const piCodec: Codec = createCodec({
  format: "pi",
  read,
  rewrite,
  build: (run, context) => toSteps(run).flatMap((step) => buildStep(step, context)),
});

const ROLES: Readonly<Record<string, Role>> = {
  system: "system",
  user: "user",
  assistant: "assistant",
  toolResult: "tool",
};

function read(entry: NativeObject, place: string): Reading {
  const role = entry.role;
  if (filled(role) === undefined)
    throw invalidMessages(`${place}.role`, "is missing", "Give every message a role, such as user.");
  const meta = readTimedMeta(entry);
  const id = filled(entry.id);
  const known = Object.hasOwn(ROLES, String(role)) ? ROLES[String(role)] : undefined;
  if (known === undefined) return { role: "user", slots: customSlots(entry, place), id, meta };
  if (known === "tool") return { role: known, slots: [slot(entry, readResult(entry, place))], id, meta };
  return { role: known, slots: contentSlots(entry.content, `${place}.content`), id, meta };
}

/** Timestamps are milliseconds here. */
function readTimedMeta(entry: NativeObject): MessageMeta | undefined {
  const meta = readMeta(entry, [entry.details, ...metaBags(entry)]);
  const date = typeof entry.timestamp === "number" ? new Date(entry.timestamp) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) return meta;
  return { ...meta, timestamp: date.toISOString() };
}

function contentSlots(content: unknown, place: string): Slot[] {
  if (content === "" || content === undefined) return [{ block: content, parts: [] }];
  if (typeof content === "string") return [slot(content, { type: "text", text: content })];
  return arrayAt(content, place).map((value, index) => {
    const at = `${place}[${index}]`;
    const block = objectAt(value, at);
    const part = readBlock(block, stringAt(block.type, `${at}.type`), at);
    return part === undefined ? opaqueSlot(block) : slot(block, part);
  });
}

function readBlock(block: NativeObject, type: string, place: string): Part | undefined {
  switch (type) {
    case "text":
      return { type: "text", text: stringAt(block.text, `${place}.text`) };
    case "image":
      return mediaFromData(jsonText(block.data), filled(block.mimeType) ?? "image/*");
    case "thinking": {
      const seal = filled(block.thinkingSignature);
      const signed = seal === undefined ? {} : { opaqueLength: seal.length, signed: true };
      return { type: "reasoning", text: jsonText(block.thinking), ...signed };
    }
    case "toolCall":
      return {
        type: "toolCall",
        id: filled(block.id) ?? "",
        name: stringAt(block.name, `${place}.name`),
        arguments: block.arguments ?? {},
      };
    default:
      return undefined;
  }
}

function readResult(entry: NativeObject, place: string): ToolResultPart {
  const name = filled(entry.toolName);
  const parts = contentSlots(entry.content, `${place}.content`).flatMap((one) => one.parts);
  const pieces = parts.filter(
    (part): part is TextPart | MediaPart => part.type === "text" || part.type === "media",
  );
  const only = pieces.length === 1 ? pieces[0] : undefined;
  return defined({
    type: "toolResult",
    id: filled(entry.toolCallId) ?? "",
    name,
    content: only?.type === "text" ? only.text : pieces,
    isError: entry.isError === true || undefined,
  });
}

/** Shell runs, summaries and an application's own messages, in the words that say the most about them. */
function customSlots(entry: NativeObject, place: string): Slot[] {
  if (entry.role === "bashExecution") {
    const code = entry.exitCode;
    const end = typeof code === "number" && code !== 0 ? `\n[exit code ${code}]` : "";
    const text = `$ ${jsonText(entry.command)}\n${jsonText(entry.output)}${end}`;
    return [slot("output", { type: "text", text })];
  }
  const { content } = entry;
  if (isContent(content)) return contentSlots(content, `${place}.content`);
  if (typeof entry.summary === "string") return [slot("summary", { type: "text", text: entry.summary })];
  return [opaqueSlot(entry)];
}

function isContent(value: unknown): boolean {
  return typeof value === "string" || Array.isArray(value);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined)
    return copyWith(native, {
      content: writeResult(result.content),
      isError: result.isError ?? native.isError,
    });
  if (!Object.hasOwn(ROLES, String(native.role)) && !isContent(native.content))
    return rewriteCustom(native, parts);
  const blocks = rewriteBlocks(contentSlots(native.content, "content"), parts, { patch, build });
  const only = blocks.length === 1 ? blocks[0] : undefined;
  const wasText = typeof native.content === "string";
  if (wasText && typeof only === "string") return copyWith(native, { content: only });
  if (wasText && isObject(only) && only.type === "text") return copyWith(native, { content: only.text });
  const content = blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
  return copyWith(native, { content });
}

/** A shell run or summary is one text; changed, it goes into the field that held it. */
function rewriteCustom(native: NativeObject, parts: readonly Part[]): unknown {
  const [original] = customSlots(native, "message");
  const before = original?.parts[0];
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  if (before?.type === "text" && before.text === text) return native;
  const field = typeof original?.block === "string" ? original.block : "content";
  return copyWith(native, { [field]: text });
}

function patch(block: unknown, part: Part): unknown {
  if (!isObject(block)) return build(part);
  if (part.type === "text" && block.type === "text") return { ...block, text: part.text };
  if (part.type === "toolCall")
    return { ...block, name: part.name, arguments: inputObject(argumentsValue(part)) };
  return build(part);
}

function build(part: Part): unknown {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media":
      return part.data === undefined
        ? { type: "text", text: mediaWords(part) }
        : { type: "image", data: part.data, mimeType: part.mediaType };
    case "reasoning":
      return { type: "thinking", thinking: part.text };
    case "toolCall":
      return {
        type: "toolCall",
        id: part.id,
        name: part.name,
        arguments: inputObject(argumentsValue(part)),
      };
    case "toolResult":
      return { type: "text", text: jsonText(part.content) };
  }
}

function writeResult(content: ToolResultPart["content"]): unknown[] {
  return piecesOf(content).map(build);
}

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };

function buildStep(step: Step, context: BuildContext): unknown[] {
  const timestamp = timeOf(step.message);
  if (step.type === "results") {
    return step.results.map((result) => {
      return {
        role: "toolResult",
        toolCallId: result.id,
        toolName: result.name ?? context.callName(result.id),
        content: writeResult(result.content),
        isError: result.isError === true,
        timestamp,
      };
    });
  }
  if (step.type === "input") {
    const role = step.role === "user" ? "user" : "system";
    const only = step.content.length === 1 ? step.content[0] : undefined;
    const content = only?.type === "text" ? only.text : step.content.map(build);
    return [{ role, content, timestamp }];
  }
  return [
    {
      role: "assistant",
      content: [...step.content, ...step.calls].map(build),
      api: "",
      provider: "",
      model: step.message.meta?.model ?? "",
      usage: NO_USAGE,
      stopReason: step.calls.length > 0 ? "toolUse" : "stop",
      timestamp,
    },
  ];
}

/** Milliseconds since 1970; 0 where the message does not say. */
function timeOf(message: Message): number {
  const time = Date.parse(message.meta?.timestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}
