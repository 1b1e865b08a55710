/** Ctrl-C, from wherever it comes. */
export interface Interrupts {
  /** Aborted by the next Ctrl-C until `stop` is called. */
  begin(): { readonly signal: AbortSignal; stop(): void };
  /** Told of a Ctrl-C that interrupts no work; `typed` is what stood in the line. */
  onIdle: (typed: string) => void;
  /** To be called at each Ctrl-C. */
  hit(typed: string): void;
}

export function createInterrupts(leave: () => void): Interrupts {
  let current: AbortController | undefined;
  const interrupts: Interrupts = {
    begin() {
      const controller = new AbortController();
      current = controller;
      return {
        signal: controller.signal,
        stop: () => {
          if (current === controller) current = undefined;
        },
      };
    },
    onIdle: () => undefined,
    hit(typed) {
      if (current === undefined) interrupts.onIdle(typed);
      else if (current.signal.aborted) leave();
      else current.abort(new Error("interrupted"));
    },
  };
  return interrupts;
}
