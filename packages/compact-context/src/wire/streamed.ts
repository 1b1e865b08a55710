import { isObject, later } from "../errors.ts";
import { objectOf, parsedObject, textOf } from "../providers/request.ts";

// Providers refuse some streamed requests in the stream itself, with status 200 and an error for its first event.

/** Events that come before anything is known of the answer. */
const OPENING = /^(?:response\.(?:created|queued|in_progress)|ping|keepalive)$/;
/** How long the beginning of an answer is held back at most, and how many bytes of it. */
const HELD_MS = 1_500;
const MOST_HELD = 1_000_000;
/** How many characters of a refusal are read. */
const MOST_REFUSAL = 64_000;

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
    // A model may think for long before its first event.
    const first = reader.read();
    await first.catch(() => undefined);
    const errorIn = createErrorReader();
    let size = 0;
    let beginning: Beginning<Uint8Array, string> = await readBeginning(
      reader,
      (piece) => {
        size += piece.length;
        return errorIn(piece) ?? (size >= MOST_HELD ? "" : undefined);
      },
      first,
    );
    const { told: error = "" } = beginning;
    const other = error === "" || gone.aborted ? undefined : await retry(error, gone).catch(() => undefined);
    if (other?.ok === true && other.body !== null && !gone.aborted) {
      reader.cancel().catch(() => undefined);
      reader = other.body.getReader();
      beginning = { held: [] };
    } else {
      other?.body?.cancel().catch(() => undefined);
    }
    yield* wholeOf(reader, beginning);
  }

  const body = streamOf(pieces(), (reason) => {
    leaving.abort();
    return reader.cancel(reason);
  });
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(body, { status: response.status, statusText: response.statusText, headers });
}

/** The same refusal, byte for byte, or what `retry` gives for its text. */
export async function refusedOr(
  response: Response,
  retry: (text: string) => Promise<Response | undefined>,
): Promise<Response> {
  const again = await retry(await textOfCopy(response));
  if (again === undefined) return response;
  response.body?.cancel().catch(() => undefined);
  return again;
}

/** What a body says within a moment; the response itself stays unread. */
export async function textOfCopy(response: Response): Promise<string> {
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  await readBeginning(reader, (piece) => {
    text += decoder.decode(piece, { stream: true });
    return text.length >= MOST_REFUSAL || undefined;
  });
  reader.cancel().catch(() => undefined);
  return text;
}

type Next<Piece> = ReturnType<ReadableStreamDefaultReader<Piece>["read"]>;

/** What was read of a stream. */
export interface Beginning<Piece, Told> {
  readonly held: readonly Piece[];
  /** What the pieces told; undefined if the stream ended, broke or paused before that. */
  readonly told?: Told | undefined;
  /** What comes next, where that has been asked for; it may have failed. */
  readonly pending?: Next<Piece>;
}

/** Reads a stream until its pieces tell something, or for a moment. */
export async function readBeginning<Piece, Told>(
  reader: ReadableStreamDefaultReader<Piece>,
  tell: (piece: Piece) => Told | undefined,
  first: Next<Piece> = reader.read(),
): Promise<Beginning<Piece, Told>> {
  const held: Piece[] = [];
  let expire = (): void => undefined;
  const expired = new Promise<undefined>((done) => {
    expire = later(HELD_MS, () => done(undefined));
  });
  for (let pending = first; ; pending = reader.read()) {
    const piece = await Promise.race([pending, expired]).catch(() => undefined);
    if (piece === undefined || piece.done) {
      expire();
      pending.catch(() => undefined);
      return { held, pending };
    }
    held.push(piece.value);
    const told = tell(piece.value);
    if (told !== undefined) {
      expire();
      return { held, told };
    }
  }
}

/** The pieces of a stream whose beginning was read. */
export async function* wholeOf<Piece>(
  reader: ReadableStreamDefaultReader<Piece>,
  { held, pending }: Beginning<Piece, unknown>,
): AsyncGenerator<Piece> {
  yield* held;
  for (let next = pending ?? reader.read(); ; next = reader.read()) {
    const { done, value } = await next;
    if (done) return;
    yield value;
  }
}

/** A stream of these pieces that is read no further than its reader reads. */
export function streamOf<Piece>(
  pieces: AsyncGenerator<Piece>,
  cancel: (reason: unknown) => Promise<void>,
): ReadableStream<Piece> {
  return new ReadableStream<Piece>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
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
      const event = parsedObject(whole.slice("data:".length));
      if (OPENING.test(textOf(event.type))) continue;
      const error = event.error ?? objectOf(event.response).error ?? (event.type === "error" && event);
      return isObject(error) || typeof error === "string" ? JSON.stringify(error) : "";
    }
    return undefined;
  };
}
