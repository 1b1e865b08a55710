import { filled, objectOf } from "../codecs/native.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import { groupUnits } from "../core/units.ts";
import { isObject } from "../errors.ts";
import type { Cell, Entry, ReadList } from "./entries.ts";
import type { LintOptions } from "./rule.ts";

/** The location of a call or result. */
export interface Spot {
  readonly entry: Entry;
  readonly cell: Cell;
}

export interface PlacedResult extends Spot {
  readonly part: ToolResultPart;
}

export interface PlacedCall extends Spot {
  readonly part: ToolCallPart;
  readonly result?: PlacedResult;
  /** The result precedes the call. */
  readonly early: boolean;
  /** The host owes no result: the provider runs the call, or an approval stands in for it. */
  readonly excused: boolean;
  /** Unanswered, and part of the exchange that ends the list. */
  readonly pending: boolean;
}

export interface Pairs {
  readonly calls: readonly PlacedCall[];
  readonly orphans: readonly PlacedResult[];
  /** Results of calls that are already answered. */
  readonly duplicates: readonly PlacedResult[];
  /** Calls with the id of an open call. */
  readonly doubles: readonly Spot[];
}

interface Draft extends Spot {
  readonly part: ToolCallPart;
  result?: PlacedResult;
  early: boolean;
}

interface Pairing {
  readonly calls: Draft[];
  readonly open: Map<string, Draft>;
  readonly answered: Map<string, Draft>;
  readonly orphans: PlacedResult[];
  readonly duplicates: PlacedResult[];
  readonly doubles: Spot[];
}

/** True for a call without a result after which the conversation went on. */
export function isDead(call: PlacedCall, { pendingAllowed = true }: LintOptions): boolean {
  return call.result === undefined && !call.excused && !(pendingAllowed && call.pending);
}

const known = new WeakMap<ReadList, Pairs>();

/** All calls with their results, and everything without a partner. */
export function pairCalls(list: ReadList): Pairs {
  const before = known.get(list);
  if (before !== undefined) return before;
  const pairing: Pairing = {
    calls: [],
    open: new Map(),
    answered: new Map(),
    orphans: [],
    duplicates: [],
    doubles: [],
  };
  for (const entry of list.entries) {
    for (const cell of entry.cells) for (const part of cell.parts) note(pairing, { entry, cell }, part);
  }
  const orphans = pairing.orphans.filter((result) => !claimEarly(pairing, result));
  const pairs: Pairs = {
    calls: finish(pairing.calls, list),
    orphans,
    duplicates: pairing.duplicates,
    doubles: pairing.doubles,
  };
  known.set(list, pairs);
  return pairs;
}

function note(pairing: Pairing, spot: Spot, part: Cell["parts"][number]): void {
  if (part.type === "toolCall") noteCall(pairing, { ...spot, part, early: false });
  else if (part.type === "toolResult") noteResult(pairing, { ...spot, part });
}

function noteCall(pairing: Pairing, call: Draft): void {
  const { id } = call.part;
  if (pairing.open.has(id)) {
    pairing.doubles.push(call);
    return;
  }
  pairing.calls.push(call);
  pairing.open.set(id, call);
}

function noteResult(pairing: Pairing, result: PlacedResult): void {
  const { id } = result.part;
  const call = pairing.open.get(id);
  if (call !== undefined && isForeignName(call, result)) {
    pairing.orphans.push(result);
    return;
  }
  if (call !== undefined) {
    call.result = result;
    pairing.open.delete(id);
    pairing.answered.set(id, call);
    return;
  }
  const answered = pairing.answered.get(id);
  if (answered === undefined) pairing.orphans.push(result);
  else if (answered.part.providerExecuted !== true) pairing.duplicates.push(result);
}

/** Without ids, names pair calls and results: a result with another name was only a guess. */
function isForeignName({ part }: Draft, { part: result, cell }: PlacedResult): boolean {
  const { functionResponse, function_response: other } = objectOf(cell.value);
  const response = functionResponse ?? other;
  if (!isObject(response) || filled(response.id) !== undefined) return false;
  return result.name !== undefined && result.name !== part.name;
}

/** A result before its call belongs to the call if nothing else answers it. */
function claimEarly(pairing: Pairing, result: PlacedResult): boolean {
  const call = pairing.open.get(result.part.id);
  if (call === undefined || call.entry.position < result.entry.position || isForeignName(call, result))
    return false;
  call.result = result;
  call.early = true;
  pairing.open.delete(result.part.id);
  return true;
}

function finish(drafts: readonly Draft[], list: ReadList): PlacedCall[] {
  const open = drafts.some((call) => call.result === undefined);
  const last = open ? lastExchange(list) : new Set<Entry>();
  const approved = open && list.format === "ai-sdk" ? approvedCalls(list) : new Set<string>();
  return drafts.map((call) => {
    const excused = call.part.providerExecuted === true || approved.has(call.part.id);
    return { ...call, excused, pending: call.result === undefined && !excused && last.has(call.entry) };
  });
}

/** The entries of the exchange that ends the list, if it is open. */
function lastExchange({ entries }: ReadList): Set<Entry> {
  const last = entries.length - 1;
  const units = groupUnits(entries.map((entry) => entry.message));
  const unit = units.find((one) => one.open > 0 && one.indexes.includes(last));
  return new Set((unit?.indexes ?? []).flatMap((index) => entries[index] ?? []));
}

/** Ids of calls with an answered approval: the SDK runs or denies them itself. */
function approvedCalls({ entries }: ReadList): Set<string> {
  const blocks = entries.flatMap((entry) => entry.cells.map((cell) => cell.value)).filter(isObject);
  const answered = new Set(
    blocks.filter((block) => block.type === "tool-approval-response").map((block) => block.approvalId),
  );
  const requests = blocks.filter(
    (block) => block.type === "tool-approval-request" && answered.has(block.approvalId),
  );
  return new Set(requests.map((block) => String(block.toolCallId)));
}

/** Calls made together, and the entries that must hold their results. */
export interface Batch {
  /** Calls that the host answers, in order. */
  readonly calls: readonly PlacedCall[];
  /** The entries with the calls. */
  readonly callers: readonly Entry[];
  /** Entries in which the format expects the results. */
  readonly hosts: readonly Entry[];
  readonly holds: ReadonlySet<Entry>;
}

/** The batches of a format that prescribes where results are; none for formats that pair by id alone. */
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

/** True if the result of a call is in one of the entries that must hold it. */
export function isInPlace(batch: Batch, call: PlacedCall): boolean {
  return call.result !== undefined && batch.holds.has(call.result.entry);
}

type Run = Pick<Batch, "callers" | "hosts">;

const RUNS: Partial<Record<ReadList["format"], (entries: readonly Entry[]) => Run[]>> = {
  // One assistant message, and the tool messages directly after it.
  "openai-chat": (entries) =>
    entries.flatMap((entry, index) =>
      entry.message.role === "assistant"
        ? [{ callers: [entry], hosts: runOf(entries, index + 1, ["tool"]) }]
        : [],
    ),
  // No assistant text may be between its last calls and their results.
  anthropic: (entries) =>
    turnRuns(entries).map(({ callers, hosts }) => {
      const last = callers.findLastIndex(({ message }) => message.parts.some(isOwnCall));
      return last === -1 || last === callers.length - 1
        ? { callers, hosts }
        : { callers: callers.slice(0, last + 1), hosts: [] };
    }),
  gemini: turnRuns,
  // Everything up to the next user or system message.
  "ai-sdk": (entries) =>
    stretches(entries, ["assistant", "tool"]).map(({ run }) => {
      return { callers: run.filter((entry) => entry.message.role === "assistant"), hosts: run };
    }),
};

function isOwnCall(part: Cell["parts"][number]): boolean {
  return part.type === "toolCall" && part.providerExecuted !== true;
}

/**
 * For providers that merge consecutive messages of one role: each assistant turn with the results that
 * follow.
 */
function turnRuns(entries: readonly Entry[]): Run[] {
  return stretches(entries, ["assistant"]).map(({ run, end }) => {
    return { callers: run, hosts: runOf(entries, end, ["user", "tool"]) };
  });
}

interface Stretch {
  readonly run: readonly Entry[];
  /** Index after the run. */
  readonly end: number;
}

/** The longest runs of entries with these roles. */
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

/** The entries of `hosts` with results of the batch. */
export function holdersOf(batch: Batch): Entry[] {
  const holding = new Set(batch.calls.flatMap((call) => (isInPlace(batch, call) ? call.result?.entry : [])));
  return batch.hosts.filter((entry) => holding.has(entry));
}

/** True if the results of one calling entry are in several entries. */
export function isSplit(batch: Batch): boolean {
  return batch.callers.some((caller) => {
    const holders = batch.calls
      .filter((call) => call.entry === caller && isInPlace(batch, call))
      .map((call) => call.result?.entry);
    return new Set(holders).size > 1;
  });
}

/** The first content in the hosts that precedes a result of the batch and is not one itself. */
export function firstInterloper(batch: Batch): { readonly entry: Entry; readonly path: string } | undefined {
  const cells = batch.hosts.flatMap((entry) => entry.cells.map((cell) => ({ entry, cell })));
  const own = new Set(batch.calls.flatMap((call) => call.result?.cell ?? []));
  const last = cells.findLastIndex(({ cell }) => own.has(cell));
  const found = cells.slice(0, Math.max(last, 0)).find(({ cell }) => !own.has(cell));
  return found === undefined ? undefined : { entry: found.entry, path: found.cell.path };
}

/** True if the results are in a different order than their calls. */
export function isOutOfOrder(batch: Batch): boolean {
  const cells = batch.hosts.flatMap((entry) => entry.cells);
  const places = batch.calls
    .filter((call) => isInPlace(batch, call))
    .map((call) => cells.indexOf(call.result?.cell ?? call.cell));
  return places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0));
}
