import type {
  LivePrefix,
  TextModel,
  TextModelAnswer,
  TextModelMessage,
  TextModelRequest,
} from "../../core/ports.ts";
import { defined, requireOptions } from "../../errors.ts";
import { answerOf } from "../../providers/bodies.ts";
import {
  createTolerantCall,
  type Json,
  objectOf,
  objectsIn,
  textOf,
  windowOf,
} from "../../providers/request.ts";

/** The part of the AI SDK's language models that is used; specification v2 (AI SDK 5), v3 (6) and v4 (7). */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: object): PromiseLike<unknown>;
}

export interface AiSdkTextModelOptions {
  /** Tokens of input and output together; looked up by the model's id when left out. */
  readonly window?: number;
  /** Further call options of every request, such as `providerOptions` or `headers`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
}

/** A text model from a language model of the AI SDK, called without the SDK; its errors are the provider's. */
export function textModelFromAiSdk(
  model: AiSdkLanguageModel,
  options: AiSdkTextModelOptions = {},
): TextModel {
  requireOptions(model, "model", "Pass the model of the SDK.");
  requireOptions(options);
  const call = createTolerantCall();
  return {
    name: `${model.provider}:${model.modelId}`,
    ...windowOf(model.modelId, options.window),
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

function promptOf({ messages, prefix }: TextModelRequest): unknown[] {
  return [...(prefix === undefined ? [] : prefixOf(prefix)), ...messages.map(promptMessage)];
}

function promptMessage({ role, content }: TextModelMessage): Json {
  return { role, content: role === "system" ? content : [{ type: "text", text: content }] };
}

/** Model messages in the form that language models take: parts instead of text, files instead of images. */
function prefixOf({ system, messages }: LivePrefix): unknown[] {
  const first = typeof system === "string" ? [{ role: "system", content: system }] : [];
  return [...first, ...messages.map(partsInstead)];
}

const STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
  stop: "end",
  length: "length",
  "content-filter": "refusal",
};

function readResult(result: unknown): TextModelAnswer {
  const { content, finishReason, usage, response } = objectOf(result);
  const text = objectsIn(content)
    .map((part) => (part.type === "text" ? textOf(part.text) : ""))
    .join("");
  const reason = textOf(finishReason) || textOf(objectOf(finishReason).unified);
  const refusal = refusalIn(objectOf(response).body);
  if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
  return answerOf(text, STOPS[reason] ?? "other", usage);
}

/** A refusal in OpenAI's own answer: the SDK passes it on as text, or not at all. */
function refusalIn(body: unknown): string {
  const { choices, output } = objectOf(body);
  const message = objectOf(objectsIn(choices)[0]?.message);
  const parts = objectsIn(output).flatMap(({ content }) => objectsIn(content));
  return textOf(message.refusal) || parts.map(({ refusal }) => textOf(refusal)).join("");
}

/** A model message in the form that language models take: parts instead of text, files instead of images. */
export function partsInstead(message: unknown): unknown {
  const { role, content } = objectOf(message);
  if (role === "system") return message;
  if (typeof content === "string")
    return { ...objectOf(message), content: [{ type: "text", text: content }] };
  const parts = objectsIn(content);
  if (!parts.some(({ type }) => type === "image")) return message;
  return { ...objectOf(message), content: parts.map(fileInstead) };
}

function fileInstead(part: Json): Json {
  if (part.type !== "image") return part;
  const { image, mediaType, ...rest } = part;
  return { ...rest, type: "file", mediaType: mediaType ?? "image/*", data: image };
}
