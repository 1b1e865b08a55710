import { errorMessage, later } from "../../errors.ts";
import { retryAfter } from "../../flush/delivery.ts";

/** Work beside the run: one piece at a time, each again later when it fails. */
export interface Lane {
  /** Begins behind what is there; resolves with what the work gives, rejects when it fails. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Does it now or later, until it succeeds; a newer work of the same name takes the place of one that waits. */
  keepTrying(name: string, work: (signal: AbortSignal) => Promise<unknown>): void;
  /** Resolves when nothing runs, or after `ms`; what waits for another try does not count. */
  idle(ms?: number): Promise<void>;
  /** No other try begins, and what runs is told by its signal to make an end. */
  close(): void;
}

export function createLane(warn: (message: string) => void): Lane {
  const controller = new AbortController();
  const waiting = new Map<string, () => void>();
  let last: Promise<unknown> = Promise.resolve();
  let running = 0;

  const run = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    running += 1;
    const next = last.then(() => work(controller.signal));
    last = next
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        running -= 1;
      });
    return next;
  };

  const attempt = (name: string, work: (signal: AbortSignal) => Promise<unknown>, attempts: number): void => {
    waiting.get(name)?.();
    waiting.delete(name);
    run(work).catch((error: unknown) => {
      if (controller.signal.aborted) return;
      if (attempts === 0) warn(`${name} failed and is tried again: ${errorMessage(error)}`);
      if (!waiting.has(name))
        waiting.set(
          name,
          later(retryAfter(attempts), () => attempt(name, work, attempts + 1)),
        );
    });
  };

  return {
    run,
    keepTrying: (name, work) => attempt(name, work, 0),
    async idle(ms) {
      let over = false;
      let callOff = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        if (ms !== undefined) {
          // It keeps the process alive: who waits for the end of the work gets there.
          const timer = setTimeout(() => {
            over = true;
            resolve();
          }, ms);
          callOff = () => clearTimeout(timer);
        }
      });
      while (running > 0 && !over) await Promise.race([last, late]);
      callOff();
    },
    close() {
      controller.abort();
      for (const callOff of waiting.values()) callOff();
      waiting.clear();
    },
  };
}
