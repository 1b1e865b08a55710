import { objectOf, textOf } from "./json.ts";

/** What clients give back for a request: a promise that can also hand out the raw response. */
export interface ClientAnswer<T> extends Promise<T> {
  asResponse(): Promise<unknown>;
  withResponse(): Promise<unknown>;
}

/** A promise as the SDKs' clients give it, for a call that is made a little later. */
export function laterAnswer<T>(
  made: Promise<{ readonly answer: PromiseLike<T>; readonly value: T }>,
): ClientAnswer<T> {
  const raw = async (name: "asResponse" | "withResponse"): Promise<unknown> => {
    const answer = (await made).answer as unknown as Record<typeof name, () => Promise<unknown>>;
    return answer[name]();
  };
  return Object.assign(
    made.then(({ value }) => value),
    { asResponse: () => raw("asResponse"), withResponse: () => raw("withResponse") },
  );
}

/** In the words of OpenAI, Anthropic and the servers that speak like them. */
const TOO_LONG =
  /prompt is too long|context[ _](?:length|window|size)|maximum context|too many (?:input )?tokens|request_too_large|input is too long/i;

/** True for a provider's answer that a request has more tokens, or bytes, than the model takes. */
export function isTooLong(error: unknown): boolean {
  const { statusCode, status = statusCode, code, message } = objectOf(error);
  if (code === "context_length_exceeded") return true;
  if (status !== 400 && status !== 413 && status !== 422) return false;
  return status === 413 || TOO_LONG.test(`${textOf(code)} ${textOf(message)}`);
}

/** Lets every piece of a stream be seen as it passes; anything else is shown once. The very same object comes back. */
export function watch<T>(answer: T, see: (piece: unknown) => void): T {
  const stream = answer as { [Symbol.asyncIterator]?: () => AsyncIterator<unknown> };
  const iterate = typeof answer === "object" && answer !== null ? stream[Symbol.asyncIterator] : undefined;
  if (iterate === undefined) {
    see(answer);
    return answer;
  }
  const pieces = async function* (): AsyncGenerator<unknown> {
    for await (const piece of { [Symbol.asyncIterator]: () => iterate.call(answer) }) {
      see(piece);
      yield piece;
    }
  };
  Object.defineProperty(answer, Symbol.asyncIterator, { value: pieces, configurable: true });
  return answer;
}
