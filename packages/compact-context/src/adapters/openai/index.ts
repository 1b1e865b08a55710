import type { TextModel } from "../../core/ports.ts";
import { defined, requireKnown, requireOptions, requireText } from "../../errors.ts";
import { TEXT_APIS, textModelOver } from "../../providers/bodies.ts";
import { type CompactFetchOptions, compactClient, type SdkClient } from "../../wire/fetch.ts";

/**
 * The client with every call of chat completions and responses compacted: `create`, `parse`, `stream`,
 * `runTools`, retries, and clients created by `withOptions`. Requests that continue a conversation on the
 * server (`previous_response_id`, `conversation`) or compact there (`context_management`) pass unchanged,
 * with a warning.
 */
export function compactOpenAi<
  Client extends SdkClient & ({ readonly chat: object } | { readonly responses: object }),
>(client: Client, options: CompactFetchOptions): Client {
  return compactClient(client, options, { name: "OpenAI", interfaces: ["chat", "responses"] });
}

/** The part of an `OpenAI` client that is used. */
export interface OpenAiClient {
  readonly baseURL?: string;
  readonly chat: { readonly completions: OpenAiCreate };
  readonly responses: OpenAiCreate;
}

interface OpenAiCreate {
  create(body: object, options?: object): PromiseLike<unknown>;
}

export interface OpenAiTextModelOptions {
  /** The interface to call. Default: `chat`. Responses have no seed. */
  readonly api?: "chat" | "responses";
  /** Tokens of input and output together. Default: looked up by the model's name. */
  readonly window?: number;
  /** Additional parameters of every request, such as `reasoning_effort` or `prompt_cache_key`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** A text model from an `OpenAI` client; its errors are the SDK's. */
export function textModelFromOpenAi(
  client: OpenAiClient,
  model: string,
  options: OpenAiTextModelOptions = {},
): TextModel {
  requireOptions(client, "client", "Pass the SDK's client.");
  requireText(model, "model", "Name the model as the provider does.");
  requireKnown(options, { api: true, window: true, parameters: true });
  const { api = "chat", window, parameters } = options;
  return textModelOver(TEXT_APIS[api], {
    name: `openai:${model}`,
    model,
    window,
    parameters,
    limit: takesCompletionTokens(client.baseURL) ? "max_completion_tokens" : "max_tokens",
    send: (body, { signal }) =>
      (api === "chat" ? client.chat.completions : client.responses).create(body, defined({ signal })),
  });
}

/** OpenAI-compatible servers use the limit's old name, and can silently ignore the new one. */
function takesCompletionTokens(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || /^https:\/\/([\w-]+\.)*(openai\.com|azure\.com)(\/|:|$)/.test(baseUrl);
}
