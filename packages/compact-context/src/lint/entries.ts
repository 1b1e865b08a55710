import { codecFor } from "../codecs/formats.ts";
import { viewMessage } from "../codecs/langchain-instances.ts";
import { copyWith, filled, type NativeObject } from "../codecs/native.ts";
import { type Format, jsonText, type Message, type Part } from "../core/message.ts";
import { CompactError, isObject } from "../errors.ts";

/** An entry that could be read. */
export interface Entry {
  readonly native: NativeObject;
  /** Index in the list that is looked at. */
  readonly position: number;
  readonly message: Message;
  readonly cells: readonly Cell[];
}

/** An entry that no reader understands. */
export interface Fault {
  readonly native: unknown;
  readonly position: number;
  readonly path: string;
  readonly problem: string;
}

export interface ReadList {
  readonly format: Format;
  /** Entries that could be read, in order. */
  readonly entries: readonly Entry[];
  readonly faults: readonly Fault[];
  /** LangChain's orders to remove messages: they carry none. */
  readonly removals: readonly { readonly position: number; readonly id: unknown }[];
  readonly length: number;
}

/** The id by which LangGraph removes every message. */
export const REMOVE_ALL = "__remove_all__";

/** Reads a list entry by entry; what cannot be read becomes a fault. */
export function readEntries(list: readonly unknown[], format: Format): ReadList {
  const whole = decodeWhole(list, format);
  if (whole !== undefined) {
    const entries = whole.map((message, position) => toEntry(format, list[position], message, position));
    return { format, entries, faults: [], removals: [], length: list.length };
  }
  return readOneByOne(list, format);
}

function decodeWhole(list: readonly unknown[], format: Format): Message[] | undefined {
  try {
    return codecFor(format).decode(list);
  } catch {
    return undefined;
  }
}

function readOneByOne(list: readonly unknown[], format: Format): ReadList {
  const codec = codecFor(format);
  const previous: Message[] = [];
  const entries: Entry[] = [];
  const faults: Fault[] = [];
  const removals: { position: number; id: unknown }[] = [];
  const add = (native: unknown, position: number): void => {
    try {
      const [message] = codec.decode([native], previous);
      if (message === undefined) return;
      entries.push(toEntry(format, native, message, position));
      previous.push(message);
    } catch (error) {
      faults.push(toFault(native, position, error, `messages[${previous.length}]`));
    }
  };
  const remove = (native: NativeObject, position: number): void => {
    const { id } = fieldsOf(format, native);
    removals.push({ position, id });
    // What stands before is gone: the list that counts begins here.
    if (id === REMOVE_ALL) for (const before of [previous, entries, faults]) before.length = 0;
  };
  list.forEach((native, position) => {
    if (format === "langchain" && isRemoval(native)) remove(native, position);
    else add(native, position);
  });
  return { format, entries, faults, removals, length: list.length };
}

function isRemoval(native: unknown): native is NativeObject {
  if (!isObject(native)) return false;
  if (native.lc === 1 && Array.isArray(native.id)) return native.id.at(-1) === "RemoveMessage";
  const getType = native.getType ?? native._getType;
  if (typeof getType === "function") return (getType as () => unknown).call(native) === "remove";
  return native.type === "remove" || native.role === "remove";
}

function toEntry(format: Format, native: unknown, message: Message, position: number): Entry {
  const object = isObject(native) ? native : {};
  return {
    native: object,
    position,
    message,
    cells: cellsOf(format, object, message, `messages[${position}]`),
  };
}

function toFault(native: unknown, position: number, error: unknown, said: string): Fault {
  const path = `messages[${position}]`;
  if (!CompactError.isInstance(error)) return { native, position, path, problem: "cannot be read" };
  const place = error.place ?? said;
  const problem = error.message.startsWith(place) ? error.message.slice(place.length).trim() : error.message;
  return { native, position, path: place.replace(said, path), problem };
}

/** Where the entries of a format keep their parts, and the ids that pair calls with results. */
interface Shape {
  /** The field that holds an entry's parts as blocks; undefined where a part is more than a block, or less. */
  readonly blocks?: (native: NativeObject) => "content" | "parts" | undefined;
  /** Fields of an entry that hold its calls, apart from what is said. */
  readonly callLists?: readonly string[];
  /** The field of a call, and that of a result, with the call's id. */
  readonly callId: string;
  readonly resultId: string;
  /** Whether the wire refuses this call, or this result, without an id; never when left out. */
  readonly needsCallId?: (value: NativeObject, path: string) => boolean;
  readonly needsResultId?: (native: NativeObject) => boolean;
}

/** Item calls that only the host can answer, so that they need an id. */
const CLIENT_ITEM_CALLS = new Set([
  "function_call",
  "custom_tool_call",
  "shell_call",
  "apply_patch_call",
  "computer_call",
]);

const always = (): boolean => true;

/** OpenAI's items: calls and results are entries of their own. */
const itemShape = (idField: string): Shape => ({
  blocks: ({ type }) => ((filled(type) ?? "message") === "message" ? "content" : undefined),
  callId: idField,
  resultId: idField,
  needsCallId: ({ type }) => CLIENT_ITEM_CALLS.has(String(type)),
  needsResultId: always,
});

const SHAPES: Readonly<Record<Format, Shape>> = {
  "openai-chat": {
    callLists: ["tool_calls"],
    callId: "id",
    resultId: "tool_call_id",
    needsCallId: (_value, path) => !path.endsWith(".function_call"),
    needsResultId: ({ role }) => role !== "function",
  },
  "openai-responses": itemShape("call_id"),
  "openai-agents": itemShape("callId"),
  anthropic: { blocks: () => "content", callId: "id", resultId: "tool_use_id" },
  gemini: { blocks: () => "parts", callId: "id", resultId: "id" },
  "ai-sdk": {
    blocks: ({ parts }) => (Array.isArray(parts) ? "parts" : "content"),
    callId: "id",
    resultId: "toolCallId",
  },
  langchain: {
    callLists: ["tool_calls", "invalid_tool_calls"],
    callId: "id",
    resultId: "tool_call_id",
    needsCallId: always,
    needsResultId: always,
  },
  pi: {
    blocks: ({ role, content }) => (role === "toolResult" || content === undefined ? undefined : "content"),
    callId: "id",
    resultId: "toolCallId",
    needsCallId: always,
    needsResultId: always,
  },
};

/** The field in which an entry keeps its parts as blocks. */
export function blockField(format: Format, native: NativeObject): "content" | "parts" | undefined {
  return SHAPES[format].blocks?.(native);
}

/** A native block (or a whole entry) with the neutral parts that were read from it. */
export interface Cell {
  readonly value: unknown;
  /** Where it stands, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly parts: readonly Part[];
}

/** The cells of an entry in the order of the wire; every part of the message is in exactly one. */
function cellsOf(format: Format, native: NativeObject, message: Message, place: string): Cell[] {
  const { callLists } = SHAPES[format];
  const list = blockField(format, native);
  if (list !== undefined) return blockCells(native[list], `${place}.${list}`, message.parts, format);
  if (callLists !== undefined && message.role !== "tool") return holderCells(format, native, message, place);
  return [{ value: native, path: place, parts: message.parts }];
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
  const placed = (SHAPES[format].callLists ?? []).flatMap((name) => {
    const list: readonly unknown[] = Array.isArray(fields[name]) ? fields[name] : [];
    return list.map((value, index) => ({ value, path: `${name}[${index}]` }));
  });
  if (placed.length > 0 || !isObject(fields.function_call)) return placed;
  return [{ value: fields.function_call, path: "function_call" }];
}

/** True for a call that the wire needs an id for and that has none. */
export function lacksCallId(format: Format, { value, path, parts }: Cell): boolean {
  if (!parts.some((part) => part.type === "toolCall") || !isObject(value)) return false;
  const { callId, needsCallId } = SHAPES[format];
  return needsCallId?.(value, path) === true && filled(value[callId]) === undefined;
}

/** True for a result that the wire needs an id for and that has none. */
export function lacksResultId(format: Format, { native, message }: Entry): boolean {
  const { resultId, needsResultId } = SHAPES[format];
  if (message.role !== "tool" || needsResultId?.(native) !== true) return false;
  return filled(fieldsOf(format, native)[resultId]) === undefined;
}

/** A copy of a call's native block with this id. */
export function withCallId(format: Format, value: unknown, id: string): unknown {
  return isObject(value) ? copyWith(value, { [SHAPES[format].callId]: id }) : value;
}

/** A copy of a result's native block or entry that answers the call with this id. */
export function withResultId(format: Format, value: unknown, id: string): unknown {
  if (!isObject(value)) return value;
  const change = { [SHAPES[format].resultId]: id };
  return format === "langchain" ? viewMessage(value, "message").write(change) : copyWith(value, change);
}

/** A copy of the entry in which blocks are replaced: from each old block to the new one. */
export function replaceBlocks(
  format: Format,
  native: NativeObject,
  replaced: ReadonlyMap<unknown, unknown>,
): unknown {
  const swap = (value: unknown): unknown => (replaced.has(value) ? replaced.get(value) : value);
  if (replaced.has(native)) return replaced.get(native);
  const field = blockField(format, native);
  if (field !== undefined) return copyWith(native, { [field]: swapAll(native[field], swap) });
  const fields = fieldsOf(format, native);
  const changes: Record<string, unknown> = {};
  for (const name of SHAPES[format].callLists ?? [])
    if (Array.isArray(fields[name])) changes[name] = swapAll(fields[name], swap);
  return format === "langchain" ? viewMessage(native, "message").write(changes) : copyWith(native, changes);
}

function swapAll(content: unknown, swap: (value: unknown) => unknown): unknown {
  return Array.isArray(content) ? content.map(swap) : swap(content);
}

/** The `type` of a block, or "" when it has none. */
export function typeOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "";
}

/** True for an entry of system text. */
export function isSystem({ message }: Entry): boolean {
  return message.role === "system" || message.role === "developer";
}

/** True for a string, or a text block, that says nothing. */
export function isBlankText(value: unknown): boolean {
  const text = isObject(value) ? (value.type === "text" ? value.text : undefined) : value;
  return typeof text === "string" && text.trim() === "";
}

/** The words of parts, for the record of what was taken out. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.map(words).join("\n");
}

function words(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "toolCall":
      return `${part.name}(${jsonText(part.arguments)})`;
    case "media":
      return `[${part.mediaType}]`;
    case "toolResult":
      return jsonText(part.content);
  }
}
