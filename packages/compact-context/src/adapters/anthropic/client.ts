import { compactClient, type SdkClient } from "../../wire/client.ts";
import type { CompactFetchOptions } from "../../wire/fetch.ts";

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
