import { setMaxListeners } from "node:events";
import { MAX_TIMER_MS } from "../errors.ts";

/** A signal that is aborted by an outer one or when the time is over; `stop` frees it. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True once the time was over. */
  passed(): boolean;
  stop(): void;
}

export function startDeadline(milliseconds: number, outer?: AbortSignal): Deadline {
  const controller = listenedTo(new AbortController());
  let late = false;
  const abort = (): void => controller.abort(outer?.reason);
  const timer = setTimeout(
    () => {
      late = true;
      controller.abort(new Error(`took longer than ${milliseconds} ms`));
    },
    Math.min(milliseconds, MAX_TIMER_MS),
  );
  if (outer?.aborted === true) abort();
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    passed: () => late,
    stop() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}

/** The promise, or a rejection with the signal's reason as soon as it is aborted: nobody waits for work that does not listen. */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(signal.reason);
    if (signal.aborted) refuse();
    signal.addEventListener("abort", refuse, { once: true });
    const settle = (): void => signal.removeEventListener("abort", refuse);
    work.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}

/** The controller, for any number of listeners: calls that run at the same time share its signal. */
export function listenedTo(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}
