import type { Format } from "../core/message.ts";
import type { TextModel, TextModelAnswer, TextModelMessage, TextModelRequest } from "../core/ports.ts";
import { defined } from "../errors.ts";
import { createTolerantCall, type Json, objectOf, objectsIn, textOf, windowOf } from "./request.ts";

/** An interface of a provider, as a text model uses it. */
export interface TextApi {
  readonly format: Format;
  /** The request without optional parameters. */
  body(model: string, request: TextModelRequest): Json;
  /** Parameters that a server may refuse. `limit`: the first name to try for the output limit. */
  parameters(request: TextModelRequest, limit: ChatLimit): Json;
  /** Reads an answer; throws the error that it reports instead of one. */
  read(body: unknown): TextModelAnswer;
}

type ChatLimit = "max_completion_tokens" | "max_tokens";

/** The name of the limit if its first name is refused. */
const OTHER_LIMITS: Readonly<Record<ChatLimit, ChatLimit>> = {
  max_completion_tokens: "max_tokens",
  max_tokens: "max_completion_tokens",
};

/** Anthropic accepts temperatures up to 1 and no seed. A refusal's explanation replaces a missing text. */
const anthropic: TextApi = {
  format: "anthropic",
  body(model, { messages, prefix, maxOutputTokens }) {
    const max_tokens = Math.max(1, maxOutputTokens);
    if (prefix === undefined) {
      return defined({ model, max_tokens, system: systemIn(messages), messages: spokenBy(messages) });
    }
    const { system, tools } = prefix;
    return defined({ model, max_tokens, system, tools, messages: behind(prefix.messages, messages, "user") });
  },
  parameters: ({ temperature }) =>
    defined({ temperature: temperature === undefined ? undefined : Math.min(1, temperature) }),
  read(body) {
    throwReported(body);
    const { content, stop_reason: reason, stop_details: details, usage } = objectOf(body);
    const text = wordsIn(content);
    const stop = stopOf(reason);
    return answerOf(stop === "refusal" ? text || textOf(objectOf(details).explanation) : text, stop, usage);
  },
};

const chat: TextApi = {
  format: "openai-chat",
  body(model, { messages, prefix }) {
    const system = prefix?.system === undefined ? [] : [{ role: "system", content: prefix.system }];
    return defined({
      model,
      messages: [...system, ...(prefix?.messages ?? []), ...messages],
      tools: prefix?.tools,
    });
  },
  parameters: ({ maxOutputTokens, temperature, seed }, limit) =>
    defined({ [limit]: maxOutputTokens, temperature, seed }),
  read(body) {
    const { choices, usage } = objectOf(body);
    const [choice] = objectsIn(choices);
    if (choice === undefined) throwReported(body);
    const { content, refusal } = objectOf(choice?.message);
    const text = wordsIn(content);
    if (textOf(refusal) !== "") return answerOf(text || textOf(refusal), "refusal", usage);
    const reason = choice?.finish_reason;
    const silent = choice !== undefined && (reason === undefined || reason === null || reason === "");
    return answerOf(text, silent ? "end" : stopOf(reason), usage);
  },
};

/** Responses accept no smaller limit. */
const LEAST_OUTPUT = 16;

/** Responses have no seed; the provider stores nothing. */
const responses: TextApi = {
  format: "openai-responses",
  body(model, { messages, prefix }) {
    const input = prefix === undefined ? spokenBy(messages) : behind(prefix.messages, messages, "developer");
    const instructions = prefix === undefined ? systemIn(messages) : prefix.system;
    return defined({ model, instructions, input, tools: prefix?.tools, store: false });
  },
  parameters: ({ maxOutputTokens, temperature }) =>
    defined({ max_output_tokens: Math.max(LEAST_OUTPUT, maxOutputTokens), temperature }),
  read(body) {
    throwReported(body);
    const { output, incomplete_details: incomplete, usage } = objectOf(body);
    const items = objectsIn(output);
    const parts = items.filter(({ type }) => type === "message").flatMap(({ content }) => objectsIn(content));
    const text = wordsIn(parts, "output_text");
    const refusal = parts.map((part) => (part.type === "refusal" ? textOf(part.refusal) : "")).join("");
    if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
    const halfway = stopOf(objectOf(incomplete).reason);
    if (halfway !== "other") return answerOf(text, halfway, usage);
    const calls = items.some(({ type }) => textOf(type).endsWith("_call"));
    return answerOf(text, calls || parts.length === 0 ? "other" : "end", usage);
  },
};

export const TEXT_APIS: Readonly<Record<"anthropic" | "chat" | "responses", TextApi>> = {
  anthropic,
  chat,
  responses,
};

/** Endpoint and settings of a text model. */
interface TextModelOptions {
  readonly name: string;
  readonly model: string | ((signal: AbortSignal | undefined) => Promise<string>);
  /** Tokens of input and output together. Default: looked up by the model's name. */
  readonly window: number | undefined;
  /** Additional parameters of every request. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
  readonly limit?: ChatLimit;
  send(body: Json, request: TextModelRequest): PromiseLike<unknown>;
}

/** A text model for an HTTP interface. Parameters that the server refuses are renamed or omitted. */
export function textModelOver(
  api: TextApi,
  { name, model, window, parameters, limit = "max_tokens", send }: TextModelOptions,
): TextModel {
  const call = createTolerantCall(OTHER_LIMITS);
  return {
    name,
    ...windowOf(typeof model === "string" ? model : "", window),
    prefixFormats: [api.format],
    generate: async (request) => {
      const named = typeof model === "string" ? model : await model(request.signal);
      const body = { ...api.body(named, request), ...parameters };
      return call(api.parameters(request, limit), async (accepted) =>
        api.read(await send({ ...body, ...accepted }, request)),
      );
    },
  };
}

/** The system text of a request without a prefix. */
export function systemIn(messages: readonly TextModelMessage[]): string | undefined {
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  return system.length === 0 ? undefined : system.join("\n\n");
}

export function spokenBy(messages: readonly TextModelMessage[]): TextModelMessage[] {
  return messages.filter(({ role }) => role !== "system");
}

/** A prefix keeps its system text and cache marks unchanged: a system text after it gets another role. */
function behind(
  prefix: readonly unknown[],
  messages: readonly TextModelMessage[],
  speaker: string,
): unknown[] {
  const own = messages.map(({ role, content }) => ({ role: role === "system" ? speaker : role, content }));
  return [...prefix, ...own];
}

/** The text of a content: a string, or its blocks of this type. */
export function wordsIn(content: unknown, textType = "text"): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map(({ type, text }) => (type === textType ? textOf(text) : ""))
    .join("");
}

/** Models on plain servers may think aloud before they answer. */
const THINKING = /^\s*<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>\s*|$)/;

/** An answer in common terms, without thinking that opens the text. */
export function answerOf(text: string, stop: TextModelAnswer["stop"], usage: unknown): TextModelAnswer {
  const spoken = text.replace(THINKING, "");
  return { text: spoken, stop, usage: usage ?? undefined };
}

/** Stop reasons of all providers and SDKs. */
const STOPS: Readonly<Record<string, TextModelAnswer["stop"]>> = {
  end_turn: "end",
  stop_sequence: "end",
  stop: "end",
  STOP: "end",
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  MAX_TOKENS: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  content_filter: "refusal",
  "content-filter": "refusal",
  SAFETY: "refusal",
};

/** The stop reason in common terms; `other` for unknown words. */
export function stopOf(word: unknown): TextModelAnswer["stop"] {
  const reason = textOf(word);
  return (Object.hasOwn(STOPS, reason) ? STOPS[reason] : undefined) ?? "other";
}

/** Throws errors that a server reports in the body of a successful response. */
function throwReported(body: unknown): void {
  const { error, status } = objectOf(body);
  if (error === undefined || error === null) return;
  const said = typeof error === "string" ? error : textOf(objectOf(error).message);
  const words = said === "" ? `The model answered with an error (${status ?? "none named"}).` : said;
  throw Object.assign(new Error(words), { error });
}

/** Reports a usage record once: it belongs to the previous call only, but hosts keep it with the message. */
export function createUsageOnce(): (usage: unknown) => unknown {
  const seen = new WeakSet<object>();
  return (usage) => {
    if (typeof usage !== "object" || usage === null || seen.has(usage)) return undefined;
    seen.add(usage);
    return usage;
  };
}
