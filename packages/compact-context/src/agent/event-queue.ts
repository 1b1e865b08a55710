/** Events from work under way, read in order by one reader. */
export interface EventQueue<T> extends AsyncIterable<T> {
  push(event: T): void;
  /** Nothing more comes; what is queued is still read. */
  end(): void;
}

export function createEventQueue<T>(): EventQueue<T> {
  const waiting: T[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  const rouse = (): void => {
    wake?.();
    wake = undefined;
  };
  return {
    push(event) {
      waiting.push(event);
      rouse();
    },
    end() {
      ended = true;
      rouse();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        yield* waiting.splice(0);
        if (waiting.length > 0) continue;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
