import { codecFor } from "../codecs/formats.ts";
import { readNative } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { requireList, requireOptions } from "../errors.ts";
import type { Change, Step, Workbench, Working } from "./edit.ts";
import { type LintOptions, type Mend, type Repaired, readEntries } from "./entries.ts";
import {
  dropBound,
  dropEmptyEntries,
  dropRefusedBlocks,
  dropUnreadable,
  mendInputs,
  trimBlocks,
} from "./fixes/contents.ts";
import { fillIds, partTwins, renameReusedCalls } from "./fixes/identities.ts";
import { alternate, liftSystem, mergeSystem, openWithUser } from "./fixes/order.ts";
import { dropPartnerless, gatherResults, placeResultEntries } from "./fixes/results.ts";

/** In the order in which one makes way for the next. */
const STEPS: readonly Step[] = [
  dropUnreadable,
  partTwins,
  fillIds,
  mendInputs,
  dropRefusedBlocks,
  dropPartnerless,
  renameReusedCalls,
  placeResultEntries,
  gatherResults,
  dropEmptyEntries,
  liftSystem,
  mergeSystem,
  openWithUser,
  alternate,
  trimBlocks,
];

/** Far more rounds than any list has needed; a bound against mends that would undo each other. */
const MOST_ROUNDS = 100;

/**
 * The list with everything mended that can be without inventing content, and what was done. A valid list comes back
 * with the same objects and no mends. Throws `UnknownFormat` only for a format that does not exist.
 */
export function repair(list: readonly unknown[], format: Format, options: LintOptions = {}): Repaired {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => mended(list, format, options));
}

function mended(list: readonly unknown[], format: Format, options: LintOptions): Repaired {
  const start = workbench(
    format,
    options,
    list.map((native, index) => ({ native, index })),
  );
  const first = mendAll({ bench: start, mends: [] });
  const editedAt = firstDifference(list, first.bench.working, options);
  const isBound = options.thinkingBound === true && editedAt !== undefined;
  const { bench, mends } = isBound ? mendAll(dropBoundFrom(first, editedAt)) : first;
  return {
    messages: bench.working.map((one) => one.native),
    mends: mends.toSorted((a, b) => a.index - b.index),
    editedAt,
  };
}

interface Progress {
  readonly bench: Workbench;
  readonly mends: readonly Mend[];
}

function mendAll(progress: Progress): Progress {
  let current = progress;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const change = firstChange(current.bench);
    if (change === undefined) break;
    current = after(current, change);
  }
  return current;
}

function dropBoundFrom(progress: Progress, editedAt: number): Progress {
  const change = dropBound(progress.bench, editedAt);
  return change === undefined ? progress : after(progress, change);
}

function after({ bench, mends }: Progress, change: Change): Progress {
  const { list, options } = bench;
  return { bench: workbench(list.format, options, change.working), mends: [...mends, ...change.mends] };
}

function workbench(format: Format, options: LintOptions, working: readonly Working[]): Workbench {
  return {
    list: readEntries(
      working.map((one) => one.native),
      format,
    ),
    working,
    options,
  };
}

function firstChange(bench: Workbench): Change | undefined {
  for (const step of STEPS) {
    const change = step(bench);
    if (change !== undefined) return change;
  }
  return undefined;
}

/** The first place at which the list is another than the provider saw: by our hand, or by the host's before. */
function firstDifference(
  list: readonly unknown[],
  working: readonly Working[],
  { editedAt }: LintOptions,
): number | undefined {
  const end = Math.max(list.length, working.length);
  let ours = 0;
  while (ours < end && ours < working.length && working[ours]?.native === list[ours]) ours++;
  const isOurs = ours < end;
  const theirs = editedAt === undefined ? -1 : working.findIndex((one) => one.index > editedAt);
  if (theirs === -1) return isOurs ? ours : undefined;
  return isOurs ? Math.min(ours, theirs) : theirs;
}
