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

/** A native block (or a whole entry) with the neutral parts that were read from it. */
export interface Cell {
  readonly value: unknown;
  /** Where it stands, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly parts: readonly Part[];
}

/** The cells of an entry in the order of the wire; every part of the message is in exactly one. */
function cellsOf(format: Format, native: NativeObject, message: Message, place: string): Cell[] {
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

/** Item calls that only the host can answer, so that they need an id. */
const CLIENT_ITEM_CALLS = new Set([
  "function_call",
  "custom_tool_call",
  "shell_call",
  "apply_patch_call",
  "computer_call",
]);

/** The field of an item that pairs calls and outputs. */
function itemIdField(format: Format): "call_id" | "callId" {
  return format === "openai-agents" ? "callId" : "call_id";
}

/** True for a call that the wire needs an id for and that has none. */
export function lacksCallId(format: Format, cell: Cell): boolean {
  const { value } = cell;
  if (!cell.parts.some((part) => part.type === "toolCall") || !isObject(value)) return false;
  switch (format) {
    case "openai-chat":
      return !cell.path.endsWith(".function_call") && filled(value.id) === undefined;
    case "langchain":
    case "pi":
      return filled(value.id) === undefined;
    case "openai-responses":
    case "openai-agents":
      return CLIENT_ITEM_CALLS.has(String(value.type)) && filled(value[itemIdField(format)]) === undefined;
    default:
      return false;
  }
}

/** True for a result that the wire needs an id for and that has none. */
export function lacksResultId(format: Format, entry: Entry): boolean {
  const { native, message } = entry;
  if (message.role !== "tool") return false;
  switch (format) {
    case "openai-chat":
      return native.role !== "function" && filled(native.tool_call_id) === undefined;
    case "langchain":
      return filled(fieldsOf(format, native).tool_call_id) === undefined;
    case "pi":
      return filled(native.toolCallId) === undefined;
    case "openai-responses":
    case "openai-agents":
      return filled(native[itemIdField(format)]) === undefined;
    default:
      return false;
  }
}

/** A copy of a call's native block with this id. */
export function withCallId(format: Format, value: unknown, id: string): unknown {
  if (!isObject(value)) return value;
  const isItem = format === "openai-responses" || format === "openai-agents";
  return copyWith(value, { [isItem ? itemIdField(format) : "id"]: id });
}

/** A copy of a result's native block or entry that answers the call with this id. */
export function withResultId(format: Format, value: unknown, id: string): unknown {
  if (!isObject(value)) return value;
  if (format === "langchain") return viewMessage(value, "message").write({ tool_call_id: id });
  return copyWith(value, { [RESULT_FIELDS[format] ?? "id"]: id });
}

const RESULT_FIELDS: Partial<Record<Format, string>> = {
  "openai-chat": "tool_call_id",
  "openai-responses": "call_id",
  "openai-agents": "callId",
  anthropic: "tool_use_id",
  "ai-sdk": "toolCallId",
  pi: "toolCallId",
};

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
  for (const name of ["tool_calls", "invalid_tool_calls"])
    if (Array.isArray(fields[name])) changes[name] = swapAll(fields[name], swap);
  return format === "langchain" ? viewMessage(native, "message").write(changes) : copyWith(native, changes);
}

function swapAll(content: unknown, swap: (value: unknown) => unknown): unknown {
  return Array.isArray(content) ? content.map(swap) : swap(content);
}

// What a call was given: an object, or JSON text of one. Answers that were aborted leave neither.

/** Under this name a call keeps what it was given and is no object; Anthropic's pages on streamed inputs call it so. */
const UNREADABLE = "INVALID_JSON";

/** The formats in which a call's input is an object, and where it stands in the block. */
const OBJECT_FIELDS: Partial<Record<Format, string>> = {
  anthropic: "input",
  gemini: "args",
  langchain: "args",
  pi: "arguments",
};

/** True for a call whose input is no object where its format wants one. */
export function lacksInputObject(format: Format, cell: Cell): boolean {
  const field = OBJECT_FIELDS[format];
  if (field === undefined || !isCall(cell) || cell.path.includes("invalid_tool_calls")) return false;
  const input = holderOf(format, cell.value)?.[field];
  // Gemini and LangChain take calls without arguments.
  const mayLack = format === "gemini" || format === "langchain";
  return !isObject(input) && !(mayLack && (input === undefined || input === null));
}

/** True for a call whose arguments are text that no parser takes; empty text is an empty object to most. */
export function lacksReadableArguments({ value, parts }: Cell): boolean {
  if (!parts.some((part) => part.type === "toolCall")) return false;
  const holder = callHolder(value);
  const text = holder?.arguments;
  return typeof text === "string" && text.trim() !== "" && parsed(text) === undefined;
}

/** A copy of the call's block with an object for its input: what the text holds, or the text under a name that says so. */
export function withReadableInput(format: Format, value: unknown): unknown {
  if (!isObject(value)) return value;
  const field = OBJECT_FIELDS[format];
  const holder = field === undefined ? callHolder(value) : holderOf(format, value);
  if (holder === undefined) return value;
  if (field === undefined) {
    const wrapped = JSON.stringify({ [UNREADABLE]: holder.arguments });
    return rewrap(value, holder, { arguments: wrapped });
  }
  return rewrap(value, holder, { [field]: objectFrom(holder[field]) });
}

function objectFrom(input: unknown): object {
  if (input === undefined || input === null || input === "") return {};
  const held = typeof input === "string" ? parsed(input) : undefined;
  return isObject(held) ? held : { [UNREADABLE]: jsonText(input) };
}

function isCall({ parts }: Cell): boolean {
  return parts.some((part) => part.type === "toolCall");
}

/** The object in a block that holds the input: Gemini's and Chat Completions' blocks hold it one level down. */
function holderOf(format: Format, value: unknown): NativeObject | undefined {
  if (!isObject(value)) return undefined;
  if (format !== "gemini") return value;
  const call = value.functionCall ?? value.function_call;
  return isObject(call) ? call : undefined;
}

function callHolder(value: unknown): NativeObject | undefined {
  if (!isObject(value)) return undefined;
  if (isObject(value.function)) return value.function;
  return value.type === "function_call" || value.type === undefined ? value : undefined;
}

function rewrap(value: NativeObject, holder: NativeObject, changes: object): unknown {
  const changed = copyWith(holder, { ...changes });
  if (holder === value) return changed;
  const key = Object.keys(value).find((name) => value[name] === holder) ?? "";
  return copyWith(value, { [key]: changed });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
