import type { Rejection } from "./answers.ts";
import { bad, blocksOf, checkRequest } from "./anthropic-check.ts";
import { compactionBlock } from "./anthropic-compaction.ts";
import { isGenuine, prefixHash, sign, withoutMark } from "./anthropic-thinking.ts";
import { createPromptCache, type Segment } from "./prompt-cache.ts";
import {
  type Answered,
  type Answering,
  argumentsText,
  type Frame,
  isObject,
  type Json,
  type ModelSettings,
  objectsIn,
  PER_MESSAGE,
  pieces,
  textOf,
  type Wire,
} from "./wire.ts";

/** Anthropic's `POST /v1/messages`. */
export function createAnthropic(settings: ModelSettings, clock: { now(): number }): Wire {
  return {
    path: "/v1/messages",
    cache: createPromptCache({ ...clock, kind: "marked", least: 1024 }),
    check: (incoming) => checkRequest(incoming, settings),
    segments: (body) => segmentsOf(body, settings),
    limit: (body) => (typeof body.max_tokens === "number" ? body.max_tokens : undefined),
    overflow: (input, body) => overflow(input, body, settings),
    answer: (answering) => answer(answering, settings),
    errorBody: ({ type, message, code }) => ({
      type: "error",
      error: { type, message, details: code == null ? undefined : { error_code: code } },
      request_id: "req_stub",
    }),
    failure,
  };
}

const FAILURES: Readonly<Record<number, readonly [type: string, message: string]>> = {
  401: ["authentication_error", "x-api-key header is required"],
  403: ["permission_error", "Your API key does not have permission to use the specified resource."],
  404: ["not_found_error", "model: not found"],
  413: ["request_too_large", "Request exceeds the maximum size"],
  429: ["rate_limit_error", "This request would exceed your account's rate limit. Please try again later."],
  500: ["api_error", "Internal server error"],
  529: ["overloaded_error", "Overloaded"],
};

function failure(status: number): Rejection {
  const [type, message] = FAILURES[status] ?? [
    status < 500 ? "invalid_request_error" : "api_error",
    `The request failed with status ${status}.`,
  ];
  return { status, type, message };
}

function overflow(input: number, body: Json, { window }: ModelSettings): Rejection | undefined {
  if (input > window) return bad(`prompt is too long: ${input} tokens > ${window} maximum`);
  const limit = Number(body.max_tokens);
  return input + limit > window
    ? bad(
        `input length and \`max_tokens\` exceed context limit: ${input} + ${limit} > ${window}, decrease input length or \`max_tokens\` and try again`,
      )
    : undefined;
}

function segmentsOf(body: Json, settings: ModelSettings): Segment[] {
  const model = String(body.model);
  const under = JSON.stringify([model, body.tool_choice, body.thinking]);
  const piece = (block: Json, place: string, extra: number): Segment => {
    const mark = isObject(block.cache_control) ? (block.cache_control.ttl === "1h" ? "1h" : "5m") : undefined;
    return {
      text: `${place}${JSON.stringify(withoutMark(block))}`,
      tokens: extra + settings.countText(spoken(block)),
      under: place === "tool" || place === "system" ? model : under,
      mark,
    };
  };
  const messages = keptMessages(body, settings);
  const segments = [
    ...objectsIn(body.tools).map((tool) => piece(tool, "tool", 0)),
    ...blocksOf(body.system ?? []).map((block) => piece(block, "system", 0)),
    ...messages.flatMap(({ role, content }) =>
      blocksOf(content).map((block, index) => piece(block, String(role), index === 0 ? PER_MESSAGE : 0)),
    ),
  ];
  const last = segments.at(-1);
  if (!isObject(body.cache_control) || last === undefined) return segments;
  const mark = body.cache_control.ttl === "1h" ? "1h" : "5m";
  return [...segments.slice(0, -1), { ...last, mark }];
}

/** Thinking after an edited prefix is omitted if the model drops it. */
function keptMessages(body: Json, { boundThinking }: ModelSettings): Json[] {
  const messages = objectsIn(body.messages);
  if (boundThinking !== "drop") return messages;
  return messages.map((message, index) => {
    if (!Array.isArray(message.content)) return message;
    const prefix = prefixHash(body, messages.slice(0, index));
    const kept = blocksOf(message.content).filter(
      (block) => block.type !== "thinking" || isGenuine(block, prefix) === "yes",
    );
    return { ...message, content: kept };
  });
}

/** Number of thinking blocks dropped because the preceding messages were edited. */
function droppedThinking(body: Json, settings: ModelSettings): number {
  const count = (messages: readonly Json[]): number =>
    messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === "thinking").length;
  return count(objectsIn(body.messages)) - count(keptMessages(body, settings));
}

const DROPPED = { type: "thinking_dropped", reason: "prefix_binding_mismatch" };

const IMAGE = "image ".repeat(800);

function spoken(block: Json): string {
  if (block.type === "text" || typeof block.text === "string") return textOf(block.text);
  if (block.type === "thinking") return textOf(block.thinking);
  if (block.type === "tool_use") return `${textOf(block.name)}${JSON.stringify(block.input)}`;
  if (block.type === "tool_result")
    return blocksOf(block.content ?? [])
      .map(spoken)
      .join("");
  return block.type === "image" || block.type === "document" ? IMAGE : JSON.stringify(withoutMark(block));
}

function answer(answering: Answering, settings: ModelSettings): Answered {
  const { body, reply, usage, outputTokens, newId } = answering;
  const stopReason = stopOf(answering);
  const prefix = prefixHash(body, objectsIn(body.messages));
  const compacts = body.compaction !== undefined && stopReason === "end_turn" && reply.text !== "";
  const said: Json[] = [
    ...(reply.reasoning === ""
      ? []
      : [{ type: "thinking", thinking: reply.reasoning, signature: sign(reply.reasoning, prefix) }]),
    ...(reply.text === "" ? [] : [{ type: "text", text: reply.text }]),
    ...reply.toolCalls.map((call) => ({
      type: "tool_use",
      id: call.id ?? newId("toolu_"),
      name: call.name,
      input: inputOf(call.arguments),
    })),
  ];
  const content = compacts
    ? [compactionBlock(reply.text, objectsIn(body.messages))]
    : body.compaction === undefined
      ? said
      : [];
  const read = {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite - usage.cacheWrite1h,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    output_tokens: outputTokens,
    service_tier: "standard",
  };
  const counted =
    body.compaction === undefined
      ? read
      : { input_tokens: 0, output_tokens: 0, iterations: [{ ...read, type: "compaction" }] };
  const dropped = droppedThinking(body, settings);
  const stop_details =
    stopReason === "refusal" ? { type: "refusal", category: null, explanation: reply.refusal ?? null } : null;
  const head = { id: newId("msg_"), type: "message", role: "assistant", model: String(body.model) };
  const json = {
    ...head,
    content,
    stop_reason: compacts ? "compaction" : stopReason,
    stop_sequence: null,
    stop_details,
    usage: counted,
    input_transformations: dropped > 0 ? Array.from({ length: dropped }, () => DROPPED) : undefined,
  };
  const events: Json[] = [
    {
      type: "message_start",
      message: {
        ...json,
        content: [],
        stop_reason: null,
        stop_details: null,
        usage: { ...counted, output_tokens: 1 },
      },
    },
    ...content.flatMap(blockEvents),
    {
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null, stop_details },
      usage: { output_tokens: outputTokens },
    },
    { type: "message_stop" },
  ];
  return {
    json,
    frames: events.map((data): Frame => ({ event: String(data.type), data })),
    ping: `event: ping\ndata: {"type": "ping"}\n\n`,
  };
}

function stopOf({ reply, cut }: Answering): string {
  if (reply.refusal !== undefined || reply.stop === "filter") return "refusal";
  if (cut) return "max_tokens";
  return reply.toolCalls.length > 0 ? "tool_use" : "end_turn";
}

/** Without streaming, this protocol cannot carry broken argument JSON: it becomes an empty object. */
function inputOf(given: unknown): unknown {
  if (typeof given !== "string") return given ?? {};
  try {
    return JSON.parse(given);
  } catch {
    return {};
  }
}

function blockEvents(block: Json, index: number): Json[] {
  const stop = { type: "content_block_stop", index };
  const delta = (change: Json): Json => ({ type: "content_block_delta", index, delta: change });
  const start = (content_block: Json): Json => ({ type: "content_block_start", index, content_block });
  if (block.type === "thinking") {
    return [
      start({ ...block, thinking: "", signature: "" }),
      ...pieces(textOf(block.thinking)).map((thinking) => delta({ type: "thinking_delta", thinking })),
      delta({ type: "signature_delta", signature: block.signature }),
      stop,
    ];
  }
  if (block.type === "tool_use") {
    return [
      start({ ...block, input: {} }),
      ...pieces(argumentsText(block.input)).map((partial_json) =>
        delta({ type: "input_json_delta", partial_json }),
      ),
      stop,
    ];
  }
  return [
    start({ ...block, text: "" }),
    ...pieces(textOf(block.text)).map((text) => delta({ type: "text_delta", text })),
    stop,
  ];
}
