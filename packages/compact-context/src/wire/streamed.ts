import { isObject, later } from "../errors.ts";
import { type Json, objectOf, textOf } from "../providers/request.ts";

// Providers refuse some streamed requests in the stream itself, with status 200 and an error for its first event.

/** Events that come before anything is known of the answer. */
const OPENING = /^(?:response\.(?:created|queued|in_progress)|ping|keepalive)$/;
/** How long the beginning of a stream is held back at most, and how many bytes of it. */
const HELD_MS = 1500;
const MOST_HELD = 1_000_000;

/**
 * The same answer, byte for byte; if its stream begins with an error, the stream of `retry` instead, where that
 * gives one. `gone` is aborted when the reader leaves. Opening events are held back for a moment, until the next one comes.
 */
export function withRetry(
  response: Response,
  retry: (error: string, gone: AbortSignal) => Promise<Response | undefined>,
): Response {
  const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
  if (response.body === null || !response.ok || !isStream) return response;
  let reader = response.body.getReader();
  const leaving = new AbortController();
  const gone = leaving.signal;

  async function* pieces(): AsyncGenerator<Uint8Array> {
    const { held, error, pending } = await readBeginning(reader);
    const other = error === "" || gone.aborted ? undefined : await retry(error, gone).catch(() => undefined);
    if (other?.ok === true && other.body !== null && !gone.aborted) {
      reader.cancel().catch(() => undefined);
      reader = other.body.getReader();
    } else {
      other?.body?.cancel().catch(() => undefined);
      yield* held;
    }
    for (let next = pending ?? reader.read(); ; next = reader.read()) {
      const { done, value } = await next;
      if (done) return;
      yield value;
    }
  }

  const source = pieces();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel(reason) {
        leaving.abort();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(body, { status: response.status, statusText: response.statusText, headers });
}

interface Beginning {
  readonly held: readonly Uint8Array[];
  /** The error that it consists of, or "". */
  readonly error: string;
  /** What comes next, where that has been asked for; it may have failed. */
  readonly pending: ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]> | undefined;
}

/** Reads a stream until it is known what it begins with, or for a moment. */
async function readBeginning(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Beginning> {
  const held: Uint8Array[] = [];
  const errorIn = createErrorReader();
  let size = 0;
  let expired: Promise<undefined> | undefined;
  for (;;) {
    const pending = reader.read();
    const piece = await Promise.race(expired === undefined ? [pending] : [pending, expired]).catch(
      () => undefined,
    );
    if (piece === undefined || piece.done) {
      pending.catch(() => undefined);
      return { held, error: "", pending };
    }
    held.push(piece.value);
    size += piece.value.length;
    const error = errorIn(piece.value);
    if (error !== undefined || size >= MOST_HELD) return { held, error: error ?? "", pending: undefined };
    expired ??= new Promise((done) => void later(HELD_MS, () => done(undefined)));
  }
}

/**
 * Reads a stream piece by piece: the error that it begins with, "" if it begins with something else, undefined
 * while that is not known.
 */
function createErrorReader(): (piece: Uint8Array) => string | undefined {
  const decoder = new TextDecoder();
  let line = "";
  return (piece) => {
    const [first = "", ...more] = decoder.decode(piece, { stream: true }).split(/\r\n|\r|\n/);
    const lines = [line + first, ...more];
    line = lines.pop() ?? "";
    for (const whole of lines) {
      if (!whole.startsWith("data:")) continue;
      const event = eventIn(whole);
      if (OPENING.test(textOf(event.type))) continue;
      const error = event.error ?? objectOf(event.response).error ?? (event.type === "error" && event);
      return isObject(error) || typeof error === "string" ? JSON.stringify(error) : "";
    }
    return undefined;
  };
}

function eventIn(line: string): Json {
  try {
    return objectOf(JSON.parse(line.slice("data:".length)));
  } catch {
    return {};
  }
}
