import { type Message, messageText } from "compact-context/internal/core/message";
import { isUserSpeech, typedText } from "compact-context/internal/core/units";

/** What a person typed in the message; undefined where an agent's host put all of it there, or nobody speaks. */
export function typedAsk(message: Message): string | undefined {
  if (!isUserSpeech(message)) return undefined;
  const text = typedText(messageText(message));
  return /^(?!# AGENTS\.md )\S/.test(text) ? text : undefined;
}
