import type { TextModel, TextModelRequest } from "../../core/ports.ts";
import { defined, requireOptions, requireText } from "../../errors.ts";
import { anthropicBody, anthropicParameters, readAnthropic } from "../../providers/bodies.ts";
import { createTolerantCall, type Json, windowOf } from "../../providers/request.ts";
import type { CompactFetchOptions } from "../../wire/fetch.ts";
import { compactClient, type SdkClient } from "../../wire/fetch.ts";

/**
 * The client with every call of messages compacted on its way: `create`, `stream`, `parse`, `toolRunner`, beta calls,
 * retries, and clients made by `withOptions`. Requests that are compacted on the server pass as they are, with a warning.
 */
export function compactAnthropic<Client extends SdkClient>(
  client: Client,
  options: CompactFetchOptions,
): Client {
  return compactClient(client, options);
}

/** The part of an `Anthropic` client that is used. */
export interface AnthropicClient {
  readonly messages: { create(body: object, options?: object): PromiseLike<unknown> };
}

export interface AnthropicTextModelOptions {
  /** Tokens of input and output together; looked up by the model's name when left out. */
  readonly window?: number;
  /** Further parameters of every request; behind a prefix `thinking` must be the agent's own, or its cache is lost. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** A text model from an `Anthropic` client; its errors are the SDK's. The interface knows no seed. */
export function textModelFromAnthropic(
  client: AnthropicClient,
  model: string,
  options: AnthropicTextModelOptions = {},
): TextModel {
  requireOptions(client, "client", "Pass the SDK's client.");
  requireText(model, "model", "Name the model as the provider does.");
  requireOptions(options);
  const call = createTolerantCall();
  return {
    name: `anthropic:${model}`,
    ...windowOf(model, options.window),
    prefixFormats: ["anthropic"],
    generate: (request) => {
      const body = { ...anthropicBody(model, request), ...options.parameters };
      return call(anthropicParameters(request), async (accepted) =>
        readAnthropic(await client.messages.create({ ...body, ...accepted }, optionsOf(request))),
      );
    },
  };
}

/** Above this many tokens the SDK refuses to wait for an answer in one piece unless a timeout is named. */
const UNTIMED_TOKENS = 4096;
/** What the SDK itself waits: ten minutes. */
const TIMEOUT_MS = 600_000;

function optionsOf({ signal, maxOutputTokens }: TextModelRequest): Json {
  return defined({ signal, timeout: maxOutputTokens > UNTIMED_TOKENS ? TIMEOUT_MS : undefined });
}
