import { filled, objectOf } from "../codecs/native.ts";
import type { Format, Part, ToolCallPart, ToolResultPart } from "../core/message.ts";
import { approvalsOf, groupInSteps } from "../core/units.ts";
import { isObject, runAtOnce, type Steps } from "../errors.ts";
import type { Cell, Entry } from "./entries.ts";

// Who answers whom: the one reading of calls and results that rules and mends share.

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
  /** The calls made together with this one, in a format that prescribes where their results are. */
  readonly batch?: Batch;
}

/** Calls made together, and the entries that must hold their results. */
export interface Batch {
  /** Calls that the host answers, in order. */
  readonly calls: readonly PlacedCall[];
  /** The entries with the calls. */
  readonly callers: readonly Entry[];
  /** Entries in which the format expects the results. */
  readonly hosts: ReadonlySet<Entry>;
}

export interface Pairs {
  readonly calls: readonly PlacedCall[];
  readonly orphans: readonly PlacedResult[];
  /** Results of calls that are already answered. */
  readonly duplicates: readonly PlacedResult[];
  /** Calls with the id of an open call. */
  readonly doubles: readonly PlacedCall[];
  /** Empty for formats that pair by id alone. */
  readonly batches: readonly Batch[];
}

/** The entries of a list; neutral messages have no format. */
interface Listed {
  readonly format?: Format;
  readonly entries: readonly Entry[];
}

type Draft = { -readonly [Field in keyof PlacedCall]: PlacedCall[Field] };

const known = new WeakMap<Listed, Pairs>();

/** All calls with their results, and everything without a partner. */
export function pairCalls(list: Listed): Pairs {
  const before = known.get(list);
  if (before !== undefined) return before;
  const pairs = runAtOnce(pairInSteps(list));
  known.set(list, pairs);
  return pairs;
}

const STEP_ENTRIES = 4096;

/** `pairCalls` in steps, for a long list. */
export function* pairInSteps(list: Listed): Steps<Pairs> {
  const calls: Draft[] = [];
  const open = new Map<string, Draft>();
  const answered = new Map<string, Draft>();
  const found: Record<"strays" | "duplicates", PlacedResult[]> = { strays: [], duplicates: [] };
  const doubles: Draft[] = [];
  const noteCall = (call: Draft): void => {
    const isDouble = open.has(call.part.id);
    if (!isDouble) open.set(call.part.id, call);
    (isDouble ? doubles : calls).push(call);
  };
  const noteResult = (result: PlacedResult): void => {
    const { id } = result.part;
    const call = open.get(id);
    const done = call === undefined ? answered.get(id) : undefined;
    if (done !== undefined && done.part.providerExecuted !== true) found.duplicates.push(result);
    if (done !== undefined) return;
    if (call === undefined || isForeignName(call, result)) {
      found.strays.push(result);
      return;
    }
    call.result = result;
    open.delete(id);
    answered.set(id, call);
  };
  const note = (entry: Entry): void => {
    for (const cell of entry.cells) {
      for (const part of cell.parts) {
        if (part.type === "toolCall")
          noteCall({ entry, cell, part, early: false, excused: false, pending: false });
        else if (part.type === "toolResult") noteResult({ entry, cell, part });
      }
    }
  };
  for (const [index, entry] of list.entries.entries()) {
    if (index % STEP_ENTRIES === STEP_ENTRIES - 1) yield;
    note(entry);
  }
  /** A result before its call belongs to the call if nothing else answers it. */
  const isOrphan = (result: PlacedResult): boolean => {
    const call = open.get(result.part.id);
    if (call === undefined || call.entry.position < result.entry.position || isForeignName(call, result))
      return true;
    Object.assign(call, { result, early: true });
    open.delete(result.part.id);
    return false;
  };
  const orphans = found.strays.filter(isOrphan);
  yield* excuse(list, calls);
  return { calls, orphans, duplicates: found.duplicates, doubles, batches: batchesOf(list, calls) };
}

/** Without ids, names pair calls and results: a result with another name was only a guess. */
function isForeignName({ part }: Draft, { part: result, cell }: PlacedResult): boolean {
  const { functionResponse, function_response: other } = objectOf(cell.value);
  const response = functionResponse ?? other;
  if (!isObject(response) || filled(response.id) !== undefined) return false;
  return result.name !== undefined && result.name !== part.name;
}

/** Marks the calls that need no result, or none yet. */
function* excuse({ format, entries }: Listed, calls: readonly Draft[]): Steps<void> {
  const isOpen = calls.some((call) => call.result === undefined);
  const units = isOpen ? yield* groupInSteps(entries.map((entry) => entry.message)) : [];
  const unit = units.find(({ open, indexes }) => open > 0 && indexes.includes(entries.length - 1));
  const last = new Set(unit?.indexes.map((index) => entries[index]));
  const approved = isOpen && format === "ai-sdk" ? approvedCalls(entries) : undefined;
  for (const call of calls) {
    call.excused = call.part.providerExecuted === true || approved?.has(call.part.id) === true;
    call.pending = call.result === undefined && !call.excused && last.has(call.entry);
  }
}

/** Ids of calls with an answered approval: the SDK runs or denies them itself. */
function approvedCalls(entries: readonly Entry[]): Set<unknown> {
  const answered = new Set<unknown>(entries.flatMap(({ message }) => approvalsOf(message).answered));
  const blocks = entries.flatMap(({ cells }) => cells.map(({ value }) => objectOf(value)));
  const asked = blocks.filter((one) => one.type === "tool-approval-request" && answered.has(one.approvalId));
  return new Set(asked.map((block) => block.toolCallId));
}

// ---- where the format expects the results

function batchesOf(list: Listed, calls: readonly Draft[]): Batch[] {
  const runs = (list.format && RUNS[list.format]?.(list.entries)) ?? [];
  const byEntry = new Map<Entry, Draft[]>();
  for (const call of calls) {
    if (call.excused) continue;
    const same = byEntry.get(call.entry);
    if (same === undefined) byEntry.set(call.entry, [call]);
    else same.push(call);
  }
  return runs.flatMap(({ callers, hosts }): Batch[] => {
    const own = callers.flatMap((entry) => byEntry.get(entry) ?? []);
    const batch: Batch = { calls: own, callers, hosts: new Set(hosts) };
    for (const call of own) call.batch = batch;
    return own.length === 0 ? [] : [batch];
  });
}

interface Run {
  readonly callers: readonly Entry[];
  readonly hosts: readonly Entry[];
}

const RUNS: Partial<Record<Format, (entries: readonly Entry[]) => Run[]>> = {
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

function isOwnCall(part: Part): boolean {
  return part.type === "toolCall" && part.providerExecuted !== true;
}

/** For providers that merge consecutive messages of one role: each assistant turn with the results that follow. */
function turnRuns(entries: readonly Entry[]): Run[] {
  return stretches(entries, ["assistant"]).map(({ run, end }) => {
    return { callers: run, hosts: runOf(entries, end, ["user", "tool"]) };
  });
}

/** The longest runs of entries with these roles, each with the index after it. */
function stretches(entries: readonly Entry[], roles: readonly string[]): { run: Entry[]; end: number }[] {
  const found: { run: Entry[]; end: number }[] = [];
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
