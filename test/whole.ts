/** `COMPACT_TESTS=whole` runs every case, as `.ci/run` does; otherwise the largest tests run a part. */
export const whole: boolean = process.env.COMPACT_TESTS === "whole";

/** The whole list, or about `most` of its items, evenly spaced, including the first. */
export function partOf<T>(all: readonly T[], most: number): readonly T[] {
  if (whole || all.length <= most) return all;
  return all.filter(
    (_, index) => Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
}
