import {
  argumentsValue,
  type Message,
  type Part,
  resultText,
  type ToolCallPart,
} from "../../core/message.ts";
import { textSegments } from "../../core/units.ts";
import { isObject } from "../../errors.ts";
import type { Call, Conversation } from "./conversation.ts";
import { clipEnd, oneLine } from "./text.ts";

/** Who a line comes from; `read` is tool output that shows a file, `summary` the summary so far. */
export type LineSource = "user" | "assistant" | "call" | "read" | "output" | "note" | "summary";

/** A piece of the conversation that is kept or dropped as a whole. */
export interface Line {
  readonly text: string;
  readonly source: LineSource;
  /** Index of its message; -1 for lines of the summary so far. */
  readonly message: number;
  /** Lines of one part share this number, in order of time. */
  readonly part: number;
  readonly superseded: boolean;
  /** It stays in the list: read for what it shows, never told. */
  readonly stays?: true;
  /** The call behind an output, where the call itself is no line because it stays in the list. */
  readonly from?: string;
}

const NUMBERED = /^\s{0,8}\d{1,7}(?:→|\t)\s?/;
/** Arguments that hold the text an edit took away. */
const REPLACED = /^old_?(?:str|string|text)$/i;
const SOFT_SPAN = 60;
const CLAUSE_ENDS = [", ", "; ", ". ", "? ", "! ", "、", "，", "。"];
const DEEPEST = 6;

/** Every line of every message, long ones split near `longest` characters. */
export function readLines(conversation: Conversation, longest: number): Line[] {
  const lines: Line[] = [];
  let parts = 0;
  conversation.messages.forEach((message, index) => {
    message.parts.forEach((part, partIndex) => {
      const call = conversation.callOfResult.get(`${index}:${partIndex}`);
      const from = call?.stays === true ? { from: shortCall(call.part) } : {};
      const stays = conversation.staying.has(index) ? { stays: true as const } : {};
      for (const origin of partOrigins(message, part, call)) {
        addLines(lines, { ...origin, ...from, ...stays, message: index, part: parts }, longest);
        parts += 1;
      }
    });
  });
  return lines;
}

type Origin = Pick<Line, "text" | "source" | "superseded">;

// What a host put into a user's message is no word of the user's.
function partOrigins(message: Message, part: Part, answered: Call | undefined): Origin[] {
  const origin = partOrigin(message, part, answered);
  if (origin?.source !== "user") return origin === undefined ? [] : [origin];
  return textSegments(origin.text).map(({ text, typed }) => ({
    ...origin,
    text,
    source: typed ? "user" : "note",
  }));
}

const SHORT_CALL = 80;

function shortCall(part: ToolCallPart): string {
  return clipEnd(oneLine(callText(part)), SHORT_CALL);
}

function partOrigin(message: Message, part: Part, answered: Call | undefined): Origin | undefined {
  switch (part.type) {
    case "text":
      return { text: part.text, source: textSource(message), superseded: false };
    case "toolCall":
      return { text: callText(part), source: "call", superseded: false };
    case "toolResult": {
      const source = answered?.action.reads === true ? "read" : "output";
      return { text: resultText(part), source, superseded: answered?.superseded === true };
    }
    default:
      return undefined;
  }
}

/** Adds the lines of one text; all share source, message and part. */
export function addLines(lines: Line[], origin: Line, longest: number): void {
  for (const line of rawLines(origin)) {
    if (line.length < 2) continue;
    if (line.length <= longest) lines.push({ ...origin, text: line });
    else for (const piece of pieces(line, longest)) lines.push({ ...origin, text: piece });
  }
}

function rawLines(origin: Line): string[] {
  // A call's text flows on: one line of an edit alone says too little about the names in it.
  if (origin.source === "call") return [oneLine(origin.text)];
  const numbered = origin.source === "read" || origin.source === "output";
  return origin.text.split("\n").map((line) => (numbered ? line.replace(NUMBERED, "") : line).trim());
}

function textSource(message: Message): LineSource {
  if (message.role === "assistant") return "assistant";
  if (message.role === "user") return message.meta?.synthetic === true ? "note" : "user";
  return message.role === "tool" ? "output" : "note";
}

/** A long line in pieces of at most `longest` characters, each ending at a line break, a clause or a word where one ends near there. */
export function pieces(line: string, longest: number): string[] {
  const found: string[] = [];
  let start = 0;
  while (start < line.length) {
    let end = Math.min(line.length, start + longest);
    if (end < line.length) end = softEnd(line, start, end);
    const piece = line.slice(start, end).trim();
    if (piece.length > 1) found.push(piece);
    start = end;
  }
  return found;
}

function softEnd(line: string, start: number, hard: number): number {
  const middle = start + ((hard - start) >> 1);
  const escaped = line.slice(middle, hard).lastIndexOf("\\n");
  if (escaped >= 0) return middle + escaped + 2;
  const from = Math.max(middle, hard - SOFT_SPAN);
  const near = line.slice(from, hard);
  const clause = Math.max(...CLAUSE_ENDS.map((mark) => near.lastIndexOf(mark)));
  const soft = clause >= 0 ? clause : Math.max(near.lastIndexOf(","), near.lastIndexOf(" "));
  if (soft >= 0) return from + soft + 1;
  const code = line.charCodeAt(hard - 1);
  return code >= 0xd800 && code <= 0xdbff ? hard - 1 : hard;
}

/** A call as a person would write it: its name, then `key: value` with strings decoded into their own lines. */
export function callText(call: ToolCallPart): string {
  const value = argumentsValue(call);
  if (!isObject(value)) return `${call.name}: ${plain(value, 0)}`;
  const pairs = Object.entries(value)
    .filter(([key]) => !REPLACED.test(key))
    .map(([key, entry]) => `${key}: ${plain(entry, 0)}`);
  const short = pairs.join(", ");
  return `${call.name} ${short.length <= 200 && !short.includes("\n") ? short : pairs.join("\n")}`.trim();
}

function plain(value: unknown, depth: number): string {
  if (typeof value === "string") return value;
  if (depth >= DEEPEST || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  if (Array.isArray(value)) {
    const items = (value as unknown[]).map((item) => plain(item, depth + 1));
    return items.join(items.some((item) => item.includes("\n") || item.length > 60) ? "\n" : ", ");
  }
  return Object.entries(value)
    .map(([key, entry]) => `${key}: ${plain(entry, depth + 1)}`)
    .join(", ");
}
