import { CompactError, isObject, readArgument } from "../errors.ts";
import { type CompactFetchOptions, compactFetch } from "./fetch.ts";

/** What the clients of OpenAI's and Anthropic's SDKs have in common. */
export interface SdkClient {
  withOptions(options: { fetch?: typeof globalThis.fetch }): unknown;
}

/**
 * A client like the given one whose calls, of every method and helper, are compacted on their way; so are those of
 * clients made from it by `withOptions`. Throws `InvalidArgument` for anything that is no client.
 */
export function compactClient<Client extends SdkClient>(
  client: Client,
  options: CompactFetchOptions,
): Client {
  const hint = "Pass the SDK's client itself, such as new OpenAI() or new Anthropic().";
  const isClient = readArgument(
    "client",
    hint,
    () => isObject(client) && typeof client.withOptions === "function",
  );
  if (!isClient) {
    const message = "this is no client of the SDK: it has no withOptions";
    throw new CompactError("InvalidArgument", message, { place: "client", hint });
  }
  const { fetch } = client as { readonly fetch?: typeof globalThis.fetch };
  return client.withOptions({ fetch: compactFetch({ fetch, ...options }) }) as Client;
}
