import { approvalsOf, grantsCall } from "./approvals.ts";
import { type Message, toolCalls, toolResults } from "./message.ts";
import { carriesCompaction } from "./native-compaction.ts";

/**
 * What is kept or removed together: one plain message, or an exchange (calls, their results and the
 * reasoning tied to them).
 */
export interface Unit {
  readonly kind: "message" | "exchange";
  /** Indexes into the list, ascending; not always contiguous (a user may speak while a call is open). */
  readonly indexes: readonly number[];
  /** Calls that the host answers; a parallel batch counts each of them. */
  readonly calls: number;
  /** Calls without a result, and a tool that the provider was allowed to call at the end of the list. */
  readonly open: number;
}

interface DraftUnit {
  indexes: number[];
  calls: number;
  open: Set<string>;
  hasReasoning: boolean;
  /** Where the unit went when it was merged into another. */
  mergedInto?: DraftUnit;
}

function resolve(unit: DraftUnit): DraftUnit {
  let current = unit;
  while (current.mergedInto !== undefined) current = current.mergedInto;
  return current;
}

/** The unit that both are from now on. */
function merge(one: DraftUnit, another: DraftUnit): DraftUnit {
  if (one === another) return one;
  // The smaller goes into the larger: results that tie many exchanges together are merged in n log n.
  const [into, other] = one.indexes.length < another.indexes.length ? [another, one] : [one, another];
  for (const index of other.indexes) into.indexes.push(index);
  into.calls += other.calls;
  for (const id of other.open) into.open.add(id);
  into.hasReasoning ||= other.hasReasoning;
  other.mergedInto = into;
  return into;
}

interface Grouping {
  readonly units: DraftUnit[];
  readonly openCalls: Map<string, DraftUnit>;
  readonly answeredCalls: Map<string, DraftUnit>;
  /** The unit of the assistant messages before this one, while nobody else has spoken. */
  run: DraftUnit | undefined;
}

/** A response of several items (reasoning, text, parallel calls) is one unit while nobody else speaks. */
function unitFor(grouping: Grouping, message: Message, hasCalls: boolean): DraftUnit {
  const run = grouping.run === undefined ? undefined : resolve(grouping.run);
  const alone = isSummary(message) || carriesCompaction(message);
  const calling = run !== undefined && run.open.size > 0 && (hasCalls || isItem(message));
  const joins = !alone && run !== undefined && (run.hasReasoning || calling);
  if (message.role === "assistant" && joins) return run;
  const unit: DraftUnit = { indexes: [], calls: 0, open: new Set(), hasReasoning: false };
  grouping.units.push(unit);
  return unit;
}

/** True where one response stands as several entries: what comes between its calls belongs to it. */
function isItem({ format }: Message): boolean {
  return format === "openai-responses" || format === "openai-agents";
}

function isSummary(message: Message): boolean {
  return message.meta?.summaryVersion !== undefined;
}

/** Joins a result to the unit of its call; a result without a call stays where it is. */
function answer(grouping: Grouping, id: string, unit: DraftUnit): DraftUnit {
  const owner = grouping.openCalls.get(id) ?? grouping.answeredCalls.get(id);
  if (owner === undefined) return unit;
  const target = merge(resolve(owner), resolve(unit));
  target.open.delete(id);
  grouping.openCalls.delete(id);
  grouping.answeredCalls.set(id, target);
  return target;
}

function add(grouping: Grouping, message: Message, index: number): void {
  const calls = toolCalls(message).filter((call) => call.providerExecuted !== true);
  const asks = calls.length > 0 || approvalsOf(message).asked.length > 0;
  let unit = unitFor(grouping, message, asks);
  unit.indexes.push(index);
  unit.calls += calls.length;
  unit.hasReasoning ||= message.parts.some(
    (part, position) => part.type === "reasoning" && (position > 0 || !carriesCompaction(message)),
  );
  for (const call of calls) {
    unit.open.add(call.id);
    grouping.openCalls.set(call.id, unit);
  }
  for (const result of toolResults(message)) unit = answer(grouping, result.id, unit);
  unit = addApprovals(grouping, message, unit);
  grouping.run = message.role === "assistant" ? unit : undefined;
}

/** An answer to an approval joins the unit that asked for it, and keeps it open until then. */
function addApprovals(grouping: Grouping, message: Message, unit: DraftUnit): DraftUnit {
  const { asked, answered } = approvalsOf(message);
  for (const id of asked) {
    // Hosted tools are called by the provider: the request is all that waits for the host.
    if (message.format !== "ai-sdk") unit.calls += 1;
    unit.open.add(`approval ${id}`);
    grouping.openCalls.set(`approval ${id}`, unit);
  }
  return answered.reduce((joined, id) => answer(grouping, `approval ${id}`, joined), unit);
}

/**
 * The units of a list in order of their first message; every index is in exactly one unit. Results
 * find their call by id wherever it stands; a result without a call is a unit of its own.
 */
export function groupUnits(messages: readonly Message[]): Unit[] {
  const grouping: Grouping = { units: [], openCalls: new Map(), answeredCalls: new Map(), run: undefined };
  messages.forEach((message, index) => {
    add(grouping, message, index);
  });
  const last = messages.at(-1);
  const waits = last !== undefined && grantsCall(last) ? messages.length - 1 : -1;
  return grouping.units
    .filter((unit) => unit.mergedInto === undefined)
    .map(
      (unit): Unit => ({
        kind: unit.calls > 0 ? "exchange" : "message",
        indexes: unit.indexes.toSorted((a, b) => a - b),
        calls: unit.calls,
        open: unit.open.size + (unit.indexes.includes(waits) ? 1 : 0),
      }),
    )
    .toSorted((a, b) => (a.indexes[0] ?? 0) - (b.indexes[0] ?? 0));
}
