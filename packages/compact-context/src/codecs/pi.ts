import {
  argumentsValue,
  jsonText,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
} from "../core/message.ts";
import { type BuildContext, createCodec, type NativeCodec, type Reading } from "./create-codec.ts";
import {
  copyWith,
  filled,
  inputObject,
  invalidMessages,
  isRole,
  mediaFromData,
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
  piecesIn,
  resultPart,
  rewriteBlocks,
  type Slot,
  slot,
  textPart,
  thought,
} from "./slots.ts";
import { piecesOf, type Step, toSteps } from "./steps.ts";

/**
 * pi's messages, including custom roles, which reach the model as user text; `protected` is read from the
 * message's `meta`, `metadata` or `details`.
 */
export const piCodec: NativeCodec = createCodec({
  format: "pi",
  read,
  rewrite,
  build: (run, context) => toSteps(run).flatMap((step) => buildStep(step, context)),
});

function read(entry: NativeObject, place: string): Reading {
  const role = filled(entry.role);
  if (role === undefined)
    throw invalidMessages(`${place}.role`, "is missing", "Give every message a role, such as user.");
  const known = isRole(role, ROLES.pi) ? roleAt(role, ROLES.pi, place) : undefined;
  return {
    role: known ?? "user",
    slots: known === undefined ? customSlots(entry, place) : slotsOf(entry, known, place),
    id: filled(entry.id),
    meta: readTimedMeta(entry),
  };
}

function slotsOf(entry: NativeObject, role: Role, place: string): Slot[] {
  const slots = textSlots(entry.content, `${place}.content`);
  if (role !== "tool") return slots;
  const pieces = piecesIn(slots);
  const only = pieces.length === 1 ? pieces[0] : undefined;
  const content = only?.type === "text" ? only.text : pieces;
  return [slot(entry, resultPart(entry.toolCallId, content, entry.isError === true, entry.toolName), place)];
}

/** pi's timestamps are milliseconds. */
function readTimedMeta(entry: NativeObject): MessageMeta | undefined {
  const meta = readMeta(entry, entry.details);
  const date = typeof entry.timestamp === "number" ? new Date(entry.timestamp) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) return meta;
  return { ...meta, timestamp: date.toISOString() };
}

function textSlots(content: unknown, place: string): Slot[] {
  return contentSlots(content === undefined ? "" : content, place, readBlock);
}

function readBlock(block: NativeObject, place: string): Part | undefined {
  switch (stringAt(block.type, `${place}.type`)) {
    case "text":
      return textPart(stringAt(block.text, `${place}.text`));
    case "image":
      return mediaFromData(jsonText(block.data), filled(block.mimeType) ?? "image/*");
    case "thinking":
      return thought(jsonText(block.thinking), block.thinkingSignature);
    case "toolCall":
      return callPart(block.id, stringAt(block.name, `${place}.name`), block.arguments ?? {});
    default:
      return undefined;
  }
}

/** Shell runs, summaries and custom messages as text. */
function customSlots(entry: NativeObject, place: string): Slot[] {
  if (entry.role === "bashExecution") {
    const code = entry.exitCode;
    const end = typeof code === "number" && code !== 0 ? `\n[exit code ${code}]` : "";
    const text = `$ ${jsonText(entry.command)}\n${jsonText(entry.output)}${end}`;
    return [slot("output", textPart(text), place)];
  }
  const { content, summary } = entry;
  if (isContent(content)) return textSlots(content, `${place}.content`);
  return [
    typeof summary === "string"
      ? slot("summary", textPart(summary), place)
      : slot("content", textPart(jsonText(entry)), place),
  ];
}

function isContent(value: unknown): boolean {
  return typeof value === "string" || Array.isArray(value);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined)
    return copyWith(native, {
      content: piecesOf(result.content).map(build),
      isError: result.isError ?? native.isError,
    });
  if (!isRole(native.role, ROLES.pi) && !isContent(native.content)) return rewriteCustom(native, parts);
  const blocks = rewriteBlocks(textSlots(native.content, "content"), parts, { patch, build });
  return copyWith(native, { content: joinedContent(native.content, blocks) });
}

/** A shell run or summary is one text; a changed text is written to its original field. */
function rewriteCustom(native: NativeObject, parts: readonly Part[]): unknown {
  const [original] = customSlots(native, "message");
  const before = original?.parts[0];
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  if (before?.type === "text" && before.text === text) return native;
  return copyWith(native, { [String(original?.block)]: text });
}

function patch(block: NativeObject, part: Part): unknown {
  if (part.type !== "toolCall") return undefined;
  return { ...block, name: part.name, arguments: inputObject(argumentsValue(part)) };
}

function build(part: Part): unknown {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "media":
      return part.data === undefined
        ? textPart(mediaWords(part))
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
      return textPart(jsonText(part.content));
  }
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
        content: piecesOf(result.content).map(build),
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

/** Milliseconds since 1970; 0 if the message has no timestamp. */
function timeOf(message: Message): number {
  const time = Date.parse(message.meta?.timestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}
