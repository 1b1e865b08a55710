import type { TextModel, TextModelAnswer, TextModelRequest } from "../../core/ports.ts";
import { CompactError, requireOptions } from "../../errors.ts";
import {
  anthropicBody,
  anthropicParameters,
  CHAT_LIMITS,
  chatBody,
  chatParameters,
  readAnthropic,
  readChat,
  readResponse,
  responsesBody,
  responsesParameters,
} from "../../providers/bodies.ts";
import {
  createTolerantCall,
  type Endpoint,
  fetchJson,
  type Json,
  objectOf,
  objectsIn,
  textOf,
  windowOf,
} from "../../providers/request.ts";

export interface UrlTextModelOptions {
  /** The base URL, such as `http://localhost:11434/v1`; a bare origin gets the interface's usual path. */
  readonly url: string;
  /** The first model that the server lists when left out. */
  readonly model?: string;
  /** The interface that the server speaks; `chat` (OpenAI's chat completions) when left out. */
  readonly api?: "chat" | "responses" | "anthropic";
  /** Sent as the interface wants it; local servers need none. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Tokens of input and output together; looked up by the model's name when left out. */
  readonly window?: number;
  /** Further parameters of every request. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Most bytes of an answer; 16 MiB when left out. */
  readonly maxAnswerBytes?: number;
  /** For people and events; host and model when left out. */
  readonly name?: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** One interface over plain HTTP. */
interface Api {
  readonly format: string;
  readonly path: string;
  body(model: string, request: TextModelRequest): Json;
  parameters(request: TextModelRequest, host: string): Json;
  read(body: unknown): TextModelAnswer;
  headers(key: string | undefined): Record<string, string>;
}

const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

const APIS: Readonly<Record<NonNullable<UrlTextModelOptions["api"]>, Api>> = {
  chat: {
    format: "openai-chat",
    path: "chat/completions",
    body: chatBody,
    parameters: (request, host) =>
      chatParameters(request, host === "api.openai.com" ? "max_completion_tokens" : "max_tokens"),
    read: readChat,
    headers: bearer,
  },
  responses: {
    format: "openai-responses",
    path: "responses",
    body: responsesBody,
    parameters: responsesParameters,
    read: readResponse,
    headers: bearer,
  },
  anthropic: {
    format: "anthropic",
    path: "messages",
    body: anthropicBody,
    parameters: anthropicParameters,
    read: readAnthropic,
    headers: (key) => {
      const version = { "anthropic-version": "2023-06-01" };
      return key === undefined ? version : { ...version, "x-api-key": key };
    },
  },
};

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * A text model behind a URL, with nothing but `fetch`: a local server, a gateway, or a provider itself. Redirects are
 * not followed. Throws `InvalidArgument` for a URL or a key that cannot be one.
 */
export function textModelFromUrl(options: UrlTextModelOptions): TextModel {
  requireOptions(options, "options", "Pass { url, model }.");
  const api = APIS[options.api ?? "chat"];
  const base = baseOf(options.url);
  checkKey(options.key);
  const endpoint: Endpoint = {
    fetch: options.fetch ?? globalThis.fetch,
    headers: { ...api.headers(options.key), ...options.headers },
    maxBytes: options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
  };
  const call = createTolerantCall(CHAT_LIMITS);
  const modelOf = namedModel(options.model, endpoint, base);
  return {
    name: options.name ?? `${base.host}${options.model === undefined ? "" : `/${options.model}`}`,
    ...windowOf(options.model ?? "", options.window),
    prefixFormats: [api.format],
    generate: async (request) => {
      const { signal } = request;
      const body = { ...api.body(await modelOf(signal), request), ...options.parameters };
      return call(api.parameters(request, base.host), async (accepted) =>
        api.read(
          await fetchJson(endpoint, {
            url: urlOf(base, api.path),
            body: { ...body, ...accepted },
            signal,
          }),
        ),
      );
    },
  };
}

function baseOf(text: string): URL {
  const base = URL.canParse(text) ? new URL(text) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw new CompactError("InvalidArgument", "the model's URL is no http or https URL", {
      place: "url",
      hint: "Give the server's base URL, such as http://localhost:11434/v1.",
    });
  }
  if (base.username !== "" || base.password !== "") {
    throw new CompactError("InvalidArgument", "the model's URL has a user name or password in it", {
      place: "url",
      hint: "Give a key as an argument or a header of its own: URLs end up in logs.",
    });
  }
  return base;
}

/** A broken key is refused here: `fetch` would repeat it in its error. */
function checkKey(key: string | undefined): void {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return;
  throw new CompactError("InvalidArgument", "the key is empty or has characters that no key has", {
    place: "key",
    hint: "Copy it again: letters, digits and signs, no spaces and no line breaks.",
  });
}

/** Clients name the base with or without its version; a whole path is taken as it is. */
function urlOf(base: URL, path: string): string {
  const url = new URL(base);
  const trimmed = url.pathname.replace(/\/+$/, "");
  if (!trimmed.endsWith(`/${path}`)) url.pathname = `${trimmed === "" ? "/v1" : trimmed}/${path}`;
  url.hash = "";
  return url.href;
}

/** The model to name in requests; a server that serves one is asked for its name once. */
function namedModel(
  given: string | undefined,
  endpoint: Endpoint,
  base: URL,
): (signal: AbortSignal | undefined) => Promise<string> {
  let listed: string | undefined = given;
  return async (signal) => {
    if (listed !== undefined) return listed;
    const root = new URL(base);
    root.pathname = root.pathname.replace(/\/(chat\/completions|responses|messages)\/?$/, "");
    const url = urlOf(root, "models");
    const body = await fetchJson(endpoint, { url, signal });
    const first = textOf(objectsIn(objectOf(body).data)[0]?.id);
    if (first === "") {
      throw new CompactError("InvalidArgument", `${base.host} lists no model`, {
        place: "model",
        hint: "Name the model, or load one in the server.",
      });
    }
    listed = first;
    return first;
  };
}
