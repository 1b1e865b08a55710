import type { Rejection } from "./answers.ts";
import { openAiError, openAiFailure, unsupportedParameter } from "./openai-errors.ts";
import { checkItems, createItemLedger, type ItemLedger } from "./openai-items.ts";
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
  textOf,
  type Wire,
} from "./wire.ts";

const PARAMETERS = new Set(
  `access_programs background client_metadata context_management conversation image include input instructions max_output_tokens
  max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
  temperature text tool_choice tools top_logprobs top_p truncation user`.split(/\s+/),
);
const COMPACT_PARAMETERS = new Set(
  `image input instructions model previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention
  service_tier`.split(/\s+/),
);
const LEAST_OUTPUT = 16;

/**
 * OpenAI's `POST /v1/responses`, which stores answers unless the request has `store: false`, and `POST
 * /v1/responses/compact`, which answers with the user's messages and one sealed item for everything else.
 */
export function createOpenAiResponses(
  settings: ModelSettings,
  cache: { readonly kind: "prefix" | "whole"; now(): number },
): Wire[] {
  const ledger = createItemLedger();
  const responses: Wire = {
    path: "/v1/responses",
    cache: createPromptCache({ ...cache, least: 1024 }),
    check: ({ body }) => check(body, settings, ledger, PARAMETERS),
    segments: (body) => segmentsOf(body, settings, ledger),
    limit: (body) => (typeof body.max_output_tokens === "number" ? body.max_output_tokens : undefined),
    overflow: (input) => overflow(input, settings),
    answer: (answering) => answer(answering, ledger),
    errorBody: openAiError,
    failure: openAiFailure,
  };
  const compact: Wire = {
    ...responses,
    path: "/v1/responses/compact",
    check: ({ body }) => check(body, settings, ledger, COMPACT_PARAMETERS),
    answer: (answering) => compacted(answering, ledger),
  };
  return [responses, compact];
}

/** The user's messages verbatim, and one item that only the provider can read. */
function compacted({ body, reply, usage, outputTokens, newId }: Answering, ledger: ItemLedger): Answered {
  const said = itemsOf(body, ledger).filter(({ role }) => role === "user");
  const sealed = reply.refusal === undefined && reply.toolCalls.length === 0;
  const encrypted_content = ledger.encrypt(`${reply.text}${newId("seal_")}`);
  const item = { id: newId("cmp_"), type: "compaction", encrypted_content };
  const json = {
    id: newId("resp_"),
    object: "response.compaction",
    created_at: 1_780_000_000,
    output: [...said, ...(sealed ? [item] : [])],
    usage: counted(usage, outputTokens, 0),
  };
  return { json, frames: [], ping: "" };
}

function bad(message: string, param: string | null, code: string | null = null): Rejection {
  return { status: 400, type: "invalid_request_error", message, param, code };
}

function check(
  body: Json,
  settings: ModelSettings,
  ledger: ItemLedger,
  parameters: ReadonlySet<string>,
): Rejection | undefined {
  const { max_output_tokens: limit, previous_response_id: previous } = body;
  return firstOf([
    () =>
      typeof body.model === "string"
        ? undefined
        : bad("Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    () => {
      const name = Object.keys(body).find((key) => !parameters.has(key));
      return name === undefined ? undefined : bad(`Unknown parameter: '${name}'.`, name, "unknown_parameter");
    },
    () => unsupportedParameter(body, settings.unsupported, "responses"),
    () =>
      typeof limit === "number" && limit < LEAST_OUTPUT
        ? bad(
            `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${LEAST_OUTPUT}, but got ${limit} instead.`,
            "max_output_tokens",
            "integer_below_min_value",
          )
        : undefined,
    () =>
      typeof previous === "string" && ledger.stored(previous) === undefined
        ? bad(
            `Previous response with id '${previous}' not found.`,
            "previous_response_id",
            "previous_response_not_found",
          )
        : undefined,
    () =>
      itemsOf(body, ledger).length === 0
        ? bad("Missing required parameter: 'input'.", "input", "missing_required_parameter")
        : undefined,
    () => checkItems(itemsOf(body, ledger), ledger),
  ]);
}

/** The stored items of `previous_response_id`, and the request's own input. */
function itemsOf(body: Json, ledger: ItemLedger): Json[] {
  const before =
    typeof body.previous_response_id === "string" ? (ledger.stored(body.previous_response_id) ?? []) : [];
  const own =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : objectsIn(body.input);
  return [...before, ...own];
}

function segmentsOf(body: Json, { countText }: ModelSettings, ledger: ItemLedger): Segment[] {
  const tools = objectsIn(body.tools).map((tool) => JSON.stringify(tool));
  const instructions = textOf(body.instructions);
  return [
    ...tools.map((text) => ({ text, tokens: countText(text) })),
    ...(instructions === "" ? [] : [{ text: instructions, tokens: PER_MESSAGE + countText(instructions) }]),
    ...itemsOf(body, ledger).map((item) => ({
      text: JSON.stringify({ ...item, id: undefined, status: undefined }),
      tokens: PER_MESSAGE + countText(spoken(item)),
    })),
  ];
}

const IMAGE = "image ".repeat(800);

/** The tool definitions in an `additional_tools` item. */
function toolsText({ tools }: Json): string {
  return Array.isArray(tools) ? JSON.stringify(tools) : "";
}

function spoken(item: Json): string {
  const parts = [item.content, item.output, item.summary].map((value) =>
    typeof value === "string"
      ? value
      : objectsIn(value)
          .map((part) => [part.text, part.refusal].find((one) => typeof one === "string") ?? IMAGE)
          .join(""),
  );
  const input = textOf(item.input);
  return [
    ...parts,
    input,
    textOf(item.name),
    textOf(item.arguments),
    textOf(item.encrypted_content),
    toolsText(item),
  ].join("");
}

function overflow(input: number, { window }: ModelSettings): Rejection | undefined {
  if (input <= window) return undefined;
  return bad(
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "input",
    "context_length_exceeded",
  );
}

function answer(answering: Answering, ledger: ItemLedger): Answered {
  const { body, reply, usage, outputTokens, reasoningTokens, newId, cut } = answering;
  const output = outputItems(answering, ledger);
  const id = newId("resp_");
  const reason = reply.stop === "filter" ? "content_filter" : cut ? "max_output_tokens" : undefined;
  const head = {
    id,
    object: "response",
    created_at: 1_780_000_000,
    status: reason === undefined ? "completed" : "incomplete",
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: String(body.model),
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    store: body.store !== false,
    temperature: body.temperature ?? 1,
    text: { format: { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: 1,
    truncation: "disabled",
    metadata: {},
  };
  const json = { ...head, output, usage: counted(usage, outputTokens, reasoningTokens) };
  if (body.store !== false) ledger.store(id, [...itemsOf(body, ledger), ...output]);
  return {
    json,
    frames: framesOf({ ...head, status: "in_progress", output: [], usage: null }, output, json),
    ping: `event: keepalive\ndata: {"type":"keepalive"}\n\n`,
  };
}

function counted(usage: Answering["usage"], outputTokens: number, reasoningTokens: number): Json {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: usage.input + outputTokens,
  };
}

function outputItems({ body, reply, newId, cut }: Answering, ledger: ItemLedger): Json[] {
  const status = cut ? "incomplete" : "completed";
  const wantsSecret = Array.isArray(body.include) && body.include.includes("reasoning.encrypted_content");
  const reasoning =
    reply.reasoning === ""
      ? []
      : [
          {
            id: newId("rs_"),
            type: "reasoning",
            summary: [],
            encrypted_content: wantsSecret ? ledger.encrypt(reply.reasoning) : undefined,
          },
        ];
  const refused = reply.refusal !== undefined;
  const says = refused || reply.text !== "" || (reply.toolCalls.length === 0 && reply.reasoning === "");
  const part = refused
    ? { type: "refusal", refusal: reply.refusal }
    : { type: "output_text", text: reply.text, annotations: [], logprobs: [] };
  const message = says
    ? [{ id: newId("msg_"), type: "message", status, role: "assistant", content: [part] }]
    : [];
  const calls = reply.toolCalls.map((call) => ({
    id: newId(call.custom === true ? "ctc_" : "fc_"),
    type: call.custom === true ? "custom_tool_call" : "function_call",
    status: "completed",
    call_id: call.id ?? newId("call_"),
    name: call.name,
    [call.custom === true ? "input" : "arguments"]: argumentsText(call.arguments),
  }));
  const output: Json[] = [...reasoning, ...message, ...calls];
  ledger.issue(output, body.store !== false);
  return output;
}

function framesOf(started: Json, output: readonly Json[], done: Json): Frame[] {
  const events: Json[] = [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...output.flatMap(itemEvents),
    { type: done.status === "completed" ? "response.completed" : "response.incomplete", response: done },
  ];
  return events.map((event, index) => ({
    event: String(event.type),
    data: { ...event, sequence_number: index },
  }));
}

function itemEvents(item: Json, output_index: number): Json[] {
  const added = { type: "response.output_item.added", output_index };
  const done = { type: "response.output_item.done", output_index, item };
  const at = { item_id: item.id, output_index };
  if (item.type === "function_call" || item.type === "custom_tool_call") {
    const field = item.type === "function_call" ? "arguments" : "input";
    const kind = field === "arguments" ? "function_call_arguments" : "custom_tool_call_input";
    return [
      { ...added, item: { ...item, [field]: "", status: "in_progress" } },
      ...pieces(String(item[field])).map((delta) => ({ type: `response.${kind}.delta`, ...at, delta })),
      { type: `response.${kind}.done`, ...at, [field]: item[field] },
      done,
    ];
  }
  if (item.type !== "message") return [{ ...added, item }, done];
  const [part] = objectsIn(item.content);
  const kind = isObject(part) && part.type === "refusal" ? "refusal" : "output_text";
  const text = textOf(part?.text) || textOf(part?.refusal);
  const inPart = { ...at, content_index: 0 };
  const said = kind === "refusal" ? { refusal: text } : { text };
  return [
    { ...added, item: { ...item, content: [], status: "in_progress" } },
    {
      type: "response.content_part.added",
      ...inPart,
      part: { ...part, ...(kind === "refusal" ? { refusal: "" } : { text: "" }) },
    },
    ...pieces(text).map((delta) => ({ type: `response.${kind}.delta`, ...inPart, delta, logprobs: [] })),
    { type: `response.${kind}.done`, ...inPart, ...said, logprobs: [] },
    { type: "response.content_part.done", ...inPart, part },
    done,
  ];
}
