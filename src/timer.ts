/** Most milliseconds that a timer takes, 24.8 days: set to more, it goes off at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
