import type { TextModel, TextModelAnswer, TextModelMessage, TextModelRequest } from "../../core/ports.ts";
import { defined, requireKnown, requireOptions } from "../../errors.ts";
import { answerOf, spokenBy, stopOf, systemIn, wordsIn } from "../../providers/bodies.ts";
import { createTolerantCall, type Json, objectOf, textOf } from "../../providers/request.ts";

export { compactExtension, type PiExtensionOptions } from "./extension.ts";

/** The part of pi's models that is used. */
export interface PiModel {
  readonly id: string;
  readonly api: string;
  readonly provider: string;
  readonly contextWindow: number;
}

export interface PiTextModelOptions {
  /** pi-ai's `complete` or `completeSimple`. */
  complete(model: never, context: never, options?: object): PromiseLike<unknown>;
  readonly apiKey?: string;
  /** Additional options of every call, such as `headers`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
}

/**
 * A text model from a pi model and pi-ai's function that calls it. pi returns errors as answers: here they
 * reject, with pi's message and the status that it begins with. Only its OpenAI chat interface accepts a
 * seed.
 */
export function textModelFromPi(model: PiModel, options: PiTextModelOptions): TextModel {
  requireOptions(model, "model", "Pass one of pi's models.");
  requireKnown(options, { complete: true, apiKey: true, callOptions: true }, "Pass { complete } of pi-ai.");
  const complete = options.complete as (
    model: PiModel,
    context: object,
    options: object,
  ) => PromiseLike<unknown>;
  const call = createTolerantCall();
  return {
    name: `${model.provider}:${model.id}`,
    window: model.contextWindow,
    prefixFormats: ["pi"],
    generate: async (request) => {
      const { signal, temperature } = request;
      signal?.throwIfAborted();
      const context = contextOf(request, model);
      return call(defined({ temperature }), async (accepted) => {
        const sent = { ...callOptions(model, request, options), ...accepted };
        return readMessage(await complete(model, context, sent), model, signal);
      });
    },
  };
}

function contextOf({ messages, prefix }: TextModelRequest, model: PiModel): Json {
  const native = (message: TextModelMessage): Json => nativeMessage(message, model);
  if (prefix === undefined)
    return defined({ systemPrompt: systemIn(messages), messages: spokenBy(messages).map(native) });
  const { system: systemPrompt, tools } = prefix;
  return defined({ systemPrompt, messages: [...prefix.messages, ...messages.map(native)], tools });
}

/** A timestamp is part of pi's messages and never sent. */
function nativeMessage({ role, content }: TextModelMessage, { api, provider, id }: PiModel): Json {
  if (role !== "assistant") return { role: "user", content, timestamp: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  const text = [{ type: "text", text: content }];
  return { role, content: text, api, provider, model: id, usage, stopReason: "stop", timestamp: 0 };
}

function callOptions(
  model: PiModel,
  request: TextModelRequest,
  { apiKey, callOptions: more }: PiTextModelOptions,
): Json {
  const { maxOutputTokens: maxTokens, signal, seed } = request;
  const seeded = seed !== undefined && model.api === "openai-completions";
  return defined({
    apiKey,
    maxTokens,
    signal,
    onPayload: seeded ? (payload: unknown) => ({ ...objectOf(payload), seed }) : undefined,
    ...more,
  });
}

function readMessage(answer: unknown, { api }: PiModel, signal: AbortSignal | undefined): TextModelAnswer {
  const { content, stopReason, errorMessage, usage } = objectOf(answer);
  const text = wordsIn(content);
  if (stopReason === "aborted") signal?.throwIfAborted();
  if (stopReason !== "error" && stopReason !== "aborted") {
    // These interfaces always report usage at the end: without it pi reports `stop` for half an answer.
    const brokeOff = api !== "openai-completions" && objectOf(usage).totalTokens === 0;
    return answerOf(text, brokeOff ? "other" : stopOf(stopReason), usage);
  }
  const said = textOf(errorMessage);
  if (/content_filter|refusal/.test(said)) return answerOf(text, "refusal", usage);
  const error = new Error(said || `pi ended the call: ${textOf(stopReason)}`, { cause: answer });
  const status = /^[45]\d\d\b/.exec(said)?.[0];
  throw status === undefined ? error : Object.assign(error, { status: Number(status) });
}
