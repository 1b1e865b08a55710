import { MAX_TIMER_MS } from "../../errors.ts";
/** Time as the summarizer sees it; everything may be replaced in tests. */
export interface TimePorts {
  /** Milliseconds of a steady clock. */
  readonly clock: () => number;
  /** Calls back once after so many milliseconds; the returned function prevents it. */
  readonly after: (milliseconds: number, callback: () => void) => () => void;
}

/** The platform's own time. */
export const platformTime: TimePorts = {
  clock: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, Math.min(milliseconds, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
