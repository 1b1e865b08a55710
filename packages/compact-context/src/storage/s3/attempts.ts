import { abortable, refuseAborted } from "../../errors.ts";
import { isTransient } from "./errors.ts";

export interface Attempts {
  /** Milliseconds that one request may take, its body included. */
  readonly timeout: number;
  /** How often a request is made before it counts as failed. */
  readonly most: number;
  wait(milliseconds: number): Promise<void>;
  /** A number from 0 up to 1. */
  random(): number;
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 5_000;

/** Makes a request again while it fails in a way that passes, waiting longer each time; gives or throws the last outcome. */
export async function withAttempts<T>(
  attempts: Attempts,
  request: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let done = 1; ; done++) {
    refuseAborted(signal);
    try {
      return await withinTime(attempts.timeout, request, signal);
    } catch (error) {
      refuseAborted(signal);
      if (done >= attempts.most || !isTransient(error)) throw error;
      const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** done);
      await attempts.wait(longest * (0.5 + attempts.random() / 2));
    }
  }
}

/** A signal alone does not end the reading of a body that stands still: the race does. */
async function withinTime<T>(
  timeout: number,
  request: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", giveUp, { once: true });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${timeout} ms`), { name: "TimeoutError" }));
      controller.abort();
    }, timeout);
  });
  try {
    return await abortable(Promise.race([request(controller.signal), late]), signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
