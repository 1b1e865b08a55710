import { type Message, toolCalls, toolResults } from "../messages/message.ts";
import { RECALL_TOOL_NAMES } from "./recall/names.ts";
import { type LiveSession, standingState } from "./session.ts";

/** Says of a call's id whether one of the recall tools was called by it: their answers are bounded by themselves. */
export function recallAnswers(messages: readonly Message[]): (id: string) => boolean {
  const calls = messages.flatMap(toolCalls).filter((call) => RECALL_TOOL_NAMES.has(call.name));
  const ids = new Set(calls.map((call) => call.id));
  return (id) => ids.has(id);
}

/**
 * The answers of the recall tools since the newest compaction: what the model just brought back is not emptied again
 * by the compaction that follows.
 */
export function recalledIn(session: LiveSession): ReadonlySet<Message> {
  const { entries, view } = session;
  const since = standingState(session).epochStart ?? 0;
  const answersRecall = recallAnswers(view);
  const isAnswer = (message: Message): boolean => toolResults(message).some(({ id }) => answersRecall(id));
  return new Set(
    entries
      .filter(({ at, message }) => at !== undefined && at >= since && isAnswer(message))
      .map(({ message }) => message),
  );
}
