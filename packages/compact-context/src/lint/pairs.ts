import { filled, objectOf } from "../codecs/native.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import { groupUnits } from "../core/units.ts";
import { isObject } from "../errors.ts";
import type { Cell } from "./cells.ts";
import type { Entry, ReadList } from "./entries.ts";
import type { LintOptions } from "./violation.ts";

/** Where a call or result stands. */
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
  /** The result stands before the call. */
  readonly early: boolean;
  /** No result is expected of the host: the provider runs it, or an approval speaks for it. */
  readonly excused: boolean;
  /** Without a result, and the list ends with the exchange it belongs to. */
  readonly pending: boolean;
}

export interface Pairs {
  readonly calls: readonly PlacedCall[];
  readonly orphans: readonly PlacedResult[];
  /** Results of calls that are answered already. */
  readonly duplicates: readonly PlacedResult[];
  /** Calls with the id of a call that is still open. */
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

/** True for a call that the conversation left behind without a result. */
export function isDead(call: PlacedCall, { pendingAllowed = true }: LintOptions): boolean {
  return call.result === undefined && !call.excused && !(pendingAllowed && call.pending);
}

const known = new WeakMap<ReadList, Pairs>();

/** Every call with its result, and what has no partner. */
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

/** Without ids the names pair calls and results: a result of another name was only guessed to be the answer. */
function isForeignName({ part }: Draft, { part: result, cell }: PlacedResult): boolean {
  const { functionResponse, function_response: other } = objectOf(cell.value);
  const response = functionResponse ?? other;
  if (!isObject(response) || filled(response.id) !== undefined) return false;
  return result.name !== undefined && result.name !== part.name;
}

/** A result before its call belongs to it when nothing else answers the call. */
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

/** The entries of the exchange that ends the list, when it is still open. */
function lastExchange({ entries }: ReadList): Set<Entry> {
  const last = entries.length - 1;
  const units = groupUnits(entries.map((entry) => entry.message));
  const unit = units.find((one) => one.open > 0 && one.indexes.includes(last));
  return new Set((unit?.indexes ?? []).flatMap((index) => entries[index] ?? []));
}

/** Ids of calls whose approval was answered: the SDK runs or denies them itself. */
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
