import type { Rejection } from "./answers.ts";
import { openAiError, openAiFailure, unsupportedParameter } from "./openai-errors.ts";
import { createPromptCache, type Segment } from "./prompt-cache.ts";
import {
  type Answered,
  type Answering,
  argumentsText,
  type Frame,
  firstOf,
  isObject,
  type Json,
  type ModelSettings,
  objectsIn,
  PER_MESSAGE,
  pieces,
  type Wire,
} from "./wire.ts";

const PARAMETERS = new Set(
  `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop
  store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`.split(
    /\s+/,
  ),
);
const ROLES = ["system", "assistant", "user", "function", "tool", "developer"];

/** OpenAI's `POST /v1/chat/completions`. */
export function createOpenAiChat(
  settings: ModelSettings,
  cache: { readonly kind: "prefix" | "whole"; now(): number },
): Wire {
  return {
    path: "/v1/chat/completions",
    cache: createPromptCache({ ...cache, least: 1024 }),
    check: ({ body }) => check(body, settings),
    segments: (body) => segmentsOf(body, settings),
    limit: (body) => [body.max_completion_tokens, body.max_tokens].find((value) => typeof value === "number"),
    overflow: (input, body) => overflow(input, body, settings),
    answer: answer,
    errorBody: openAiError,
    failure: openAiFailure,
  };
}

function check(body: Json, settings: ModelSettings): Rejection | undefined {
  const messages = objectsIn(body.messages);
  return firstOf([
    () => (typeof body.model === "string" ? undefined : bad("you must provide a model parameter", null)),
    () => unknownParameter(body),
    () => unsupportedParameter(body, settings.unsupported, "chat"),
    () =>
      Array.isArray(body.messages) && body.messages.length > 0
        ? undefined
        : bad(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "messages",
            "empty_array",
          ),
    () =>
      typeof body.temperature === "number" && (body.temperature < 0 || body.temperature > 2)
        ? bad(
            `Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got ${body.temperature} instead.`,
            "temperature",
            "decimal_above_max_value",
          )
        : undefined,
    () => firstOf(messages.map((message, index) => () => checkMessage(message, index))),
    () => checkPairs(messages),
  ]);
}

function bad(message: string, param: string | null, code: string | null = null): Rejection {
  return { status: 400, type: "invalid_request_error", message, param, code };
}

function unknownParameter(body: Json): Rejection | undefined {
  const name = Object.keys(body).find((key) => !PARAMETERS.has(key));
  return name === undefined ? undefined : bad(`Unrecognized request argument supplied: ${name}`, null);
}

function checkMessage(message: Json, index: number): Rejection | undefined {
  const { role, content, tool_calls: calls } = message;
  if (typeof role !== "string" || !ROLES.includes(role)) {
    const known = ROLES.map((one) => `'${one}'`).join(", ");
    return bad(
      `Invalid value: '${String(role)}'. Supported values are: ${known}.`,
      `messages[${index}].role`,
      "invalid_value",
    );
  }
  if (Array.isArray(calls) && calls.length === 0) {
    return bad(
      `Invalid 'messages[${index}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      `messages[${index}].tool_calls`,
      "empty_array",
    );
  }
  const hasCalls = Array.isArray(calls) || isObject(message.function_call) || message.refusal != null;
  if (content == null && !(role === "assistant" && hasCalls)) {
    return bad(
      `Invalid value for 'content': expected a string, got null.`,
      `messages.[${index}].content`,
      null,
    );
  }
  return undefined;
}

/** Every call must be answered directly by tool messages, with nothing in between. */
function checkPairs(messages: readonly Json[]): Rejection | undefined {
  let open = new Set<string>();
  const unanswered = (): Rejection | undefined =>
    open.size === 0
      ? undefined
      : bad(
          `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
          "messages",
        );
  let called = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const id = String(message.tool_call_id);
      if (called.size === 0) {
        return bad(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `messages.[${index}].role`,
        );
      }
      if (!called.has(id)) {
        return bad(
          `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
          `messages.[${index}].tool_call_id`,
        );
      }
      open.delete(id);
      continue;
    }
    const found = unanswered();
    if (found !== undefined) return found;
    const ids = objectsIn(message.tool_calls).map((call) => String(call.id));
    called = new Set(ids);
    open = new Set(ids);
    if (called.size < ids.length)
      return bad(`Duplicate tool call ids in 'messages[${index}].tool_calls'.`, "messages");
  }
  return unanswered();
}

function segmentsOf(body: Json, { countText }: ModelSettings): Segment[] {
  const segment = (value: unknown): Segment => {
    const text = JSON.stringify(value);
    return { text, tokens: PER_MESSAGE + countText(spoken(value)) };
  };
  const tools = objectsIn(body.tools).map((tool) => {
    const text = JSON.stringify(tool);
    return { text, tokens: countText(text) };
  });
  return [...tools, ...objectsIn(body.messages).map(segment)];
}

/** The parts of a message that the model reads. */
function spoken(value: unknown): string {
  if (!isObject(value)) return "";
  const content =
    typeof value.content === "string" ? value.content : objectsIn(value.content).map(partText).join("");
  const calls = objectsIn(value.tool_calls).map((call) =>
    isObject(call.function) ? `${String(call.function.name)}${String(call.function.arguments)}` : "",
  );
  return `${content}${calls.join("")}`;
}

/** Images count as text of a fixed length, because the stub does not know their sizes. */
const IMAGE = "image ".repeat(800);

function partText(part: Json): string {
  if (typeof part.text === "string") return part.text;
  return typeof part.refusal === "string" ? part.refusal : IMAGE;
}

function overflow(input: number, body: Json, { window }: ModelSettings): Rejection | undefined {
  const limit = [body.max_completion_tokens, body.max_tokens].find((value) => typeof value === "number") ?? 0;
  if (input <= window && input + limit <= window) return undefined;
  const asked =
    input > window
      ? `your messages resulted in ${input} tokens. Please reduce the length of the messages.`
      : `you requested ${input + limit} tokens (${input} in the messages, ${limit} in the completion). Please reduce the length of the messages or completion.`;
  return bad(
    `This model's maximum context length is ${window} tokens. However, ${asked}`,
    "messages",
    "context_length_exceeded",
  );
}

function answer(answering: Answering): Answered {
  const { body, reply, usage, outputTokens, reasoningTokens, newId } = answering;
  const calls = reply.toolCalls.map((call) => ({
    id: call.id ?? newId("call_"),
    type: "function",
    function: { name: call.name, arguments: argumentsText(call.arguments) },
  }));
  const id = newId("chatcmpl-");
  const head = { id, created: 1_780_000_000, model: String(body.model), system_fingerprint: "fp_stub" };
  const finish = finishOf(answering);
  const counted = {
    prompt_tokens: usage.input,
    completion_tokens: outputTokens,
    total_tokens: usage.input + outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      audio_tokens: 0,
      cache_write_tokens: usage.cacheWrite > 0 ? usage.cacheWrite : undefined,
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens, audio_tokens: 0 },
  };
  const spoken = reply.refusal === undefined ? reply.text : null;
  const message = {
    role: "assistant",
    content: calls.length > 0 && spoken === "" ? null : spoken,
    refusal: reply.refusal ?? null,
    annotations: [],
    tool_calls: calls.length > 0 ? calls : undefined,
  };
  const json = {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: counted,
    service_tier: "default",
  };
  const chunk = (delta: Json, finish_reason: string | null = null): Frame => ({
    data: { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  });
  const wantsUsage = isObject(body.stream_options) && body.stream_options.include_usage === true;
  const frames: Frame[] = [
    chunk({ role: "assistant", content: "", refusal: null }),
    ...pieces(reply.refusal ?? "").map((refusal) => chunk({ refusal })),
    ...pieces(spoken ?? "").map((content) => chunk({ content })),
    ...calls.flatMap((call, index) => [
      chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: "" } }] }),
      ...pieces(call.function.arguments).map((part) =>
        chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    chunk({}, finish),
    ...(wantsUsage
      ? [{ data: { ...head, object: "chat.completion.chunk", choices: [], usage: counted } }]
      : []),
    { data: "[DONE]" },
  ];
  return { json, frames, ping: ": keep-alive\n\n" };
}

function finishOf({ reply, cut }: Answering): string {
  if (reply.stop === "filter") return "content_filter";
  if (cut) return "length";
  return reply.toolCalls.length > 0 ? "tool_calls" : "stop";
}
