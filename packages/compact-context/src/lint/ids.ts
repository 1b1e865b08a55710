import { viewMessage } from "../codecs/langchain-view.ts";
import { copyWith, filled, type NativeObject } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { isObject } from "../errors.ts";
import { blockField, type Cell, fieldsOf } from "./cells.ts";
import type { Entry } from "./entries.ts";

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
