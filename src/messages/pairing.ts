import type { Message, Part, ToolCallPart, ToolResultPart } from "./message.ts";

/**
 * Gives calls and results without a native id one: a call takes it from its message's id, a result from the first open
 * call, one of the same name before others. `previous` is what came before the list.
 */
export interface Pairing {
  identify(messageId: string, parts: readonly Part[]): readonly Part[];
}

export function createPairing(previous: readonly Message[]): Pairing {
  const open = openCalls(previous);
  return {
    identify(messageId, parts) {
      const minted = parts.some(lacksId) ? parts.map(mint(messageId, parts, open)) : parts;
      if (minted === parts) for (const part of parts) note(open, part);
      return minted;
    },
  };
}

interface OpenCalls {
  calls: ToolCallPart[];
  /** True once a result followed the calls: the next call starts a new step. */
  answered: boolean;
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
  const named = open.calls.find((call) => part.name !== undefined && call.name === part.name);
  return { ...part, id: (named ?? open.calls[0])?.id ?? `result_${suffix}` };
}

function note(open: OpenCalls, part: Part): void {
  if (part.type === "toolCall") noteCall(open, part);
  else if (part.type === "toolResult") noteResult(open, part);
}

function noteCall(open: OpenCalls, call: ToolCallPart): void {
  if (open.answered) open.calls = [];
  open.answered = false;
  open.calls.push(call);
}

function noteResult(open: OpenCalls, result: ToolResultPart): void {
  open.answered = true;
  const index = open.calls.findIndex((call) => call.id === result.id);
  if (index !== -1) open.calls.splice(index, 1);
}

function openCalls(previous: readonly Message[]): OpenCalls {
  const open: OpenCalls = { calls: [], answered: false };
  for (const message of previous.slice(lastStepStart(previous))) {
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
