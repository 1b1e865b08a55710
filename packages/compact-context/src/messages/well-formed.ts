import { groupUnits, type Unit } from "./exchanges.ts";
import { type Message, type Role, type ToolCallPart, toolCalls, toolResults } from "./message.ts";

export type MalformationKind =
  | "orphan result"
  | "unanswered call"
  | "duplicate result"
  | "duplicate call"
  | "duplicate id"
  | "unknown role";

export interface Malformation {
  readonly kind: MalformationKind;
  /** Index of the message in the list. */
  readonly index: number;
  readonly explanation: string;
}

const ROLES: ReadonlySet<Role> = new Set(["system", "developer", "user", "assistant", "tool"]);

/**
 * What makes a list invalid for any provider: results without their call, calls without a result
 * (unless the list ends with them), ids used twice, roles that do not exist.
 */
export function findMalformations(messages: readonly Message[]): Malformation[] {
  return [...identityFaults(messages), ...pairingFaults(messages), ...unansweredCalls(messages)].toSorted(
    (a, b) => a.index - b.index,
  );
}

function identityFaults(messages: readonly Message[]): Malformation[] {
  const found: Malformation[] = [];
  const ids = new Set<string>();
  messages.forEach((message, index) => {
    if (!ROLES.has(message.role)) {
      found.push({ kind: "unknown role", index, explanation: `there is no role "${String(message.role)}"` });
    }
    if (ids.has(message.id)) {
      found.push({ kind: "duplicate id", index, explanation: `two messages have the id "${message.id}"` });
    }
    ids.add(message.id);
  });
  return found;
}

function pairingFaults(messages: readonly Message[]): Malformation[] {
  const found: Malformation[] = [];
  const calls: SeenCalls = {
    open: new Set(),
    answered: new Set(),
    byProvider: new Set(providerCallIds(messages)),
  };
  messages.forEach((message, index) => {
    for (const { id } of clientCalls(message)) {
      if (calls.open.has(id)) {
        found.push({ kind: "duplicate call", index, explanation: `call id "${id}" is open already` });
      }
      calls.open.add(id);
      calls.answered.delete(id);
    }
    for (const { id } of toolResults(message)) {
      const fault = resultFault(id, calls);
      if (fault !== undefined) found.push({ ...fault, index });
    }
  });
  return found;
}

interface SeenCalls {
  readonly open: Set<string>;
  readonly answered: Set<string>;
  readonly byProvider: ReadonlySet<string>;
}

function resultFault(id: string, calls: SeenCalls): Omit<Malformation, "index"> | undefined {
  if (calls.open.delete(id)) {
    calls.answered.add(id);
    return undefined;
  }
  if (calls.byProvider.has(id)) return undefined;
  if (calls.answered.has(id))
    return { kind: "duplicate result", explanation: `call "${id}" is answered twice` };
  return { kind: "orphan result", explanation: `no call before it has the id "${id}"` };
}

/** Calls without a result; those of the unit that ends the list are still under way and no fault. */
function unansweredCalls(messages: readonly Message[]): Malformation[] {
  const last = messages.length - 1;
  return groupUnits(messages)
    .filter((unit) => unit.open > 0 && !unit.indexes.includes(last))
    .flatMap((unit) => openCallsOf(unit, messages));
}

function openCallsOf(unit: Unit, messages: readonly Message[]): Malformation[] {
  const members = unit.indexes.flatMap((index) => {
    const message = messages[index];
    return message === undefined ? [] : [{ index, message }];
  });
  const answered = new Set(members.flatMap(({ message }) => toolResults(message).map((result) => result.id)));
  return members.flatMap(({ index, message }) =>
    clientCalls(message)
      .filter((call) => !answered.has(call.id))
      .map(
        (call): Malformation => ({
          kind: "unanswered call",
          index,
          explanation: `call "${call.id}" (${call.name}) has no result`,
        }),
      ),
  );
}

function clientCalls(message: Message): ToolCallPart[] {
  return toolCalls(message).filter((call) => call.providerExecuted !== true);
}

function providerCallIds(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    toolCalls(message)
      .filter((call) => call.providerExecuted === true)
      .map((call) => call.id),
  );
}
