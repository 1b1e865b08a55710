import { codecFor } from "../codecs/formats.ts";
import { copyWithFields, fieldsOf } from "../codecs/langchain.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import type { Slot } from "../codecs/slots.ts";
import { type Format, jsonText, type Message, type Part } from "../core/message.ts";
import { CompactError, isObject } from "../errors.ts";

export interface LintOptions {
  /** The model that receives the list; sealed reasoning of other models is then reported. */
  readonly model?: string;
  /** That model's window in tokens: a large one takes more images. Default: a small one. */
  readonly maxContextTokens?: number;
  /**
   * Applies the rules of strict chat templates: alternating roles, one system message first, a user message.
   */
  readonly strict?: boolean;
  /** The list may end with calls that are still being answered. Default: true. */
  readonly pendingAllowed?: boolean;
}

export interface CheckOptions extends LintOptions {
  /** Surplus images stay: a session removes them itself, after it has archived them. */
  readonly imagesStay?: true;
}

export interface Entry {
  readonly native: NativeObject;
  /** Index in the list under inspection. */
  readonly position: number;
  readonly message: Message;
  readonly cells: readonly Cell[];
}

export interface Fault {
  readonly native: unknown;
  readonly position: number;
  readonly path: string;
  readonly problem: string;
}

export interface ReadList {
  readonly format: Format;
  readonly options: CheckOptions;
  /** Entries that could be read, in order. */
  readonly entries: readonly Entry[];
  readonly faults: readonly Fault[];
  /** LangChain's removal orders, which are not messages. */
  readonly removals: readonly { readonly position: number; readonly id: unknown }[];
  readonly length: number;
}

/** The id by which LangGraph removes every message. */
export const REMOVE_ALL = "__remove_all__";

export function readEntries(list: readonly unknown[], format: Format, options: CheckOptions): ReadList {
  const whole = { format, options, length: list.length };
  try {
    return { ...whole, entries: read(list, format, [], (index) => index), faults: [], removals: [] };
  } catch {
    return { ...whole, ...readOneByOne(list, format) };
  }
}

function read(
  natives: readonly unknown[],
  format: Format,
  previous: readonly Message[],
  positionOf: (index: number) => number,
): Entry[] {
  const placeOf = (index: number): string => `messages[${positionOf(index)}]`;
  const slots: (readonly Slot[])[] = [];
  return codecFor(format)
    .read(natives, previous, placeOf, slots)
    .map((message, index) => {
      let next = 0;
      const cells = (slots[index] ?? []).map(({ block, parts, path }): Cell => {
        const start = next;
        next += parts.length;
        const isAll = parts.length === message.parts.length;
        return { value: block, path, parts: isAll ? message.parts : message.parts.slice(start, next) };
      });
      return { native: natives[index] as NativeObject, position: positionOf(index), message, cells };
    });
}

function readOneByOne(
  list: readonly unknown[],
  format: Format,
): Pick<ReadList, "entries" | "faults" | "removals"> {
  const previous: Message[] = [];
  const entries: Entry[] = [];
  const faults: Fault[] = [];
  const removals: { position: number; id: unknown }[] = [];
  list.forEach((native, position) => {
    if (format === "langchain" && isRemoval(native)) {
      const { id } = fieldsOf(native);
      removals.push({ position, id });
      // Everything before is removed: the effective list starts here.
      if (id === REMOVE_ALL) for (const before of [previous, entries, faults]) before.length = 0;
      return;
    }
    try {
      for (const entry of read([native], format, previous, () => position)) {
        entries.push(entry);
        previous.push(entry.message);
      }
    } catch (error) {
      faults.push(toFault(native, position, error));
    }
  });
  return { entries, faults, removals };
}

function isRemoval(native: unknown): native is NativeObject {
  if (!isObject(native)) return false;
  if (native.lc === 1 && Array.isArray(native.id)) return native.id.at(-1) === "RemoveMessage";
  const getType = native.getType ?? native._getType;
  if (typeof getType === "function") return (getType as () => unknown).call(native) === "remove";
  return native.type === "remove" || native.role === "remove";
}

function toFault(native: unknown, position: number, error: unknown): Fault {
  const own = `messages[${position}]`;
  if (!CompactError.isInstance(error)) return { native, position, path: own, problem: "cannot be read" };
  const { place: path = own, message } = error;
  const problem = message.startsWith(path) ? message.slice(path.length).trim() : message;
  return { native, position, path, problem };
}

/** Where a format keeps an entry's parts, and the ids that pair calls with results. */
interface Shape {
  /** The field with an entry's parts as blocks; undefined if parts and blocks do not match one to one. */
  readonly blocks?: (native: NativeObject) => "content" | "parts" | undefined;
  /** The fields with the call's id, in a call and in a result. */
  readonly callId: string;
  readonly resultId: string;
  /** Whether this call, or this result, needs an id. Default: never. */
  readonly needsCallId?: (value: NativeObject, path: string) => boolean;
  readonly needsResultId?: (native: NativeObject) => boolean;
}

/** Item calls that only the host can answer; they need an id. */
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
    callId: "id",
    resultId: "tool_call_id",
    // A Responses block has its id in `call_id`.
    needsCallId: ({ call_id }) => filled(call_id) === undefined,
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

/** A native block (or a whole entry) with its neutral parts. */
export interface Cell {
  readonly value: unknown;
  /** Path, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly parts: readonly Part[];
}

/** True for a call without the id that its format requires. */
export function lacksCallId(format: Format, { value, path, parts }: Cell): boolean {
  if (!parts.some((part) => part.type === "toolCall") || !isObject(value)) return false;
  const { callId, needsCallId } = SHAPES[format];
  return needsCallId?.(value, path) === true && filled(value[callId]) === undefined;
}

/** True for a result without the id that its format requires. */
export function lacksResultId(format: Format, { native, message }: Entry): boolean {
  const { resultId, needsResultId } = SHAPES[format];
  if (message.role !== "tool" || needsResultId?.(native) !== true) return false;
  return filled(wireFields(format, native)[resultId]) === undefined;
}

/** A copy of a call's native block with this id. */
export function withCallId(format: Format, value: unknown, id: string): unknown {
  return isObject(value) ? copyWith(value, { [SHAPES[format].callId]: id }) : value;
}

/** A copy of a result's native block or entry that answers the call with this id. */
export function withResultId(format: Format, value: unknown, id: string): unknown {
  return isObject(value) ? withFields(format, value, { [SHAPES[format].resultId]: id }) : value;
}

/** The fields of an entry, independent of its representation. */
export function wireFields(format: Format, native: NativeObject): NativeObject {
  return format === "langchain" ? fieldsOf(native) : native;
}

/** A copy of an entry with other fields; undefined removes one. */
export function withFields(format: Format, native: NativeObject, changes: NativeObject): unknown {
  return format === "langchain" ? copyWithFields(native, changes) : copyWith(native, changes);
}

const HOLDERS = ["content", "parts", "tool_calls", "invalid_tool_calls", "function_call"];

/** A copy of the entry with blocks replaced, by a map from old to new. */
export function replaceBlocks(
  format: Format,
  native: NativeObject,
  replaced: ReadonlyMap<unknown, unknown>,
): unknown {
  const swap = (value: unknown): unknown => {
    if (replaced.has(value)) return replaced.get(value);
    return Array.isArray(value) ? value.map((one) => (replaced.has(one) ? replaced.get(one) : one)) : value;
  };
  if (replaced.has(native)) return replaced.get(native);
  const fields = wireFields(format, native);
  const changes: Record<string, unknown> = {};
  for (const name of HOLDERS) if (name in fields) changes[name] = swap(fields[name]);
  const { additional_kwargs: extra } = fields;
  if (isObject(extra) && Array.isArray(extra.tool_calls))
    changes.additional_kwargs = { ...extra, tool_calls: swap(extra.tool_calls) };
  return withFields(format, native, changes);
}

export function entryWith(format: Format, entry: Entry, cells: readonly Cell[]): unknown {
  const field = SHAPES[format].blocks?.(entry.native);
  if (field === undefined) {
    const parts = cells.flatMap((cell) => cell.parts);
    return codecFor(format).encode([{ ...entry.message, parts, edited: true }])[0];
  }
  // Formats that allow both a string and blocks as content use the same type for text blocks.
  const blocks = cells.map(({ value }) =>
    typeof value === "string" ? { type: "text", text: value } : value,
  );
  return copyWith(entry.native, { [field]: blocks });
}

/** The `type` of a block, or "" if it has none. */
export function typeOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "";
}

export function isSystem({ message }: Entry): boolean {
  return message.role === "system" || message.role === "developer";
}

/** True for an item that carries its content for the provider. */
export function isSealed(native: NativeObject): boolean {
  return [native, objectOf(native.providerData)].some(
    (bag) => filled(bag.encrypted_content) !== undefined || filled(bag.encryptedContent) !== undefined,
  );
}

/** True for a string or text block that is empty or blank. */
export function isBlankText(value: unknown): boolean {
  const text = isObject(value) ? (value.type === "text" ? value.text : undefined) : value;
  return typeof text === "string" && text.trim() === "";
}

/** The text of parts, as a record of what was removed. */
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
