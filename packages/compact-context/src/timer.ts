/** Most milliseconds that a timer takes, 24.8 days: set to more, it goes off at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** Runs `work` once after `ms`, or at an interval of `ms`, never holding the process open; the returned function calls it off. */
export function later(ms: number, work: () => void, repeated = false): () => void {
  const timer: unknown = repeated ? setInterval(work, ms) : setTimeout(work, ms);
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref();
  }
  return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
}
