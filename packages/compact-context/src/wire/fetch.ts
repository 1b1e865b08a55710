import { CompactError, isObject, readArgument, requireOptions } from "../errors.ts";
import { callKind, pathOf } from "./calls.ts";
import { createWarner, createWire, type WireOptions } from "./wire.ts";

export interface CompactFetchOptions extends WireOptions {
  /** Sends the requests. Default: the platform's own `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * A `fetch` for any SDK that accepts one: model calls from any of the SDK's methods are compacted; all other
 * requests pass through. Retries and aborts remain the SDK's.
 */
export function compactFetch(options: CompactFetchOptions): typeof globalThis.fetch {
  requireOptions(options, "options", "Pass { manager: new CompactManager() }.");
  // Captured now: the returned `fetch` may later replace the platform's own.
  const send = options.fetch ?? globalThis.fetch;
  const wire = createWire({ ...options, fetch: send });
  const warnOnce = createWarner(options.onWarning);
  return async (input, init) => {
    const request = await readRequest(input, init);
    if (request === undefined) {
      const url = input instanceof Request ? input.url : input;
      if (isUnread(init?.body) && callKind(url) !== undefined)
        warnOnce(`calls of ${pathOf(url)} are not compacted: their body is no text and no bytes`);
      return send(input, init);
    }
    const { url, body, headers, signal } = request;
    const call = await wire(url, headers, body, signal);
    return call.send((sent) => {
      if (sent === body) return send(input, init);
      const own = new Headers(call.headers);
      // The length of the original body.
      own.delete("content-length");
      return send(input, { ...init, method: "POST", headers: own, body: JSON.stringify(sent), signal });
    });
  };
}

/** True for a body that may hold JSON, but that reading could consume or change. */
function isUnread(body: RequestInit["body"]): boolean {
  return body instanceof Blob || body instanceof ReadableStream;
}

/** A POST of a JSON object; undefined for any other request, whose body is not read. */
async function readRequest(input: Parameters<typeof globalThis.fetch>[0], init: RequestInit = {}) {
  const given = input instanceof Request ? input : undefined;
  if ((init.method ?? given?.method ?? "GET").toUpperCase() !== "POST") return undefined;
  const headers = new Headers(init.headers ?? given?.headers);
  const text = typeof init.body === "string" ? init.body : await ownText(given, init);
  if (text === undefined) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) return undefined;
    return { url: given?.url ?? String(input), body, headers, signal: init.signal ?? given?.signal };
  } catch {
    return undefined;
  }
}

/** The text of bytes, or of a `Request`'s own body if it is JSON or a model call. */
async function ownText(given: Request | undefined, init: RequestInit): Promise<string | undefined> {
  const { body } = init;
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return new TextDecoder().decode(body);
  if (given === undefined || body !== undefined) return undefined;
  const isRead =
    given.headers.get("content-type")?.includes("json") === true || callKind(given.url) !== undefined;
  return isRead ? given.clone().text() : undefined;
}

/** The common interface of OpenAI's and Anthropic's SDK clients. */
export interface SdkClient {
  withOptions(options: { fetch?: typeof globalThis.fetch }): unknown;
}

/**
 * A client like the given one whose calls, through every method and helper, are compacted; clients derived by
 * `withOptions` too. Throws `InvalidArgument` for anything that is not a client with one of these `interfaces`.
 */
export function compactClient<Client extends SdkClient>(
  client: Client,
  options: CompactFetchOptions,
  { name, interfaces }: { readonly name: string; readonly interfaces: readonly string[] },
): Client {
  const hint = `Pass the SDK's client itself, such as new ${name}().`;
  const has = (field: string): boolean => isObject((client as SdkClient & Record<string, unknown>)[field]);
  const isClient = (): boolean =>
    isObject(client) && typeof client.withOptions === "function" && interfaces.some(has);
  if (!readArgument("client", hint, isClient)) {
    const message = `this is no client of ${name}'s SDK: it has no withOptions, or no ${interfaces.join(" or ")}`;
    throw new CompactError("InvalidArgument", message, { place: "client", hint });
  }
  const { fetch } = client as { readonly fetch?: typeof globalThis.fetch };
  return client.withOptions({ fetch: compactFetch({ fetch, ...options }) }) as Client;
}
