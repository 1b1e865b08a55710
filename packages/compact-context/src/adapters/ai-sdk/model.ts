import type {
  AgentModel,
  AgentModelPart,
  AgentModelRequest,
  ThinkingLevel,
} from "../../agent/agent-message.ts";
import type { TextModel, TextModelAnswer, TextModelMessage, TextModelRequest } from "../../core/ports.ts";
import { defined, requireKnown, requireOptions } from "../../errors.ts";
import { answerOf, stopOf, wordsIn } from "../../providers/bodies.ts";
import {
  createTolerantCall,
  type Json,
  objectOf,
  objectsIn,
  textOf,
  windowOf,
} from "../../providers/request.ts";
import { inParts } from "./middleware.ts";

/** The part of the AI SDK's language models that is used; specification v2 (AI SDK 5), v3 (6) and v4 (7). */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: object): PromiseLike<unknown>;
  doStream(options: object): PromiseLike<{ readonly stream: unknown }>;
}

export interface AiSdkModelOptions {
  /** Tokens of input and output together. Default: looked up by the model's id. */
  readonly window?: number;
  /** Limit of an agent's answer; a summarizer sets its own limit. */
  readonly maxOutputTokens?: number;
  /** Additional call options of every request, such as `providerOptions` or `headers`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
  /**
   * Call options for an agent's thinking level; specification v4 has its own option, earlier ones ignore the
   * level without this.
   */
  readonly thinking?: (level: ThinkingLevel) => Readonly<Record<string, unknown>>;
}

/**
 * A model for an agent, and a text model, from a language model of the AI SDK, called without the SDK; its errors are the
 * provider's. For Anthropic an agent's system prompt and newest message are marked for the prompt cache.
 */
export function modelFromAiSdk(model: AiSdkModel, options: AiSdkModelOptions = {}): AgentModel & TextModel {
  requireOptions(model, "model", "Pass the model of the SDK.");
  requireKnown(options, { window: true, maxOutputTokens: true, callOptions: true, thinking: true });
  const call = createTolerantCall();
  return {
    name: `${model.provider}:${model.modelId}`,
    ...windowOf(model.modelId, options.window),
    async *stream(request) {
      const { stream } = await model.doStream(callOptions(model, request, options));
      const given = new Set<string>();
      for await (const part of piecesOf(stream)) yield* readPart(objectOf(part), given);
    },
    prefixFormats: ["ai-sdk"],
    generate: (request) => {
      const { maxOutputTokens, temperature, seed, signal, prefix } = request;
      const fixed = { ...options.callOptions, prompt: promptOf(request), maxOutputTokens };
      const more = defined({ abortSignal: signal, tools: prefix?.tools });
      return call(defined({ temperature, seed }), async (accepted) =>
        readResult(await model.doGenerate({ ...fixed, ...more, ...accepted })),
      );
    },
  };
}

// ---- for an agent: the answer as a stream

function callOptions(
  model: AiSdkModel,
  request: AgentModelRequest,
  { callOptions: more, maxOutputTokens, thinking }: AiSdkModelOptions,
): Json {
  const { system, messages, tools, signal, thinkingLevel } = request;
  const head = system === "" ? [] : [{ role: "system", content: system }];
  const prompt = [...head, ...messages.map(partsInstead)];
  return defined({
    ...more,
    prompt: model.provider.startsWith("anthropic") ? forTheCache(prompt) : prompt,
    maxOutputTokens,
    abortSignal: signal,
    tools: tools.length === 0 ? undefined : tools.map(functionTool),
    toolChoice: tools.length === 0 ? undefined : { type: "auto" },
    ...thinkingOptions(model, thinkingLevel, thinking),
  });
}

function functionTool({ name, description, schema }: AgentModelRequest["tools"][number]): Json {
  return { type: "function", name, description, inputSchema: schema };
}

function thinkingOptions(
  { specificationVersion }: AiSdkModel,
  level: ThinkingLevel | undefined,
  thinking: AiSdkModelOptions["thinking"],
): Json {
  if (level === undefined) return {};
  if (thinking !== undefined) return thinking(level);
  return specificationVersion === "v4" ? { reasoning: level === "off" ? "none" : level } : {};
}

const CACHED = { anthropic: { cacheControl: { type: "ephemeral" } } };

function forTheCache(prompt: readonly unknown[]): unknown[] {
  const last = prompt.length - 1;
  return prompt.map((message, index) => {
    const { role, providerOptions } = objectOf(message);
    if (index !== last && role !== "system") return message;
    return { ...objectOf(message), providerOptions: { ...objectOf(providerOptions), ...CACHED } };
  });
}

/** The stream as pieces; a reader that stops early ends it. */
async function* piecesOf(stream: unknown): AsyncGenerator<unknown> {
  const reader = (stream as ReadableStream<unknown>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Providers send a block's ids and signatures with its start, its deltas or its end. */
const BLOCK = /^(text|reasoning)-(start|delta|end)$/;

function* readPart(part: Json, given: Set<string>): Generator<AgentModelPart> {
  const { type, providerMetadata, usage, finishReason } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  const block = BLOCK.exec(textOf(type));
  if (block !== null) yield { ...wordsOf(part, block), ...options };
  if (type === "tool-call" && part.providerExecuted !== true) yield callOf(part, given, options);
  if (type === "error") throw part.error;
  if (type !== "finish") return;
  const reason = reasonOf(finishReason);
  yield { type: "end", stop: reason === "tool-calls" ? "tools" : stopOf(reason), usage };
}

function wordsOf({ delta }: Json, [, kind, moment]: RegExpExecArray): AgentModelPart {
  const type = kind === "text" ? "text" : "reasoning";
  return { type, text: textOf(delta), ends: moment === "end" || undefined };
}

function callOf(
  part: Json,
  given: Set<string>,
  options: { readonly providerOptions?: unknown },
): Extract<AgentModelPart, { type: "toolCall" }> {
  // Some servers send no id, or the same one twice.
  const sent = textOf(part.toolCallId);
  const id = sent === "" || given.has(sent) ? `call_${crypto.randomUUID()}` : sent;
  given.add(id);
  return { type: "toolCall", id, name: textOf(part.toolName), arguments: part.input, ...options };
}

// ---- as a text model: one answer

function promptOf({ messages, prefix }: TextModelRequest): unknown[] {
  const system = prefix?.system;
  const first = typeof system === "string" ? [{ role: "system", content: system }] : [];
  return [...first, ...(prefix?.messages ?? []).map(partsInstead), ...messages.map(promptMessage)];
}

function promptMessage({ role, content }: TextModelMessage): Json {
  return { role, content: role === "system" ? content : [{ type: "text", text: content }] };
}

function readResult(result: unknown): TextModelAnswer {
  const { content, finishReason, usage, response } = objectOf(result);
  const text = wordsIn(content);
  const refusal = refusalIn(objectOf(response).body);
  if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
  return answerOf(text, stopOf(reasonOf(finishReason)), usage);
}

function reasonOf(finishReason: unknown): string {
  return textOf(finishReason) || textOf(objectOf(finishReason).unified);
}

/** A refusal in OpenAI's response: the SDK returns it as text, or omits it. */
function refusalIn(body: unknown): string {
  const { choices, output } = objectOf(body);
  const message = objectOf(objectsIn(choices)[0]?.message);
  const parts = objectsIn(output).flatMap(({ content }) => objectsIn(content));
  return textOf(message.refusal) || parts.map(({ refusal }) => textOf(refusal)).join("");
}

/** A model message in the form that language models take: parts instead of text, files instead of images. */
function partsInstead(message: unknown): unknown {
  const parted = inParts(message);
  const parts = objectsIn(objectOf(parted).content);
  if (!parts.some(({ type }) => type === "image")) return parted;
  return { ...objectOf(parted), content: parts.map(fileInstead) };
}

function fileInstead(part: Json): Json {
  if (part.type !== "image") return part;
  const { image, mediaType, ...rest } = part;
  return { ...rest, type: "file", mediaType: mediaType ?? "image/*", data: image };
}
