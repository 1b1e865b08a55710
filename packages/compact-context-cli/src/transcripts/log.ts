import type { Problem, ReadLog } from "./transcript.ts";

/** A log that collects problems in the order they are met. */
export function createReadLog(problems: Problem[]): ReadLog {
  // A map, not an object: record types come from the file and may be called `__proto__`.
  const counts = new Map<string, number>();
  return {
    problem(problem) {
      problems.push(problem);
    },
    leaveOut(kind, count = 1) {
      if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count);
    },
    leftOut: () => Object.fromEntries(counts),
  };
}
