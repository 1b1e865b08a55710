import type { StepView } from "../session-view.ts";

/** The plot's place in its drawing, in pixels. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Turns steps and tokens into places. */
export interface Scale {
  x(step: number): number;
  y(tokens: number): number;
  /** The step nearest to a place. */
  stepAt(x: number): number;
  readonly most: number;
}

/** `most`: tokens at the upper edge. */
export function createScale(plot: Plot, steps: number, most: number): Scale {
  const last = Math.max(1, steps - 1);
  return {
    most,
    x: (step) => plot.left + (plot.width * step) / last,
    y: (tokens) => plot.top + plot.height - (plot.height * Math.min(tokens, most * 2)) / most,
    stepAt(x) {
      const step = Math.round(((x - plot.left) / Math.max(1, plot.width)) * last);
      return Math.max(0, Math.min(steps - 1, step));
    },
  };
}

/** Room above the window's line for its name, in pixels. */
const ABOVE = 20;

/** Tokens at the upper edge: the window with some air, or the largest request where that is more. */
export function mostTokens(window: number, steps: readonly StepView[], height: number): number {
  let most = window * (1 + ABOVE / Math.max(ABOVE, height - ABOVE));
  for (const { total, before } of steps) most = Math.max(most, total * 1.06, sum(before ?? []) * 1.06);
  return most > 0 ? most : 1;
}

/** One closed path for each layer, stacked from below; a compaction is a step straight down. */
export function layerPaths(steps: readonly StepView[], layers: number, scale: Scale): string[] {
  const columns = columnsOf(steps, scale);
  const floors = columns.map(() => 0);
  return Array.from({ length: layers }, (_, layer) => {
    const lower = columns.map(({ x }, column) => point(x, scale.y(floors[column] ?? 0)));
    const upper = columns.map(({ x, tokens }, column) => {
      floors[column] = (floors[column] ?? 0) + (tokens[layer] ?? 0);
      return point(x, scale.y(floors[column] ?? 0));
    });
    if (upper.length === 0) return "";
    return `M${upper.join("L")}L${lower.reverse().join("L")}Z`;
  });
}

/** The line along the top of the stack, with `of` in place of the sum where it is given. */
export function linePath(
  steps: readonly StepView[],
  scale: Scale,
  of: (step: StepView) => number | undefined,
): string {
  const points: string[] = [];
  for (const step of steps) {
    const tokens = of(step);
    if (tokens !== undefined) points.push(point(scale.x(step.index), scale.y(tokens)));
  }
  return points.length === 0 ? "" : `M${points.join("L")}`;
}

interface Column {
  readonly x: number;
  readonly tokens: readonly number[];
}

function columnsOf(steps: readonly StepView[], scale: Scale): Column[] {
  const columns: Column[] = [];
  for (const { index, tokens, before } of steps) {
    const x = scale.x(index);
    if (before !== undefined) columns.push({ x, tokens: before });
    columns.push({ x, tokens });
  }
  const [only] = steps;
  if (only !== undefined && steps.length === 1) columns.push({ x: scale.x(1), tokens: only.tokens });
  return columns;
}

/** Round numbers from 0 up to `most`, about `wanted` of them. */
export function ticks(most: number, wanted: number): number[] {
  const size = tickSize(most, wanted);
  const found: number[] = [];
  for (let at = 0; at <= most; at += size) found.push(at);
  return found;
}

function tickSize(most: number, wanted: number): number {
  const rough = most / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

/** Steps to write under the plot, as many as fit at `room` pixels each; the first is always among them. */
export function stepTicks(steps: number, width: number, room: number): number[] {
  const size = tickSize(steps, Math.floor(width / room));
  const found = [0];
  for (let call = size; call <= steps; call += size) {
    const place = ((call - 1) * width) / Math.max(1, steps - 1);
    if (call > 1 && place >= room * 0.6) found.push(call - 1);
  }
  return found;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function point(x: number, y: number): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
