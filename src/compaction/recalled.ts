import { type Message, toolCalls, toolResults } from "../messages/message.ts";
import { RECALL_TOOL_NAMES } from "./recall/names.ts";
import type { LiveSession } from "./session.ts";

/**
 * The answers of the recall tools since the newest compaction: what the model just brought back is not emptied again
 * by the compaction that follows.
 */
export function recalledIn({ entries, view, state }: LiveSession): ReadonlySet<Message> {
  const since = state.epochStart ?? 0;
  const calls = new Set(
    view
      .flatMap((message) => toolCalls(message))
      .filter((call) => RECALL_TOOL_NAMES.has(call.name))
      .map((call) => call.id),
  );
  const isAnswer = (message: Message): boolean => toolResults(message).some(({ id }) => calls.has(id));
  return new Set(
    entries
      .filter(({ at, message }) => at !== undefined && at >= since && calls.size > 0 && isAnswer(message))
      .map(({ message }) => message),
  );
}
