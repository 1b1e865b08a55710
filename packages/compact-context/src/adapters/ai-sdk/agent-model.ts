import type {
  AgentModel,
  AgentModelPart,
  AgentModelRequest,
  ThinkingLevel,
} from "../../agent/agent-model.ts";
import { defined, requireOptions } from "../../errors.ts";
import { type Json, objectOf, textOf, windowOf } from "../../providers/request.ts";
import { partsInstead } from "./text-model.ts";

/** The part of the AI SDK's language models that is used; specification v2 (AI SDK 5), v3 (6) and v4 (7). */
export interface AiSdkStreamingModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: object): PromiseLike<{ readonly stream: unknown }>;
}

export interface AiSdkAgentModelOptions {
  /** Tokens of input and output together; looked up by the model's id when left out. */
  readonly window?: number;
  readonly maxOutputTokens?: number;
  /** Further call options of every request, such as `providerOptions` or `headers`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
  /** Call options of a thinking level; specification v4 has an option of its own, earlier ones ignore the level without this. */
  readonly thinking?: (level: ThinkingLevel) => Readonly<Record<string, unknown>>;
}

/**
 * A model for an agent from a language model of the AI SDK, called without the SDK; its errors are the provider's.
 * For Anthropic the system prompt and the newest message are marked for the prompt cache.
 */
export function agentModelFromAiSdk(
  model: AiSdkStreamingModel,
  options: AiSdkAgentModelOptions = {},
): AgentModel {
  requireOptions(model, "model", "Pass the model of the SDK.");
  requireOptions(options);
  return {
    name: `${model.provider}:${model.modelId}`,
    ...windowOf(model.modelId, options.window),
    async *stream(request) {
      const { stream } = await model.doStream(callOptions(model, request, options));
      const calls = createCallNames();
      for await (const part of piecesOf(stream)) yield* readPart(objectOf(part), calls);
    },
  };
}

function callOptions(
  model: AiSdkStreamingModel,
  request: AgentModelRequest,
  { callOptions: more, maxOutputTokens, thinking }: AiSdkAgentModelOptions,
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
  { specificationVersion }: AiSdkStreamingModel,
  level: ThinkingLevel | undefined,
  thinking: AiSdkAgentModelOptions["thinking"],
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

/** Ids of calls that were given: some servers give none, or the same one twice. */
interface CallNames {
  unique(id: string): string;
}

function createCallNames(): CallNames {
  const given = new Set<string>();
  return {
    unique(id) {
      const fresh = id === "" || given.has(id) ? `call_${crypto.randomUUID()}` : id;
      given.add(fresh);
      return fresh;
    },
  };
}

const STOPS: Readonly<Record<string, Extract<AgentModelPart, { type: "end" }>["stop"]>> = {
  stop: "end",
  "tool-calls": "tools",
  length: "length",
  "content-filter": "refusal",
};

/** A block's ids and signatures come with its beginning, its words or its end, by provider. */
const BLOCK = /^(text|reasoning)-(start|delta|end)$/;

function* readPart(part: Json, calls: CallNames): Generator<AgentModelPart> {
  const { type, providerMetadata, usage, finishReason } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  const block = BLOCK.exec(textOf(type));
  if (block !== null) yield { ...wordsOf(part, block), ...options };
  if (type === "tool-call" && part.providerExecuted !== true) yield callOf(part, calls, options);
  if (type === "error") throw part.error;
  if (type !== "finish") return;
  const reason = textOf(finishReason) || textOf(objectOf(finishReason).unified);
  yield { type: "end", stop: STOPS[reason] ?? "other", usage };
}

function wordsOf({ delta }: Json, [, kind, moment]: RegExpExecArray): AgentModelPart {
  const type = kind === "text" ? "text" : "reasoning";
  return { type, text: textOf(delta), ends: moment === "end" || undefined };
}

function callOf(
  part: Json,
  calls: CallNames,
  options: { readonly providerOptions?: unknown },
): Extract<AgentModelPart, { type: "toolCall" }> {
  const id = calls.unique(textOf(part.toolCallId));
  return { type: "toolCall", id, name: textOf(part.toolName), arguments: part.input, ...options };
}
