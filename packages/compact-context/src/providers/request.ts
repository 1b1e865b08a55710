import { objectOf } from "../codecs/native.ts";
import { lookUpModel } from "../tokens/models.ts";

/** Endpoint of a model that is called without an SDK. */
export interface Endpoint {
  readonly fetch: typeof globalThis.fetch;
  /** Sent with every request; values never appear in errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum bytes of an answer. */
  readonly maxBytes: number;
}

export interface JsonRequest {
  readonly url: string;
  /** Absent for a GET. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Sends JSON and reads JSON. An error status rejects with an `Error` with `status`, `headers` and the body as
 * `error`, like the SDKs' errors. Redirects are not followed: they would forward the key.
 */
export async function fetchJson(endpoint: Endpoint, { url, body, signal }: JsonRequest): Promise<unknown> {
  const response = await endpoint.fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { accept: "application/json", "content-type": "application/json", ...endpoint.headers },
    redirect: "manual",
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  const text = await readBounded(response, endpoint.maxBytes);
  if (response.ok) return parsed(text, response);
  throw failure(endpoint, response, text);
}

async function readBounded(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel();
      const { status } = response;
      throw Object.assign(new Error(`The answer is longer than ${maxBytes} bytes.`), { status });
    }
    text += decoder.decode(value, { stream: true });
  }
}

function parsed(text: string, response: Response): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw Object.assign(new Error("The answer is no JSON.", { cause }), { status: response.status });
  }
}

const SHOWN = 300;

function failure(endpoint: Endpoint, response: Response, text: string): Error {
  const { status, headers } = response;
  const shown = withoutSecrets(text, endpoint.headers);
  const error = bodyOf(shown);
  const told = textOf(objectOf(objectOf(error).error ?? error).message) || shown.trim().slice(0, SHOWN);
  const redirected = status >= 300 && status < 400 ? "redirects are not followed" : "";
  const said = [told, redirected].filter((part) => part !== "").join("; ");
  const message = said === "" ? `status ${status}` : `${status} ${said}`;
  return Object.assign(new Error(message), { status, headers, error });
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(0, SHOWN);
  }
}

/** Redacts a header that the server repeats, so that it is not logged. */
function withoutSecrets(text: string, headers: Endpoint["headers"]): string {
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^Bearer /i, "")]);
  return values
    .filter((value) => value.length >= 8)
    .reduce((left, value) => left.replaceAll(value, "<REDACTED>"), text);
}

/** Words by which servers reject a parameter itself, rather than its value. */
const REFUSED =
  /unsupported|not supported|does not support|unrecognized|unknown|unexpected|deprecated|extra (?:inputs|fields)|not permitted|not allowed|may only be set/i;

/** Calls with optional parameters. Refused parameters are renamed or omitted, permanently. */
export type TolerantCall = <Answer>(
  parameters: Json,
  send: (accepted: Json) => PromiseLike<Answer>,
) => Promise<Answer>;

/**
 * Retries without parameters that the server refuses: reasoning models refuse a temperature, and servers use
 * different names for the output limit. Other errors are rethrown unchanged.
 */
export function createTolerantCall(renames: Readonly<Record<string, string>> = {}): TolerantCall {
  const refused = new Set<string>();

  function accepted(parameters: Json): Json {
    const taken: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(parameters)) {
      const other = renames[name];
      if (!refused.has(name)) taken[name] = value;
      else if (other !== undefined && !refused.has(other)) taken[other] = value;
    }
    return taken;
  }

  return async (parameters, send) => {
    for (;;) {
      const sent = accepted(parameters);
      try {
        return await send(sent);
      } catch (error) {
        const name = refusedParameter(error, Object.keys(sent));
        if (name === undefined) throw error;
        refused.add(name);
      }
    }
  };
}

/** The sent parameter that an error of an SDK or of `fetchJson` rejects. */
function refusedParameter(error: unknown, sent: readonly string[]): string | undefined {
  const { status, statusCode, message, responseBody, error: body } = objectOf(error);
  const code = status ?? statusCode;
  if (code !== 400 && code !== 422) return undefined;
  const inner = objectOf(objectOf(body).error ?? body);
  const words = [message, responseBody, inner.message].map(textOf).join("\n");
  if (!REFUSED.test(words)) return undefined;
  const named = textOf(inner.param);
  if (sent.includes(named)) return named;
  return sent.find((name) => new RegExp(`(?<![\\w])${name}(?![\\w])`).test(words));
}

export type Json = Readonly<Record<string, unknown>>;

export { objectOf };

export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** The first value that is a finite number above 0, such as a limit with several names. */
export function positiveOf(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => Number.isFinite(value) && Number(value) > 0);
}

/** The text of a text, a block, a message, or a list of these; "" for anything else. */
export function wordsOf(said: unknown): string {
  if (typeof said === "string") return said;
  if (Array.isArray(said))
    return said
      .map(wordsOf)
      .filter((words) => words !== "")
      .join("\n");
  const { text, parts, content } = objectOf(said);
  const inner = text ?? parts ?? content;
  return inner === undefined ? "" : wordsOf(inner);
}

/** A tool as it is sent to providers: name, description and JSON schema, as far as they can be read. */
export function describedTool(name: string, description: unknown, schema: unknown): Json {
  return { name, description, parameters: jsonSchemaOf(objectOf(schema)) };
}

/**
 * The JSON schema itself, the schema that the AI SDK or zod can produce, or the field names of a zod schema,
 * which are most of its tokens. Empty for schemas of other libraries.
 */
function jsonSchemaOf(schema: Json): unknown {
  const { jsonSchema, toJSONSchema, shape } = schema;
  if (jsonSchema !== undefined) return jsonSchema;
  if (typeof toJSONSchema === "function") {
    try {
      return Reflect.apply(toJSONSchema, schema, []) as unknown;
    } catch {
      // Described by its fields.
    }
  }
  if (typeof shape !== "object" || shape === null) return "~standard" in schema ? undefined : schema;
  const fields = Object.entries(shape).map(([key, field]) => {
    const { description } = objectOf(field);
    return [key, typeof description === "string" ? { description } : {}];
  });
  return { type: "object", properties: Object.fromEntries(fields) };
}

/** The object that a JSON text holds; empty if it is none. */
export function parsedObject(text: string): Json {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The given window, otherwise that of a known model; empty if neither is known. */
export function windowOf(model: string, given: number | undefined): { readonly window?: number } {
  if (given !== undefined) return { window: given };
  const { known, window } = lookUpModel(model);
  return known ? { window } : {};
}
