import type { Message, Part, ToolCallPart } from "../core/message.ts";

type Identified = Pick<Message, "id" | "role" | "parts">;

/** Generates the ids of a list for messages and calls without one. */
export interface Ids {
  /** The wished id, or the next free variant: `-2`, `-3`. */
  unique(wished: string): string;
  /**
   * The parts, with ids for calls and results that have none. A call's id derives from its message's id; a
   * result takes the id of the first open call: same name first, newer turns first.
   */
  identify(message: Identified): readonly Part[];
}

/** `previous` are the messages before the list. */
export function createIds(previous: readonly Message[]): Ids {
  const { ids, numbered, open: known } = knownOf(previous);
  const open: OpenCalls = { ...known, calls: [...known.calls], left: [...known.left] };
  /** Every id issued, with the highest number appended to it. */
  const taken = new Map<string, number>();
  const isTaken = (id: string): boolean => taken.has(id) || ids.has(id);
  return {
    unique(wished) {
      if (!isTaken(wished)) {
        taken.set(wished, 1);
        return wished;
      }
      let number = (taken.get(wished) ?? lastNumber(ids, numbered, wished)) + 1;
      while (isTaken(`${wished}-${number}`)) number++;
      const id = `${wished}-${number}`;
      taken.set(wished, number);
      taken.set(id, 1);
      return id;
    },
    identify(message) {
      const { id, parts } = message;
      if (!parts.some(lacksId)) {
        add(open, message);
        return parts;
      }
      if (goesOn(message)) leaveBehind(open);
      return parts.map((part, index) => {
        const identified = lacksId(part) ? withId(part, `${id}_${index + 1}`, open) : part;
        note(open, identified);
        return identified;
      });
    },
  };
}

/** State of an append-only list. */
interface Known {
  readonly ids: Set<string>;
  /** By id: the number up to which all numbered variants are taken. */
  readonly numbered: Map<string, number>;
  readonly open: OpenCalls;
  /** Number of messages processed. */
  upTo: number;
}

/**
 * Conversations are append-only and their end is decoded before every call: each message is processed once.
 */
const knownByList = new WeakMap<readonly Message[], Known>();

function knownOf(previous: readonly Message[]): Known {
  let known = knownByList.get(previous);
  if (known === undefined || known.upTo > previous.length) {
    const open: OpenCalls = { calls: [], left: [], answered: false };
    known = { ids: new Set(), numbered: new Map(), open, upTo: 0 };
    knownByList.set(previous, known);
  }
  for (const message of previous.slice(known.upTo)) {
    known.ids.add(message.id);
    add(known.open, message);
  }
  known.upTo = previous.length;
  return known;
}

/** Cached: a repeated text would otherwise be counted from 1 each time. */
function lastNumber(ids: ReadonlySet<string>, numbered: Map<string, number>, base: string): number {
  let number = numbered.get(base) ?? 1;
  while (ids.has(`${base}-${number + 1}`)) number++;
  numbered.set(base, number);
  return number;
}

interface OpenCalls {
  calls: ToolCallPart[];
  /** Calls still open when the user went on; a result is assigned to them only if no newer call matches. */
  left: ToolCallPart[];
  /** True once a result followed the calls: the next call starts a new step. */
  answered: boolean;
}

function add(open: OpenCalls, message: Identified): void {
  if (goesOn(message)) leaveBehind(open);
  for (const part of message.parts) note(open, part);
}

function goesOn({ role, parts }: Identified): boolean {
  return role === "user" && parts.length > 0 && !parts.some((part) => part.type === "toolResult");
}

function leaveBehind(open: OpenCalls): void {
  open.left.push(...open.calls);
  open.calls = [];
}

function lacksId(part: Part): boolean {
  return (part.type === "toolCall" || part.type === "toolResult") && part.id === "";
}

function withId(part: Part, suffix: string, open: OpenCalls): Part {
  if (part.type === "toolCall") return { ...part, id: `call_${suffix}` };
  if (part.type !== "toolResult") return part;
  const isNamed = (call: ToolCallPart): boolean => part.name !== undefined && call.name === part.name;
  const call = open.calls.find(isNamed) ?? open.left.find(isNamed) ?? open.calls[0] ?? open.left[0];
  return { ...part, id: call?.id ?? `result_${suffix}` };
}

function note(open: OpenCalls, part: Part): void {
  if (part.type === "toolCall") {
    if (open.answered) Object.assign(open, { calls: [], left: [], answered: false });
    open.calls.push(part);
  } else if (part.type === "toolResult") {
    open.answered = true;
    for (const calls of [open.calls, open.left]) {
      const index = calls.findIndex((call) => call.id === part.id);
      if (index !== -1) calls.splice(index, 1);
    }
  }
}
