import type { SessionView, StepView } from "../session-view.ts";

/** The data of the chart: x positions, then one series for each line, all of equal length. */
export interface Columns {
  readonly x: number[];
  /** Cumulative tokens up to each layer, the whole stack first, so that each area covers the one before. */
  readonly stack: readonly (readonly number[])[];
  readonly without: (number | null)[];
  readonly reported: (number | null)[];
}

/** A compaction has two columns at the same x, which draws a vertical drop. */
export function chartColumns({ steps, layers, compactions }: SessionView): Columns {
  const x: number[] = [];
  const without: (number | null)[] = [];
  const reported: (number | null)[] = [];
  const stack = layers.map((): number[] => []);
  // Before the first compaction the whole history is what was sent: the line would repeat the stack.
  const first = (compactions[0]?.step ?? Number.POSITIVE_INFINITY) - 1;
  const add = (position: number, tokens: readonly number[], step: StepView): void => {
    x.push(position);
    without.push(step.index >= first ? (step.without ?? null) : null);
    reported.push(step.reported ?? null);
    let top = 0;
    for (let layer = 0; layer < layers.length; layer += 1) {
      top += tokens[layer] ?? 0;
      stack[layers.length - 1 - layer]?.push(top);
    }
  };
  for (const step of steps) {
    if (step.before !== undefined) add(step.index, step.before, step);
    add(step.index, step.tokens, step);
  }
  // A single call spans the whole width.
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) add(1, only.tokens, only);
  return { x, stack, without, reported };
}

/** Pixels above the window's line, for its label. */
const LABEL_HEIGHT = 20;

/** Tokens at the top edge: the window plus its label, or the largest request if that is more. */
export function maxTokens({ window, steps }: SessionView, height: number): number {
  let max = window * (1 + LABEL_HEIGHT / Math.max(LABEL_HEIGHT, height - LABEL_HEIGHT));
  for (const { total, before, reported = 0 } of steps)
    max = Math.max(max, total * 1.06, sum(before ?? []) * 1.06, reported * 1.06);
  return max > 0 ? max : 1;
}

/** The visible range of calls after a zoom around one of them: `by` 0.5 shows half as many. */
export function zoomedRange(
  { min, max }: { readonly min: number; readonly max: number },
  by: number,
  { around, last }: { readonly around: number; readonly last: number },
): { readonly min: number; readonly max: number } {
  const width = Math.max(4, (max - min) * by);
  if (width >= last) return { min: 0, max: Math.max(1, last) };
  const from = Math.max(0, Math.min(last - width, around - width / 2));
  return { min: from, max: from + width };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
