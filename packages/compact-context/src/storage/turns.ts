/** Milliseconds of work after which the event loop gets to what else waits: timers, sockets, files. */
const SLICE_MS = 8;

/**
 * Makes the function that long work waits for between its steps. It resolves at once while the slice of time lasts; then
 * in a later round of the event loop, in the order of the calls, so that a thousand sessions at once do not hold up a
 * server. `clock` gives milliseconds of a steady clock.
 */
export function createTurns(clock: () => number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let started: number | undefined;

  const begin = (): void => {
    started = clock();
    // Not without a hold on the process: somebody waits for it.
    setTimeout(() => void round(), 0);
  };
  const round = async (): Promise<void> => {
    started = undefined;
    if (waiting.length === 0) return;
    begin();
    const from = clock();
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      next();
      // What was resolved runs up to its next wait.
      await new Promise<void>((done) => queueMicrotask(done));
      if (clock() - from >= SLICE_MS) return;
    }
  };

  return async () => {
    if (started === undefined) begin();
    else if (waiting.length > 0 || clock() - started >= SLICE_MS)
      await new Promise<void>((go) => waiting.push(go));
  };
}
