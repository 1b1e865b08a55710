/** Sends one body as JSON; resolves with the status of the answer, rejects when there was none in time. */
export type Post = (body: string) => Promise<number>;

export interface PostOptions {
  readonly url: URL;
  /** Milliseconds for the whole of one request, its answer included. */
  readonly timeoutMs: number;
  /** Used in place of Node's own client. */
  readonly fetch?: typeof fetch;
}

/** No collector has more to say. */
export const LONGEST_ANSWER: number = 64 * 1024;

/** A `Post` over `fetch`; the body of the answer is not read. */
export function postByFetch({ url, timeoutMs }: PostOptions, request: typeof fetch): Post {
  return async (body) => {
    const answer = await request(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body?.cancel();
    // A redirect that is not followed has the status 0 in some runtimes.
    return answer.type === "opaqueredirect" ? 302 : answer.status;
  };
}
