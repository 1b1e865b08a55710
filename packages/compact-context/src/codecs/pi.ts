import { argumentsValue, jsonText, type Message, type MessageMeta, type Part } from "../core/message.ts";
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
  blockWriter,
  callPart,
  contentSlots,
  piecesIn,
  resultPart,
  rewriteField,
  type Slot,
  slot,
  textPart,
  thought,
} from "./slots.ts";

/**
 * pi's messages, including custom roles, which reach the model as user text; `protected` is read from the
 * message's `meta`, `metadata` or `details`.
 */
export const piCodec: NativeCodec = createCodec({
  format: "pi",
  read,
  rewrite,
  build: (steps, context) => steps.flatMap((step) => buildStep(step, context)),
});

function read(entry: NativeObject, place: string): Reading {
  if (filled(entry.role) === undefined)
    throw invalidMessages(`${place}.role`, "is missing", "Give every message a role, such as user.");
  const role = isRole(entry.role, ROLES.pi) ? roleAt(entry.role, ROLES.pi, place) : undefined;
  const slots = role === undefined ? customSlots(entry, place) : textSlots(entry.content, `${place}.content`);
  return {
    role: role ?? "user",
    slots: role === "tool" ? [resultSlot(entry, slots, place)] : slots,
    id: filled(entry.id),
    meta: readTimedMeta(entry),
  };
}

function resultSlot(entry: NativeObject, slots: readonly Slot[], place: string): Slot {
  const content = piecesIn(slots);
  const said = onlyText({ content }) ?? content;
  return slot(entry, resultPart(entry.toolCallId, said, entry.isError === true, entry.toolName), place);
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

/** Shell runs, summaries and custom messages as text; the block of a single text is the name of its field. */
function customSlots(entry: NativeObject, place: string): Slot[] {
  const { role, content, summary, exitCode: code } = entry;
  if (role !== "bashExecution" && isContent(content)) return textSlots(content, `${place}.content`);
  const end = typeof code === "number" && code !== 0 ? `\n[exit code ${code}]` : "";
  const run = `$ ${jsonText(entry.command)}\n${jsonText(entry.output)}${end}`;
  if (role === "bashExecution") return [slot("output", textPart(run), place)];
  return typeof summary === "string"
    ? [slot("summary", textPart(summary), place)]
    : [slot("content", textPart(jsonText(entry)), place)];
}

function isContent(value: unknown): boolean {
  return typeof value === "string" || Array.isArray(value);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined) {
    const content = piecesOf(result.content).map((piece) => write(piece));
    return copyWith(native, { content, isError: result.isError ?? native.isError });
  }
  if (isRole(native.role, ROLES.pi) || isContent(native.content))
    return rewriteField(native, "content", textSlots(native.content, "content"), parts, write);
  // A shell run or summary is one text; a changed text is written to its original field.
  const [original] = customSlots(native, "message");
  const before = original?.parts[0];
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  if (before?.type === "text" && before.text === text) return native;
  return copyWith(native, { [String(original?.block)]: text });
}

const write = blockWriter({
  media: (part) =>
    part.data === undefined
      ? textPart(mediaWords(part))
      : { type: "image", data: part.data, mimeType: part.mediaType },
  reasoning: ({ text }) => ({ type: "thinking", thinking: text }),
  toolCall: (part, block) => {
    const { id, name } = part;
    const input = inputObject(argumentsValue(part));
    return block === undefined
      ? { type: "toolCall", id, name, arguments: input }
      : { ...block, name, arguments: input };
  },
});

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };

function buildStep(step: Step, context: BuildContext): unknown[] {
  const timestamp = timeOf(step.message);
  if (step.role === "tool") {
    return step.results.map((result) => {
      return {
        role: "toolResult",
        toolCallId: result.id,
        toolName: result.name ?? context.callName(result.id),
        content: piecesOf(result.content).map((piece) => write(piece)),
        isError: result.isError === true,
        timestamp,
      };
    });
  }
  if (step.role !== "assistant") {
    const role = step.role === "user" ? "user" : "system";
    return [{ role, content: onlyText(step) ?? step.content.map((part) => write(part)), timestamp }];
  }
  return [
    {
      role: "assistant",
      content: [...step.content, ...step.calls].map((part) => write(part)),
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
