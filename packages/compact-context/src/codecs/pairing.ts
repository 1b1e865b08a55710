import type { Message, Part, Role, ToolCallPart, ToolResultPart } from "../core/message.ts";

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

interface KnownOpen {
  readonly open: OpenCalls;
  /** How many messages of the list are in `open`. */
  upTo: number;
}

/** A conversation only grows, and its end is decoded before every call: each message is looked at once. */
const openByList = new WeakMap<readonly Message[], KnownOpen>();

function openCalls(previous: readonly Message[]): OpenCalls {
  let known = openByList.get(previous);
  if (known === undefined || known.upTo > previous.length) {
    known = { open: { calls: [], left: [], answered: false }, upTo: 0 };
    openByList.set(previous, known);
  }
  const { open } = known;
  for (; known.upTo < previous.length; known.upTo++) {
    const { role, parts } = previous[known.upTo] ?? { role: "user" as const, parts: [] };
    if (goesOn(role, parts)) leaveBehind(open);
    for (const part of parts) note(open, part);
  }
  return { calls: [...open.calls], left: [...open.left], answered: open.answered };
}
