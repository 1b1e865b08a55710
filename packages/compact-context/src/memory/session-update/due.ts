import { type Message, messageText, toolCalls } from "../../core/message.ts";
import { turnStarts, typedText } from "../../core/units.ts";
import { readAction } from "../../summarizers/extractive/actions.ts";
import { isCorrection } from "./wording.ts";

/** What happened since the last update of SESSION.md. */
export interface Progress {
  /** Turns that ended with an answer. */
  readonly turns: number;
  readonly toolCalls: number;
  /** A file was changed, and a final reply followed. */
  readonly changedFile: boolean;
  /** A person spoke while the agent was at work, or corrected it. */
  readonly steered: boolean;
}

export interface UpdateThresholds {
  readonly minTurnsBetweenUpdate: number;
  readonly minToolCallsBetweenUpdate: number;
}

/** Reads what messages since the last update tell. */
export function progressIn(messages: readonly Message[]): Progress {
  const starts = turnStarts(messages);
  const isAnswered = (start: number, turn: number): boolean => {
    const end = starts[turn + 1] ?? messages.length;
    return messages.slice(start, end).some(isFinalReply);
  };
  const calls = messages.flatMap(toolCalls);
  const changed = messages.findLastIndex((message) => toolCalls(message).some(changesFile));
  return {
    turns: starts.filter(isAnswered).length,
    toolCalls: calls.length,
    changedFile: changed >= 0 && messages.slice(changed + 1).some(isFinalReply),
    steered: messages.some((message, index) => isSteering(messages, message, index)),
  };
}

/** MEM-6: enough turns, or enough tool calls, or a changed file with a final reply, or another direction. */
export function isUpdateDue(progress: Progress, thresholds: UpdateThresholds): boolean {
  return (
    progress.turns >= thresholds.minTurnsBetweenUpdate ||
    progress.toolCalls >= thresholds.minToolCallsBetweenUpdate ||
    progress.changedFile ||
    progress.steered
  );
}

function isFinalReply(message: Message): boolean {
  return (
    message.role === "assistant" && messageText(message).trim() !== "" && toolCalls(message).length === 0
  );
}

function changesFile(call: Parameters<typeof readAction>[0]): boolean {
  return readAction(call).files.some(({ effect }) => effect !== "read");
}

/** Said between a call and the final reply, or in words that turn the work around. */
function isSteering(messages: readonly Message[], message: Message, index: number): boolean {
  if (message.role !== "user" || message.meta?.synthetic === true) return false;
  const text = typedText(messageText(message));
  if (text === "") return false;
  const before = messages[index - 1];
  const atWork = before?.role === "tool" || (before !== undefined && toolCalls(before).length > 0);
  const carriesResults = message.parts.some(({ type }) => type === "toolResult");
  return atWork || carriesResults || (before !== undefined && isCorrection(text));
}
