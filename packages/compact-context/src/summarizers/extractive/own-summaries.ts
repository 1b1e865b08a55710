import { type Message, messageText, readSummary } from "../../core/message.ts";

/**
 * Takes summaries of ours out of a list; the first found stands in where no summary so far was given. Only messages
 * that the program itself marked count: anybody can type a tag.
 */
export function takeOwnSummaries(
  messages: readonly Message[],
  given: string | undefined,
): { kept: readonly Message[]; previous: string | undefined } {
  let previous = given;
  const kept = messages.filter((message) => {
    if (message.meta?.summaryVersion === undefined) return true;
    const summary = readSummary(messageText(message));
    if (summary === undefined) return true;
    previous ??= summary.text;
    return false;
  });
  return { kept, previous };
}
