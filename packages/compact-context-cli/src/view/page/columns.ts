import type { SessionView, StepView } from "../session-view.ts";

/** What the chart draws: the places of the calls, then one row for each line, all of one length. */
export interface Columns {
  readonly x: number[];
  /** Tokens up to the top of each layer, the whole stack first, so that each area covers the one before. */
  readonly stack: readonly (readonly number[])[];
  readonly without: (number | null)[];
  readonly reported: (number | null)[];
}

/** A compaction has two columns at one place: the line falls straight down. */
export function columnsOf({ steps, layers, compactions }: SessionView): Columns {
  const x: number[] = [];
  const without: (number | null)[] = [];
  const reported: (number | null)[] = [];
  const stack = layers.map((): number[] => []);
  // Before the first compaction the whole history is what was sent: a line along it would say nothing.
  const first = (compactions[0]?.step ?? Number.POSITIVE_INFINITY) - 1;
  const add = (place: number, tokens: readonly number[], step: StepView): void => {
    x.push(place);
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
  // One call is drawn over the whole width.
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) add(1, only.tokens, only);
  return { x, stack, without, reported };
}

/** Room above the window's line for its name, in pixels. */
const ABOVE = 20;

/** Tokens at the upper edge: the window with some air, or the largest request where that is more. */
export function maxTokens({ window, steps }: SessionView, height: number): number {
  let most = window * (1 + ABOVE / Math.max(ABOVE, height - ABOVE));
  for (const { total, before, reported = 0 } of steps)
    most = Math.max(most, total * 1.06, sum(before ?? []) * 1.06, reported * 1.06);
  return most > 0 ? most : 1;
}

/** The part of the calls that is in sight after a zoom around a call: `by` 0.5 shows half as many. */
export function zoomed(
  { min, max }: { readonly min: number; readonly max: number },
  by: number,
  { around, last }: { readonly around: number; readonly last: number },
): { readonly min: number; readonly max: number } {
  const width = Math.max(4, (max - min) * by);
  if (width >= last) return { min: 0, max: Math.max(1, last) };
  const from = Math.max(0, Math.min(last - width, around - width / 2));
  return { min: from, max: from + width };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
