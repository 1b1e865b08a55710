import { createWire, type WireOptions } from "./wire.ts";

export interface CompactFetchOptions extends WireOptions {
  /** What sends the requests; the platform's own where it is left out. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * A `fetch` for any SDK that takes one: model calls are compacted on their way, whichever of the SDK's methods makes
 * them; all else passes through. The SDK's retries and aborts stay its own.
 */
export function compactFetch(options: CompactFetchOptions): typeof globalThis.fetch {
  const wire = createWire(options);
  return async (input, init) => {
    // Looked up at each call: tests and tools replace the platform's own.
    const send = options.fetch ?? globalThis.fetch;
    const request = await readRequest(input, init);
    if (request === undefined) return send(input, init);
    const { url, text, body, headers, signal, others } = request;
    const call = await wire(url, headers, body, signal);
    return call.send((sent) => {
      const changed = sent !== body;
      const withLength = new Headers(headers);
      // The length of the body that was given.
      if (changed) withLength.delete("content-length");
      return send(url, {
        ...others,
        headers: withLength,
        signal,
        body: changed ? JSON.stringify(sent) : text,
      });
    });
  };
}

interface JsonRequest {
  readonly url: string;
  readonly text: string;
  readonly body: unknown;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly others: RequestInit;
}

/** A POST of JSON; undefined for any other request, which has not been read then. */
async function readRequest(
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit = {},
): Promise<JsonRequest | undefined> {
  const given = input instanceof Request ? input : undefined;
  if ((init.method ?? given?.method ?? "GET").toUpperCase() !== "POST") return undefined;
  const headers = new Headers(init.headers ?? given?.headers);
  const text = typeof init.body === "string" ? init.body : await ownText(given, init);
  if (text === undefined) return undefined;
  try {
    const signal = init.signal ?? given?.signal;
    const url = given?.url ?? String(input);
    return { url, text, body: JSON.parse(text), headers, signal, others: { ...init, method: "POST" } };
  } catch {
    return undefined;
  }
}

/** The text of a `Request`'s own body, when it says that it is JSON. */
async function ownText(given: Request | undefined, init: RequestInit): Promise<string | undefined> {
  if (init.body instanceof Uint8Array) return new TextDecoder().decode(init.body);
  const isJson = given?.headers.get("content-type")?.includes("json") === true;
  return isJson && init.body === undefined ? given.clone().text() : undefined;
}
