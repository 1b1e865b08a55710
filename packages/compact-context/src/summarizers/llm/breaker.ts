/** Keeps a model that fails again and again from being asked, and tries it once after a pause. */
export interface Breaker {
  /** False while it is open; after the pause it answers true once, and again when that try has ended. */
  allows(now: number): boolean;
  succeeded(): void;
  failed(now: number): void;
  /** The try ended without telling whether the model works. */
  undecided(): void;
}

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly pauseMs: number;
}

/** A closed breaker; times are milliseconds of one steady clock. */
export function createBreaker({ failures, pauseMs }: BreakerOptions): Breaker {
  let inRow = 0;
  let openedAt: number | undefined;
  let trying = false;
  return {
    allows(now) {
      if (openedAt === undefined) return true;
      if (trying || now - openedAt < pauseMs) return false;
      trying = true;
      return true;
    },
    succeeded() {
      inRow = 0;
      openedAt = undefined;
      trying = false;
    },
    failed(now) {
      inRow += 1;
      trying = false;
      if (inRow >= failures) openedAt = now;
    },
    undecided() {
      trying = false;
    },
  };
}
