import { objectOf } from "../providers/request.ts";
import { wordsOf } from "./diagnostic.ts";

/** Statuses that say “not now”: too many requests, timeouts, trouble on the provider's side. */
const PASSING = new Set([408, 409, 425, 429]);
const PASSING_WORDS =
  /overloaded|rate.?limit|timed? ?out|temporar|unavailable|try again|socket|network|fetch failed|terminated|ECONN|ETIMEDOUT|EPIPE|EAI_AGAIN|broke off|said nothing/i;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Whether the same request may succeed in a moment. */
export function passes(error: unknown): boolean {
  const { status, statusCode, isRetryable } = objectOf(error);
  if (typeof isRetryable === "boolean") return isRetryable;
  const code = typeof status === "number" ? status : statusCode;
  if (typeof code === "number") return PASSING.has(code) || code >= 500;
  return PASSING_WORDS.test(wordsOf(error));
}

/** Milliseconds to wait before the next attempt: as the provider says, else doubling from half a second. */
export function pauseBefore(attempt: number, error: unknown): number {
  const { retryAfterMs } = objectOf(error);
  const asked = typeof retryAfterMs === "number" && retryAfterMs >= 0 ? retryAfterMs : headerPause(error);
  return Math.min(asked ?? FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
}

function headerPause(error: unknown): number | undefined {
  const seconds = Number(objectOf(objectOf(error).responseHeaders)["retry-after"] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
