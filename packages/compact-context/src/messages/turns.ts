import type { Message } from "./message.ts";

/** True for a message in which a person (not a tool, a program or a summary) speaks. */
export function isUserSpeech(message: Message): boolean {
  if (message.role !== "user" || message.meta?.synthetic === true) return false;
  if (message.meta?.summaryVersion !== undefined) return false;
  return message.parts.some((part) => part.type === "text" || part.type === "media");
}

/**
 * Where each turn begins, ascending. A turn is a user message and all that answers it; user messages
 * in a row begin one turn, and a result that carries user text stays in the turn of its call.
 */
export function turnStarts(messages: readonly Message[]): number[] {
  const starts: number[] = [];
  let answered = true;
  messages.forEach((message, index) => {
    const carriesResults = message.parts.some((part) => part.type === "toolResult");
    if (isUserSpeech(message) && !carriesResults) {
      if (answered) starts.push(index);
      answered = false;
    } else if (message.role === "assistant" || message.role === "tool") {
      answered = true;
    }
  });
  return starts;
}

/** Index of the newest message in which the user speaks; -1 where there is none. */
export function newestAsk(messages: readonly Message[]): number {
  return messages.findLastIndex(isUserSpeech);
}
