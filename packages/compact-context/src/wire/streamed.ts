import { isObject } from "../errors.ts";
import { type Json, objectOf, textOf } from "../providers/request.ts";

// Providers refuse some streamed requests in the stream itself, with status 200 and an error for its first event.

/** Events that come before anything is known of the answer. */
const OPENING = /^response\.(?:created|queued|in_progress)$/;
/** Maximum beginning of a stream that is held back, in characters. */
const MOST_HELD = 4_000_000;

/**
 * The same answer, byte for byte; if its stream begins with an error, the stream of `retry` instead, where that has
 * one. Opening events are held back until the next one.
 */
export function withRetry(
  response: Response,
  retry: (error: string) => Promise<Response | undefined>,
): Response {
  const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
  if (response.body === null || !response.ok || !isStream) return response;
  let reader = response.body.getReader();

  async function* pieces(): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder();
    const held: Uint8Array[] = [];
    let text = "";
    let error: string | undefined;
    while (error === undefined && text.length < MOST_HELD) {
      const { done, value } = await reader.read();
      if (done) break;
      held.push(value);
      text += decoder.decode(value, { stream: true });
      error = errorIn(text);
    }
    const other = error ? await retry(error) : undefined;
    if (other?.ok === true && other.body !== null) {
      await reader.cancel();
      reader = other.body.getReader();
    } else yield* held;
    for (;;) {
      const { done, value } = await reader.read();
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
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(body, { status: response.status, statusText: response.statusText, headers });
}

/** The error that a stream begins with, "" if it begins with something else, undefined if that is not known yet. */
function errorIn(text: string): string | undefined {
  for (const line of text.split("\n").slice(0, -1)) {
    if (line.trim() === "" || line.startsWith("event:")) continue;
    const piece = pieceIn(line);
    if (OPENING.test(textOf(piece.type))) continue;
    const error = piece.error ?? objectOf(piece.response).error;
    return isObject(error) || typeof error === "string" ? JSON.stringify(error) : "";
  }
  return undefined;
}

function pieceIn(line: string): Json {
  try {
    return objectOf(JSON.parse(line.replace(/^data:/, "")));
  } catch {
    return {};
  }
}
