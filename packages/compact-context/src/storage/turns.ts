/** Runs work in the next round of the event loop, with a hold on the process: somebody waits for it. */
const nextRound: (work: () => void) => unknown =
  (globalThis as { setImmediate?: (work: () => void) => unknown }).setImmediate ??
  ((work) => setTimeout(work, 0));

/**
 * Makes the function that long work waits for between its steps: one step for each round of the event loop, in the order
 * of the calls. Timers, sockets and files get their turn between two, so a thousand sessions at once do not hold up a
 * server for longer than one step of one session.
 */
export function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let taken = false;
  const pass = (): void => {
    const go = waiting.shift();
    taken = go !== undefined;
    if (go === undefined) return;
    nextRound(pass);
    go();
  };
  return () =>
    new Promise((go) => {
      waiting.push(go);
      if (!taken) pass();
    });
}
