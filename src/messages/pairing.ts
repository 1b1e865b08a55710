import type { Message, Part, Role, ToolCallPart, ToolResultPart } from "./message.ts";

/**
 * Gives calls and results without a native id one: a call takes it from its message's id, a result from the first open
 * call, one of the same name before others, a newer turn's before one that the user left behind. `previous` is what came before the list.
 */
export interface Pairing {
  identify(message: Pick<Message, "id" | "role" | "parts">): readonly Part[];
}

export function createPairing(previous: readonly Message[]): Pairing {
  const open = openCalls(previous);
  return {
    identify({ id, role, parts }) {
      if (goesOn(role, parts)) leaveBehind(open);
      const minted = parts.some(lacksId) ? parts.map(mint(id, parts, open)) : parts;
      if (minted === parts) for (const part of parts) note(open, part);
      return minted;
    },
  };
}

interface OpenCalls {
  calls: ToolCallPart[];
  /** Calls that were still open when the user went on: results are theirs only where no newer call fits. */
  left: ToolCallPart[];
  /** True once a result followed the calls: the next call starts a new step. */
  answered: boolean;
}

function goesOn(role: Role, parts: readonly Part[]): boolean {
  return role === "user" && parts.length > 0 && !parts.some((part) => part.type === "toolResult");
}

function leaveBehind(open: OpenCalls): void {
  open.left.push(...open.calls);
  open.calls = [];
}

function lacksId(part: Part): boolean {
  return (part.type === "toolCall" || part.type === "toolResult") && part.id === "";
}

function mint(messageId: string, parts: readonly Part[], open: OpenCalls): (part: Part) => Part {
  return (part) => {
    const identified = lacksId(part) ? withId(part, `${messageId}_${parts.indexOf(part) + 1}`, open) : part;
    note(open, identified);
    return identified;
  };
}

function withId(part: Part, suffix: string, open: OpenCalls): Part {
  if (part.type === "toolCall") return { ...part, id: `call_${suffix}` };
  if (part.type !== "toolResult") return part;
  const isNamed = (call: ToolCallPart): boolean => part.name !== undefined && call.name === part.name;
  const call = open.calls.find(isNamed) ?? open.left.find(isNamed) ?? open.calls[0] ?? open.left[0];
  return { ...part, id: call?.id ?? `result_${suffix}` };
}

function note(open: OpenCalls, part: Part): void {
  if (part.type === "toolCall") noteCall(open, part);
  else if (part.type === "toolResult") noteResult(open, part);
}

function noteCall(open: OpenCalls, call: ToolCallPart): void {
  if (open.answered) {
    open.calls = [];
    open.left = [];
  }
  open.answered = false;
  open.calls.push(call);
}

function noteResult(open: OpenCalls, result: ToolResultPart): void {
  open.answered = true;
  for (const calls of [open.calls, open.left]) {
    const index = calls.findIndex((call) => call.id === result.id);
    if (index !== -1) calls.splice(index, 1);
  }
}

function openCalls(previous: readonly Message[]): OpenCalls {
  const open: OpenCalls = { calls: [], left: [], answered: false };
  for (const message of previous.slice(lastStepStart(previous))) {
    if (goesOn(message.role, message.parts)) leaveBehind(open);
    for (const part of message.parts) note(open, part);
  }
  return open;
}

/** Where the last calls begin: only they can still be answered by order. */
function lastStepStart(previous: readonly Message[]): number {
  let start = previous.length;
  let callsSeen = false;
  for (let index = previous.length - 1; index >= 0; index--) {
    const parts = previous[index]?.parts ?? [];
    const hasResults = parts.some((part) => part.type === "toolResult");
    if (callsSeen && hasResults) return start;
    if (parts.some((part) => part.type === "toolCall")) {
      callsSeen = true;
      start = index;
    }
  }
  return callsSeen ? start : previous.length;
}
