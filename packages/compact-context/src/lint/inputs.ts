import { copyWith, type NativeObject } from "../codecs/native.ts";
import { type Format, jsonText } from "../core/message.ts";
import { isObject } from "../errors.ts";
import type { Cell } from "./cells.ts";

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
