import { filled, type NativeObject } from "../codecs/native.ts";
import type { Format, Message, Part } from "../core/message.ts";
import { isObject } from "../errors.ts";

/** A native block (or a whole entry) with the neutral parts that were read from it. */
export interface Cell {
  readonly value: unknown;
  /** Where it stands, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly parts: readonly Part[];
}

/** The cells of an entry in the order of the wire; every part of the message is in exactly one. */
export function cellsOf(format: Format, native: NativeObject, message: Message, place: string): Cell[] {
  const list = blockField(format, native);
  if (list !== undefined) return blockCells(native[list], `${place}.${list}`, message.parts, format);
  if (isCallHolder(format, message)) return holderCells(format, native, message, place);
  return [{ value: native, path: place, parts: message.parts }];
}

/** The field in which an entry keeps its parts as blocks; undefined where it does not, or where a part is more. */
export function blockField(format: Format, native: NativeObject): "content" | "parts" | undefined {
  switch (format) {
    case "anthropic":
      return "content";
    case "gemini":
      return "parts";
    case "ai-sdk":
      return Array.isArray(native.parts) ? "parts" : "content";
    case "pi":
      return native.role === "toolResult" || native.content === undefined ? undefined : "content";
    case "openai-responses":
    case "openai-agents":
      return (filled(native.type) ?? "message") === "message" ? "content" : undefined;
    default:
      return undefined;
  }
}

function blockCells(content: unknown, path: string, parts: readonly Part[], format: Format): Cell[] {
  if (!Array.isArray(content)) return content === undefined ? [] : [{ value: content, path, parts }];
  let next = 0;
  return content.map((value: unknown, index) => {
    const count = format === "ai-sdk" ? aiSdkParts(value, path) : 1;
    const own = parts.slice(next, next + count);
    next += count;
    return { value, path: `${path}[${index}]`, parts: own };
  });
}

const ANSWERED_STATES = new Set(["output-available", "output-error", "output-denied"]);

/** A call of the interface holds its result too; approvals hold no part, nor what only the interface shows. */
function aiSdkParts(value: unknown, path: string): number {
  if (!isObject(value)) return 1;
  const type = String(value.type);
  if (path.endsWith(".content")) return type.startsWith("tool-approval") ? 0 : 1;
  if (type.startsWith("tool-") || type === "dynamic-tool")
    return ANSWERED_STATES.has(String(value.state)) ? 2 : 1;
  return /^(text|reasoning|file)$/.test(type) ? 1 : 0;
}

function isCallHolder(format: Format, message: Message): boolean {
  return (format === "openai-chat" || format === "langchain") && message.role !== "tool";
}

/** Chat and LangChain entries keep their calls in a list of their own, behind what is said. */
function holderCells(format: Format, native: NativeObject, message: Message, place: string): Cell[] {
  const fields = fieldsOf(format, native);
  const content = Array.isArray(fields.content) ? fields.content : undefined;
  const lists = callLists(format, fields);
  let said = 0;
  let called = 0;
  return message.parts.map((part) => {
    if (part.type === "toolCall") {
      const call = lists[called++];
      return { value: call?.value, path: `${place}.${call?.path ?? "tool_calls"}`, parts: [part] };
    }
    if (part.type === "reasoning") return { value: part, path: place, parts: [part] };
    const index = said++;
    const at = content !== undefined && index < content.length ? `.content[${index}]` : ".content";
    return { value: content?.[index] ?? fields.content, path: place + at, parts: [part] };
  });
}

/** The fields of a message: those of a serialised one of LangChain lie deeper. */
export function fieldsOf(format: Format, native: NativeObject): NativeObject {
  if (format !== "langchain") return native;
  if (isObject(native.kwargs)) return native.kwargs;
  return isObject(native.data) && typeof native.type === "string" ? native.data : native;
}

interface PlacedCall {
  readonly value: unknown;
  readonly path: string;
}

function callLists(format: Format, fields: NativeObject): PlacedCall[] {
  const names = format === "langchain" ? ["tool_calls", "invalid_tool_calls"] : ["tool_calls"];
  const placed = names.flatMap((name) => {
    const list: readonly unknown[] = Array.isArray(fields[name]) ? fields[name] : [];
    return list.map((value, index) => ({ value, path: `${name}[${index}]` }));
  });
  if (placed.length > 0 || !isObject(fields.function_call)) return placed;
  return [{ value: fields.function_call, path: "function_call" }];
}
