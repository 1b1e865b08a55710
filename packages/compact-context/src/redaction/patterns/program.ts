/** One step of a compiled pattern; targets are indexes of steps. */
export type Step =
  | { readonly op: "char"; readonly test: CharacterTest }
  | { readonly op: "assert"; readonly holds: (text: string, at: number) => boolean }
  /** Goes on at both places, the first preferred. */
  | { readonly op: "split"; first: number; second: number }
  | { readonly op: "jump"; to: number }
  | { readonly op: "match" };

/** True for a character, given by its code unit, or its code point where the pattern reads code points. */
export type CharacterTest = (code: number) => boolean;

/** A part of a pattern as it was written. */
export type PatternNode =
  | { readonly type: "char"; readonly test: CharacterTest }
  | { readonly type: "assert"; readonly holds: (text: string, at: number) => boolean }
  | { readonly type: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly type: "either"; readonly branches: readonly PatternNode[] }
  | {
      readonly type: "repeat";
      readonly item: PatternNode;
      readonly least: number;
      readonly most: number;
      readonly lazy: boolean;
    };

const LONGEST_PROGRAM = 1000;

/** The steps of a pattern; throws `RangeError` when counted repetitions make it longer than 1,000 steps. */
export function compileProgram(root: PatternNode): Step[] {
  const steps: Step[] = [];
  emit(root, steps);
  steps.push({ op: "match" });
  return steps;
}

function emit(node: PatternNode, steps: Step[]): void {
  if (steps.length > LONGEST_PROGRAM) throw new RangeError("it repeats too much to be searched for");
  if (node.type === "char") steps.push({ op: "char", test: node.test });
  else if (node.type === "assert") steps.push({ op: "assert", holds: node.holds });
  else if (node.type === "sequence") for (const item of node.items) emit(item, steps);
  else if (node.type === "either") emitEither(node.branches, steps);
  else emitRepeat(node, steps);
}

function emitEither(branches: readonly PatternNode[], steps: Step[]): void {
  const jumps: { op: "jump"; to: number }[] = [];
  for (const [index, branch] of branches.entries()) {
    if (index === branches.length - 1) {
      emit(branch, steps);
      break;
    }
    const split = { op: "split" as const, first: steps.length + 1, second: 0 };
    steps.push(split);
    emit(branch, steps);
    const jump = { op: "jump" as const, to: 0 };
    steps.push(jump);
    jumps.push(jump);
    split.second = steps.length;
  }
  for (const jump of jumps) jump.to = steps.length;
}

function emitRepeat(node: PatternNode & { type: "repeat" }, steps: Step[]): void {
  const { item, least, most, lazy } = node;
  if (least > LONGEST_PROGRAM) throw new RangeError("it repeats too much to be searched for");
  for (let count = 0; count < least; count++) emit(item, steps);
  if (most === Number.POSITIVE_INFINITY) {
    const loop = steps.length;
    const split = splitAt(steps);
    emit(item, steps);
    steps.push({ op: "jump", to: loop });
    aim(split, { item: loop + 1, after: steps.length, lazy });
    return;
  }
  const splits: { op: "split"; first: number; second: number; item: number }[] = [];
  for (let count = least; count < most; count++) {
    const split = Object.assign(splitAt(steps), { item: steps.length });
    splits.push(split);
    emit(item, steps);
  }
  for (const split of splits) aim(split, { item: split.item, after: steps.length, lazy });
}

function splitAt(steps: Step[]): { op: "split"; first: number; second: number } {
  const split = { op: "split" as const, first: 0, second: 0 };
  steps.push(split);
  return split;
}

function aim(
  split: { first: number; second: number },
  places: { readonly item: number; readonly after: number; readonly lazy: boolean },
): void {
  split.first = places.lazy ? places.after : places.item;
  split.second = places.lazy ? places.item : places.after;
}
