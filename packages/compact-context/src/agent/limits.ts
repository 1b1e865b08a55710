import { setMaxListeners } from "node:events";
import { MAX_TIMER_MS } from "../errors.ts";

/** Bounds of one turn of an agent. */
export interface AgentLimits {
  /** Requests to the model; 50. */
  readonly requests: number;
  /** Tool calls that are run; 200. */
  readonly calls: number;
  /** Wall time in milliseconds; half an hour. */
  readonly wallMs: number;
  /** Milliseconds of one tool call where the tool sets none; two minutes. */
  readonly toolMs: number;
  /** Milliseconds that a model may be silent in the middle of a request; three minutes. */
  readonly modelSilenceMs: number;
  /** Times that a request is sent again after an error that may pass; 2. */
  readonly retries: number;
  /** Characters of a tool's output that are kept at all; 4,000,000. Of these a model sees `policy.maxToolResultTokens`. */
  readonly outputCharacters: number;
}

export const DEFAULT_LIMITS: AgentLimits = Object.freeze({
  requests: 50,
  calls: 200,
  wallMs: 30 * 60_000,
  toolMs: 2 * 60_000,
  modelSilenceMs: 3 * 60_000,
  retries: 2,
  outputCharacters: 4_000_000,
});

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
    work.then(resolve, reject).then(settle);
  });
}

/** The controller, for any number of listeners: calls that run at the same time share its signal. */
export function listenedTo(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}
