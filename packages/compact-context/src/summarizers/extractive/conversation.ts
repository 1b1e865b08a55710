import { type Message, messageText, resultText, type ToolCallPart } from "../../core/message.ts";
import { typedText } from "../../core/units.ts";
import { type Action, readAction } from "./calls.ts";

/** A call with what it did and what came back. */
export interface Call {
  readonly part: ToolCallPart;
  /** Index of the message that holds the call. */
  readonly message: number;
  readonly action: Action;
  readonly result: CallResult | undefined;
  /** A later call read or changed the same file: what this one showed is out of date. */
  readonly superseded: boolean;
  /** The call itself stays in the list. */
  readonly stays: boolean;
}

export interface CallResult {
  readonly message: number;
  readonly text: string;
  readonly isError: boolean;
  /** The result stays in the list. */
  readonly stays: boolean;
}

/** What a person typed in one message; injected blocks are left out. */
export interface Request {
  readonly message: number;
  readonly id: string;
  readonly text: string;
  /** It stays in the list beside the summary, whole or with its middle cut out. */
  readonly stays: "no" | "cut" | "whole";
}

/** The messages read once: calls paired with their results, and what people typed. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** Indexes of messages that stay beside the summary and need no telling. */
  readonly staying: ReadonlySet<number>;
  readonly calls: readonly Call[];
  /** The call that a result part answers, by message and part index as `message:part`. */
  readonly callOfResult: ReadonlyMap<string, Call>;
  readonly callOfPart: ReadonlyMap<ToolCallPart, Call>;
  readonly requests: readonly Request[];
  /** True when the last thing said is an answer in text with no call beside it. */
  readonly answered: boolean;
}

type OpenCall = { -readonly [Key in keyof Call]: Call[Key] };

/** What of a conversation stays beside its summary: whole messages by index, messages that are cut by id. */
export interface Staying {
  readonly staying: ReadonlySet<number>;
  readonly cut: ReadonlySet<string>;
}

const NOTHING_STAYS: Staying = { staying: new Set(), cut: new Set() };

/** Reads the messages in one pass; results without a call, and calls without a result, are kept as they are. */
export function readConversation(messages: readonly Message[], stays: Staying = NOTHING_STAYS): Conversation {
  const { staying } = stays;
  const calls: OpenCall[] = [];
  const open = new Map<string, OpenCall>();
  const callOfResult = new Map<string, Call>();
  const callOfPart = new Map<ToolCallPart, Call>();
  messages.forEach((message, index) => {
    message.parts.forEach((part, partIndex) => {
      if (part.type === "toolCall") {
        const call: OpenCall = {
          part,
          message: index,
          action: readAction(part),
          result: undefined,
          superseded: false,
          stays: staying.has(index),
        };
        calls.push(call);
        open.set(part.id, call);
        callOfPart.set(part, call);
      } else if (part.type === "toolResult") {
        const call = open.get(part.id);
        if (call === undefined) return;
        callOfResult.set(`${index}:${partIndex}`, call);
        call.result ??= {
          message: index,
          text: resultText(part),
          isError: part.isError === true,
          stays: staying.has(index),
        };
      }
    });
  });
  markSuperseded(calls);
  const requests = readRequests(messages, stays);
  return { messages, staying, calls, callOfResult, callOfPart, requests, answered: isAnswered(messages) };
}

function markSuperseded(calls: readonly OpenCall[]): void {
  const later = new Set<string>();
  for (let index = calls.length - 1; index >= 0; index -= 1) {
    const call = calls[index];
    if (call === undefined) continue;
    const { files, reads } = call.action;
    if (reads && files.length > 0 && files.every((file) => later.has(file.path))) call.superseded = true;
    for (const file of files) later.add(file.path);
  }
}

function readRequests(messages: readonly Message[], { staying, cut }: Staying): Request[] {
  const requests: Request[] = [];
  messages.forEach((message, index) => {
    if (message.role !== "user" || message.meta?.synthetic === true) return;
    const text = typedText(messageText(message));
    const stays = staying.has(index) ? "whole" : cut.has(message.id) ? "cut" : "no";
    if (text !== "") requests.push({ message: index, id: message.id, text, stays });
  });
  return requests;
}

function isAnswered(messages: readonly Message[]): boolean {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message === undefined || message.role === "system" || message.role === "developer") continue;
    if (message.role !== "assistant") return false;
    return messageText(message) !== "" && message.parts.every((part) => part.type !== "toolCall");
  }
  return false;
}
