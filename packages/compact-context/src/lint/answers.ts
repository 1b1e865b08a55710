import { codecFor } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import type { Format, Message } from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import type { PlacedCall } from "./pairs.ts";
import { typeOf } from "./rule.ts";

/** What a call is answered with that never was: it claims nothing but that. */
export const NO_RESULT = "[no result was recorded: the call was interrupted]";

/** What opens a conversation where the provider demands that the user begins. */
const OPENING = "[conversation continues]";

/** What stands between two user messages where the template wants the assistant to have spoken. */
export const NO_REPLY = "[no reply was recorded]";

/** A block that answers the call, for formats in which results are blocks of an entry. */
export function answerBlock(format: Format, call: PlacedCall): unknown {
  const { id, name } = call.part;
  if (format === "anthropic")
    return { type: "tool_result", tool_use_id: id, content: NO_RESULT, is_error: true };
  if (format === "ai-sdk")
    return {
      type: "tool-result",
      toolCallId: id,
      toolName: name,
      output: { type: "error-text", value: NO_RESULT },
    };
  const block = objectOf(call.cell.value);
  const own = filled(objectOf(block.functionCall ?? block.function_call).id);
  const named = own === undefined ? { name } : { id: own, name };
  return { functionResponse: { ...named, response: { error: NO_RESULT } } };
}

/** A whole entry that answers the call; undefined for calls whose answer nobody can make up. */
export function answerEntry(format: Format, call: PlacedCall): unknown {
  const { value } = call.cell;
  if (format === "openai-responses" || format === "openai-agents") return answerItem(format, value);
  const { timestamp } = call.entry.message.meta ?? {};
  const { id, name } = call.part;
  const answer: Message = defined({
    id: `answer_${id}`,
    role: "tool",
    parts: [{ type: "toolResult", id, name, content: NO_RESULT, isError: true }],
    meta: timestamp === undefined ? undefined : { timestamp },
  });
  return codecFor(format).encode([call.entry.message, answer]).at(-1);
}

function answerItem(format: Format, value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const type = typeOf(value);
  if (format === "openai-agents" && type === "function_call") {
    const output = { type: "text", text: NO_RESULT };
    const { callId, name } = value;
    return { type: "function_call_result", callId, name, status: "incomplete", output };
  }
  const field = format === "openai-agents" ? "callId" : "call_id";
  const answer = { type: `${type}_output`, [field]: value[field] };
  switch (type) {
    case "function_call":
    case "custom_tool_call":
      return { ...answer, output: NO_RESULT };
    case "local_shell_call":
      return { type: "function_call_output", [field]: value[field], output: NO_RESULT };
    case "apply_patch_call":
      return { ...answer, status: "failed", output: NO_RESULT };
    case "shell_call": {
      const exit = format === "openai-agents" ? { exitCode: 1 } : { exit_code: 1 };
      const outcome = { type: "exit", ...exit };
      return { ...answer, output: [{ stdout: "", stderr: NO_RESULT, outcome }] };
    }
    default:
      return undefined;
  }
}

/** A part of the interface's messages that failed instead of waiting on. */
export function failedUiCall(value: unknown): unknown {
  return isObject(value) ? copyWith(value, { state: "output-error", errorText: NO_RESULT }) : value;
}

/** An entry in which results stand, without any yet. */
export function emptyHost(format: Format): NativeObject {
  if (format === "gemini") return { role: "user", parts: [] };
  return { role: format === "ai-sdk" ? "tool" : "user", content: [] };
}

/** A user entry that opens a conversation. */
export function openingEntry(format: Format): unknown {
  return format === "gemini"
    ? { role: "user", parts: [{ text: OPENING }] }
    : { role: "user", content: OPENING };
}
