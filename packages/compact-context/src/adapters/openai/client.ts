import { compactClient, type SdkClient } from "../../wire/client.ts";
import type { CompactFetchOptions } from "../../wire/fetch.ts";

/**
 * The client with every call of chat completions and responses compacted on its way: `create`, `parse`, `stream`,
 * `runTools`, retries, and clients made by `withOptions`. Requests that continue a conversation on the server
 * (`previous_response_id`, `conversation`) or compact there (`context_management`) pass as they are, with a warning.
 */
export function compactOpenAi<Client extends SdkClient>(
  client: Client,
  options: CompactFetchOptions,
): Client {
  return compactClient(client, options);
}
