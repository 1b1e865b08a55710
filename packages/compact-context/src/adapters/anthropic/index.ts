import type { TextModel } from "../../core/ports.ts";
import { defined, requireKnown, requireOptions, requireText } from "../../errors.ts";
import { TEXT_APIS, textModelOver } from "../../providers/bodies.ts";
import { type CompactFetchOptions, compactClient, type SdkClient } from "../../wire/fetch.ts";

/**
 * The client with every message call compacted: `create`, `stream`, `parse`, `toolRunner`, beta calls,
 * retries, and clients created by `withOptions`. Requests that are compacted by the server pass unchanged,
 * with a warning.
 */
export function compactAnthropic<Client extends SdkClient & { readonly messages: object }>(
  client: Client,
  options: CompactFetchOptions,
): Client {
  return compactClient(client, options, { name: "Anthropic", interfaces: ["messages"] });
}

/** The part of an `Anthropic` client that is used. */
export interface AnthropicClient {
  readonly messages: { create(body: object, options?: object): PromiseLike<unknown> };
}

export interface AnthropicTextModelOptions {
  /** Tokens of input and output together. Default: looked up by the model's name. */
  readonly window?: number;
  /**
   * Additional parameters of every request; after a prefix, `thinking` must equal the agent's own, otherwise
   * the cache misses.
   */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** A text model from an `Anthropic` client; its errors are the SDK's. The interface has no seed. */
export function textModelFromAnthropic(
  client: AnthropicClient,
  model: string,
  options: AnthropicTextModelOptions = {},
): TextModel {
  requireOptions(client, "client", "Pass the SDK's client.");
  requireText(model, "model", "Name the model as the provider does.");
  requireKnown(options, { window: true, parameters: true });
  const { window, parameters } = options;
  return textModelOver(TEXT_APIS.anthropic, {
    name: `anthropic:${model}`,
    model,
    window,
    parameters,
    send: (body, { signal, maxOutputTokens }) => {
      const timeout = maxOutputTokens > UNTIMED_TOKENS ? TIMEOUT_MS : undefined;
      return client.messages.create(body, defined({ signal, timeout }));
    },
  });
}

/** Above this many tokens the SDK rejects non-streaming requests unless a timeout is set. */
const UNTIMED_TOKENS = 4096;
/** The SDK's own default: ten minutes. */
const TIMEOUT_MS = 600_000;
