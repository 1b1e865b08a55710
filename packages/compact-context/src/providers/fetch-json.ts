import { objectOf, textOf } from "./json.ts";

/** Where and how a model is reached without an SDK. */
export interface Endpoint {
  readonly fetch: typeof globalThis.fetch;
  /** Sent with every request; values never appear in errors. */
  readonly headers: Readonly<Record<string, string>>;
  /** Most bytes of an answer. */
  readonly maxBytes: number;
}

export interface JsonRequest {
  readonly url: string;
  /** Absent for a GET. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Sends JSON and reads JSON. An error status rejects with an `Error` that has `status`, `headers` and the body as
 * `error`, like those of the SDKs. Redirects are not followed: they would carry the key elsewhere.
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
      throw Object.assign(new Error(`The answer is longer than ${maxBytes} bytes.`), {
        status: response.status,
      });
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
  return Object.assign(new Error(said === "" ? `status ${status}` : `${status} ${said}`), {
    status,
    headers,
    error,
  });
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(0, SHOWN);
  }
}

/** A server that repeats a header does not get it into a log. */
function withoutSecrets(text: string, headers: Endpoint["headers"]): string {
  const values = Object.values(headers).flatMap((value) => [value, value.replace(/^Bearer /i, "")]);
  return values
    .filter((value) => value.length >= 8)
    .reduce((left, value) => left.replaceAll(value, "<REDACTED>"), text);
}
