import type { TextModel } from "../../core/ports.ts";
import { CompactError, requireKnown } from "../../errors.ts";
import { TEXT_APIS, textModelOver } from "../../providers/bodies.ts";
import { type Endpoint, fetchJson, objectOf, objectsIn, textOf } from "../../providers/request.ts";

export interface UrlTextModelOptions {
  /** The base URL, such as `http://localhost:11434/v1`; the interface's usual path is appended to a bare origin. */
  readonly url: string;
  /** Default: the first model that the server lists. */
  readonly model?: string;
  /** The interface that the server implements. Default: `chat` (OpenAI's chat completions). */
  readonly api?: "chat" | "responses" | "anthropic";
  /** Sent in the header that the interface expects; local servers need none. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Tokens of input and output together. Default: looked up by the model's name. */
  readonly window?: number;
  /** Additional parameters of every request. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Maximum bytes of an answer. Default: 16 MiB. */
  readonly maxAnswerBytes?: number;
  /** Name for logs and events. Default: host and model. */
  readonly name?: string;
  readonly fetch?: typeof globalThis.fetch;
}

const OPTIONS = {
  url: true,
  model: true,
  api: true,
  key: true,
  headers: true,
  window: true,
  parameters: true,
  maxAnswerBytes: true,
  name: true,
  fetch: true,
} as const;
const PATHS = { chat: "chat/completions", responses: "responses", anthropic: "messages" } as const;

function headersOf(api: keyof typeof PATHS, key: string | undefined): Record<string, string> {
  const version: Record<string, string> = api === "anthropic" ? { "anthropic-version": "2023-06-01" } : {};
  if (key === undefined) return version;
  return api === "anthropic" ? { ...version, "x-api-key": key } : { authorization: `Bearer ${key}` };
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * A text model behind a URL, using only `fetch`: a local server, a gateway, or a provider. Redirects are not
 * followed. Throws `InvalidArgument` for an invalid URL or key.
 */
export function textModelFromUrl(options: UrlTextModelOptions): TextModel {
  requireKnown(options, OPTIONS, "Pass { url, model }.");
  const { url, model, api = "chat", key, window, parameters } = options;
  const base = baseOf(url);
  checkKey(key);
  const endpoint: Endpoint = {
    fetch: options.fetch ?? globalThis.fetch,
    headers: { ...headersOf(api, key), ...options.headers },
    maxBytes: options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
  };
  return textModelOver(TEXT_APIS[api], {
    name: options.name ?? `${base.host}${model === undefined ? "" : `/${model}`}`,
    model: model ?? firstModel(endpoint, base),
    window,
    parameters,
    limit: base.host === "api.openai.com" ? "max_completion_tokens" : "max_tokens",
    send: (body, { signal }) => fetchJson(endpoint, { url: urlOf(base, PATHS[api]), body, signal }),
  });
}

function baseOf(text: string): URL {
  const base = URL.canParse(text) ? new URL(text) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    const hint = "Give the server's base URL, such as http://localhost:11434/v1.";
    throw refusal("url", "the model's URL is no http or https URL", hint);
  }
  if (base.username !== "" || base.password !== "") {
    const hint = "Give a key as an argument or a header of its own: URLs end up in logs.";
    throw refusal("url", "the model's URL has a user name or password in it", hint);
  }
  return base;
}

function refusal(place: string, message: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", message, { place, hint });
}

/** Rejects a malformed key here: `fetch` would repeat it in its error. */
function checkKey(key: string | undefined): void {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return;
  const hint = "Copy it again: letters, digits and signs, no spaces and no line breaks.";
  throw refusal("key", "the key is empty or has characters that no key has", hint);
}

/** Clients write the base with or without its version; a complete path is used unchanged. */
function urlOf(base: URL, path: string): string {
  const url = new URL(base);
  const trimmed = url.pathname.replace(/\/+$/, "");
  if (!trimmed.endsWith(`/${path}`)) url.pathname = `${trimmed === "" ? "/v1" : trimmed}/${path}`;
  url.hash = "";
  return url.href;
}

/** The first model in the server's list, requested once. */
function firstModel(endpoint: Endpoint, base: URL): (signal: AbortSignal | undefined) => Promise<string> {
  let listed: string | undefined;
  return async (signal) => {
    if (listed !== undefined) return listed;
    const root = new URL(base);
    root.pathname = root.pathname.replace(/\/(chat\/completions|responses|messages)\/?$/, "");
    const url = urlOf(root, "models");
    const body = await fetchJson(endpoint, { url, signal });
    const first = textOf(objectsIn(objectOf(body).data)[0]?.id);
    if (first === "")
      throw refusal("model", `${base.host} lists no model`, "Name the model, or load one in the server.");
    listed = first;
    return first;
  };
}
