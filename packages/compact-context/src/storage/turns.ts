/** Milliseconds of work after which the event loop gets to what else waits: timers, sockets, files. */
const SLICE_MS = 8;
/** Promises between a wait and the work behind it, more than there are. */
const HOPS = 32;

/**
 * Makes the function that long work waits for between its steps: one step begins after the other, in the order of the
 * calls, and when together they took a slice of time, the next begins in a later round of the event loop. So a thousand
 * sessions at once do not hold up a server. `clock` gives milliseconds of a steady clock.
 */
export function createTurns(clock: () => number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let passing = false;
  /** When this round of the event loop began its first step; undefined before that. */
  let since: number | undefined;

  const nextRound = (): Promise<void> =>
    new Promise((done) => {
      // Not without a hold on the process: somebody waits for it.
      setTimeout(() => {
        since = undefined;
        done();
      }, 0);
    });
  let ends: Promise<void> | undefined;

  const pass = async (): Promise<void> => {
    passing = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (since !== undefined && clock() - since >= SLICE_MS) await ends;
      if (since === undefined) {
        since = clock();
        ends = nextRound();
      }
      next();
      for (let hop = 0; hop < HOPS; hop += 1) await undefined;
    }
    passing = false;
  };

  return () =>
    new Promise((go) => {
      waiting.push(go);
      if (!passing) void pass();
    });
}
