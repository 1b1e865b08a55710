import type { Entry, ReadList } from "./entries.ts";
import { type PlacedCall, pairCalls } from "./pairs.ts";

/** Calls that were made together, and the entries that have to hold their results. */
export interface Batch {
  /** Calls that the host answers, in order. */
  readonly calls: readonly PlacedCall[];
  /** The entries that call. */
  readonly callers: readonly Entry[];
  /** Where the format wants the results. */
  readonly hosts: readonly Entry[];
  readonly holds: ReadonlySet<Entry>;
}

/** The batches of a format that says where results stand; none for formats that pair by id alone. */
export function batchesOf(list: ReadList): Batch[] {
  const runsOf = RUNS[list.format];
  if (runsOf === undefined) return [];
  const byEntry = new Map<Entry, PlacedCall[]>();
  for (const call of pairCalls(list).calls) {
    if (call.excused) continue;
    const same = byEntry.get(call.entry);
    if (same === undefined) byEntry.set(call.entry, [call]);
    else same.push(call);
  }
  return runsOf(list.entries).flatMap(({ callers, hosts }) => {
    const calls = callers.flatMap((entry) => byEntry.get(entry) ?? []);
    return calls.length === 0 ? [] : [{ calls, callers, hosts, holds: new Set(hosts) }];
  });
}

/** True when the result of a call stands in one of the entries that have to hold it. */
export function isInPlace(batch: Batch, call: PlacedCall): boolean {
  return call.result !== undefined && batch.holds.has(call.result.entry);
}

type Run = Pick<Batch, "callers" | "hosts">;

const RUNS: Partial<Record<ReadList["format"], (entries: readonly Entry[]) => Run[]>> = {
  // One assistant message, and the tool messages right behind it.
  "openai-chat": (entries) =>
    entries.flatMap((entry, index) =>
      entry.message.role === "assistant"
        ? [{ callers: [entry], hosts: runOf(entries, index + 1, ["tool"]) }]
        : [],
    ),
  anthropic: turnRuns,
  gemini: turnRuns,
  // Everything up to the next user or system message.
  "ai-sdk": (entries) =>
    stretches(entries, ["assistant", "tool"]).map(({ run }) => {
      return { callers: run.filter((entry) => entry.message.role === "assistant"), hosts: run };
    }),
};

/** Providers that merge messages of one role in a row: all that the assistant says, all that comes back. */
function turnRuns(entries: readonly Entry[]): Run[] {
  return stretches(entries, ["assistant"]).map(({ run, end }) => {
    return { callers: run, hosts: runOf(entries, end, ["user", "tool"]) };
  });
}

interface Stretch {
  readonly run: readonly Entry[];
  /** Index behind the run. */
  readonly end: number;
}

/** The longest runs of entries of these roles. */
function stretches(entries: readonly Entry[], roles: readonly string[]): Stretch[] {
  const found: Stretch[] = [];
  for (let start = 0; start < entries.length; ) {
    const run = runOf(entries, start, roles);
    const end = start + run.length;
    if (run.length > 0) found.push({ run, end });
    start = Math.max(end, start + 1);
  }
  return found;
}

function runOf(entries: readonly Entry[], start: number, roles: readonly string[]): Entry[] {
  let end = start;
  while (roles.includes(entries[end]?.message.role ?? "")) end++;
  return entries.slice(start, end);
}

/** The entries of `hosts` that hold results of the batch. */
export function holdersOf(batch: Batch): Entry[] {
  const holding = new Set(batch.calls.flatMap((call) => (isInPlace(batch, call) ? call.result?.entry : [])));
  return batch.hosts.filter((entry) => holding.has(entry));
}

/** True when the results of one calling entry stand in several entries. */
export function isSplit(batch: Batch): boolean {
  return batch.callers.some((caller) => {
    const holders = batch.calls
      .filter((call) => call.entry === caller && isInPlace(batch, call))
      .map((call) => call.result?.entry);
    return new Set(holders).size > 1;
  });
}

/** The first thing in the hosts that stands before a result of the batch and is none. */
export function firstInterloper(batch: Batch): { readonly entry: Entry; readonly path: string } | undefined {
  const cells = batch.hosts.flatMap((entry) => entry.cells.map((cell) => ({ entry, cell })));
  const own = new Set(batch.calls.flatMap((call) => call.result?.cell ?? []));
  const last = cells.findLastIndex(({ cell }) => own.has(cell));
  const found = cells.slice(0, Math.max(last, 0)).find(({ cell }) => !own.has(cell));
  return found === undefined ? undefined : { entry: found.entry, path: found.cell.path };
}

/** True when the results stand in another order than their calls. */
export function isOutOfOrder(batch: Batch): boolean {
  const cells = batch.hosts.flatMap((entry) => entry.cells);
  const places = batch.calls
    .filter((call) => isInPlace(batch, call))
    .map((call) => cells.indexOf(call.result?.cell ?? call.cell));
  return places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0));
}
