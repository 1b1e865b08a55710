import type { TextModel, TextModelAnswer, TextModelRequest } from "../../core/ports.ts";
import { defined, requireOptions } from "../../errors.ts";
import { answerOf } from "../../providers/bodies.ts";
import { createTolerantCall, objectOf, objectsIn, textOf, windowOf } from "../../providers/request.ts";

/** The part of LangChain's chat models that is used. */
export interface LangChainChatModel {
  invoke(messages: never, options?: object): PromiseLike<unknown>;
}

/** What chat models take when they are made and not when they are called. */
export interface LangChainSettings {
  readonly maxTokens: number;
  readonly temperature?: number;
}

export interface LangChainTextModelOptions {
  /** Tokens of input and output together; the model's profile or its name tell it when left out. */
  readonly window?: number;
  /** For people and events; the model's own when left out. */
  readonly name?: string;
  /** Further call options of every request, such as `callbacks` or `tags`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
}

/**
 * A text model from a LangChain chat model. Output limit and temperature are settings of the model itself there:
 * give a function that makes one, `(settings) => new ChatOpenAI({ model, ...settings })`, to have them obeyed;
 * a ready-made model keeps its own.
 */
export function textModelFromLangChain(
  model: LangChainChatModel | ((settings: LangChainSettings) => LangChainChatModel),
  options: LangChainTextModelOptions = {},
): TextModel {
  if (typeof model !== "function")
    requireOptions(model, "model", "Pass a chat model, or a function that makes one.");
  requireOptions(options);
  const make = typeof model === "function" ? model : () => model;
  const sample = make({ maxTokens: 1024 });
  const id = modelName(sample);
  const call = createTolerantCall();
  return {
    name: options.name ?? `langchain:${id || "chat-model"}`,
    ...windowOf(id, options.window ?? profileWindow(sample)),
    generate: (request) => {
      const { maxOutputTokens: maxTokens, temperature, seed, signal } = request;
      return call(defined({ temperature, seed }), async ({ seed: acceptedSeed, ...settings }) => {
        const made = make({ maxTokens, ...settings });
        const callOptions = defined({ signal, seed: acceptedSeed, ...options.callOptions });
        return readMessage(await made.invoke(nativeMessages(request) as never, callOptions));
      });
    },
  };
}

function nativeMessages({ messages }: TextModelRequest): unknown[] {
  return messages.map(({ role, content }) => ({ role, content }));
}

function modelName(model: LangChainChatModel): string {
  const { model: name, modelName: older } = objectOf(model);
  return textOf(name) || textOf(older);
}

function profileWindow(model: LangChainChatModel): number | undefined {
  const { maxInputTokens } = objectOf(objectOf(model).profile);
  return typeof maxInputTokens === "number" ? maxInputTokens : undefined;
}

const STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
  stop: "end",
  end_turn: "end",
  stop_sequence: "end",
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  MAX_TOKENS: "length",
  STOP: "end",
  refusal: "refusal",
  content_filter: "refusal",
  SAFETY: "refusal",
};

function readMessage(message: unknown): TextModelAnswer {
  const {
    content,
    additional_kwargs: extra,
    response_metadata: metadata,
    usage_metadata: usage,
    tool_calls: calls,
  } = objectOf(message);
  const text = typeof content === "string" ? content : objectsIn(content).map(partText).join("");
  const refusal = textOf(objectOf(extra).refusal);
  if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
  const reason = reasonIn(objectOf(metadata));
  const called = Array.isArray(calls) && calls.length > 0;
  const silent = reason === "" && !called;
  return answerOf(text, silent ? "end" : (STOPS[reason] ?? "other"), usage);
}

function partText(part: Readonly<Record<string, unknown>>): string {
  return part.type === "text" ? textOf(part.text) : "";
}

/** Providers name it differently, and some only in what stopped the answer halfway. */
function reasonIn(metadata: Readonly<Record<string, unknown>>): string {
  const halfway = textOf(objectOf(metadata.incomplete_details).reason);
  const named = [metadata.finish_reason, metadata.stop_reason, metadata.finishReason, metadata.done_reason];
  return halfway || (named.map(textOf).find((one) => one !== "") ?? "");
}
