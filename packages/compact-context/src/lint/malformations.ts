import { type Message, type Role, toolCalls, toolResults } from "../core/message.ts";
import type { Malformation } from "../core/report.ts";
import { clientCalls, groupUnits, isUnderWay } from "../core/units.ts";

// What is broken in neutral messages, whatever the provider.

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
  for (const [index, { role, id }] of messages.entries()) {
    if (!ROLES.has(role))
      found.push({ kind: "unknown role", index, explanation: `there is no role "${String(role)}"` });
    if (ids.has(id))
      found.push({ kind: "duplicate id", index, explanation: `two messages have the id "${id}"` });
    ids.add(id);
  }
  return found;
}

function pairingFaults(messages: readonly Message[]): Malformation[] {
  const found: Malformation[] = [];
  const open = new Set<string>();
  const answered = new Set<string>();
  const byProvider = new Set(
    messages
      .flatMap(toolCalls)
      .filter(({ providerExecuted }) => providerExecuted === true)
      .map(({ id }) => id),
  );
  for (const [index, message] of messages.entries()) {
    for (const { id } of clientCalls(message)) {
      if (open.has(id))
        found.push({ kind: "duplicate call", index, explanation: `call id "${id}" is open already` });
      open.add(id);
      answered.delete(id);
    }
    for (const { id } of toolResults(message)) {
      if (open.delete(id)) answered.add(id);
      else if (!byProvider.has(id)) found.push(resultFault(id, index, answered.has(id)));
    }
  }
  return found;
}

function resultFault(id: string, index: number, isAnswered: boolean): Malformation {
  if (isAnswered) return { kind: "duplicate result", index, explanation: `call "${id}" is answered twice` };
  return { kind: "orphan result", index, explanation: `no call before it has the id "${id}"` };
}

/** Calls without a result; those of an exchange at the end of the list are still open and not a fault. */
function unansweredCalls(messages: readonly Message[]): Malformation[] {
  const units = groupUnits(messages).filter(
    (unit) => unit.open > 0 && !isUnderWay(unit, messages.length - 1),
  );
  return units.flatMap(({ indexes }) => {
    const members = indexes.map((index) => ({ index, message: messages[index] as Message }));
    const answered = new Set(members.flatMap(({ message }) => toolResults(message)).map(({ id }) => id));
    return members.flatMap(({ index, message }) =>
      clientCalls(message)
        .filter(({ id }) => !answered.has(id))
        .map(({ id, name }): Malformation => {
          return { kind: "unanswered call", index, explanation: `call "${id}" (${name}) has no result` };
        }),
    );
  });
}
