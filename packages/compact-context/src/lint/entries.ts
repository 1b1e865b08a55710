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

/** One place where a rule is broken. */
export interface Finding {
  readonly position: number;
  readonly path: string;
  /** What is wrong at this place; the rule's own explanation when left out. */
  readonly problem?: string;
  readonly entry?: Entry;
  /** The block that is wrong; absent where it is the entry. */
  readonly cell?: Cell;
  /** Index of the block inside of a result that is wrong. */
  readonly inner?: number;
  /** What the type of the entry would have to be. */
  readonly wanted?: string;
}

export interface Rule extends RuleInfo {
  readonly check: (list: ReadList, options: LintOptions) => readonly Finding[];
  /**
   * What stands in the place of the block or entry from now on; undefined where it goes. Rules without it are mended by
   * a step of `repair` that looks at the whole list.
   */
  readonly fix?: (value: NativeObject, finding: Finding, format: Format) => unknown;
}

/** A rule of a table whose rules are all of the same formats; an error unless it says otherwise. */
type Row = Omit<Rule, "formats" | "severity"> & Partial<Pick<Rule, "formats" | "severity">>;

export function rulesOf(formats: readonly Format[], rows: readonly Row[]): Rule[] {
  return rows.map((row) => ({ formats, severity: "error", ...row }));
}

/** The fix of what has no place in a list. */
export const drop = (): undefined => undefined;

/** A finding at an entry. */
export function atEntry(entry: Entry, problem?: string): Finding {
  return at(entry, `messages[${entry.position}]`, problem);
}

/** A finding at a path within an entry. */
export function at(entry: Entry, path: string, problem?: string): Finding {
  return { position: entry.position, path, problem, entry };
}

/** A finding at a block. */
export function atCell(entry: Entry, cell: Cell, problem?: string): Finding {
  return { ...at(entry, cell.path, problem), cell };
}

/** A finding for every cell that `isWrong`. */
export function badCells(
  list: ReadList,
  isWrong: (cell: Cell, entry: Entry, index: number) => boolean,
): Finding[] {
  return list.entries.flatMap((entry) =>
    entry.cells.filter((cell, index) => isWrong(cell, entry, index)).map((cell) => atCell(entry, cell)),
  );
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

export type Severity = "error" | "warning";

/** One rule of a provider that a list breaks. */
export interface Violation {
  /** Stable id, such as `anthropic/result-in-next-message`. */
  readonly rule: string;
  /** `error`: the provider refuses the list or loses something; `warning`: it is accepted, but costs or surprises. */
  readonly severity: Severity;
  /** Index of the native entry. */
  readonly index: number;
  /** Where in the list, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly explanation: string;
  /** Page or title of the provider's own document. */
  readonly link: string;
}

export interface LintOptions {
  /** The model that the list is to be sent to; sealed reasoning of another one is then reported. */
  readonly model?: string;
  /** Hold to what strict chat templates demand: alternating roles, one system message first, a user message. */
  readonly strict?: boolean;
  /** The model checks that reasoning comes back behind the very prefix it was made for. */
  readonly thinkingBound?: boolean;
  /** Index of the first entry that differs from what the provider saw; for `thinkingBound`. */
  readonly editedAt?: number;
  /** True unless said otherwise: the list may end with calls that are still being answered. */
  readonly pendingAllowed?: boolean;
}

/** One change that `repair` made. */
export interface Mend {
  /** The rule that was broken. */
  readonly rule: string;
  /** Index of the entry in the list that came in. */
  readonly index: number;
  readonly action: "moved" | "merged" | "dropped" | "answered" | "rewritten" | "added";
  readonly explanation: string;
  /** The text of what was taken out, so that it is not lost. */
  readonly removed?: string;
  /** What was put in and nobody said: a synthetic result or opening. */
  readonly added?: unknown;
}

export interface Repaired {
  /** A new array; entries that needed no change are the caller's own objects. */
  readonly messages: unknown[];
  readonly mends: readonly Mend[];
  /** Index in `messages` from which on they differ from the list that came in; for `LintOptions.editedAt`. */
  readonly editedAt?: number;
}

/** What the table of rules says of one. */
export interface RuleInfo {
  readonly id: string;
  readonly formats: readonly Format[];
  readonly severity: Severity;
  readonly explanation: string;
  readonly link: string;
  /** What `repair` does about it; absent when it can only be reported. */
  readonly mend?: string;
}
