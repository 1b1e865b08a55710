/** `COMPACT_TESTS=whole` tries everything that a test can, as `.ci/run` does; without it the largest try a part. */
export const whole: boolean = process.env.COMPACT_TESTS === "whole";

/** All of a list, or without `COMPACT_TESTS=whole` about so many of it, spread evenly, the first among them. */
export function partOf<T>(all: readonly T[], most: number): readonly T[] {
  if (whole || all.length <= most) return all;
  return all.filter(
    (_, index) => Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
}
