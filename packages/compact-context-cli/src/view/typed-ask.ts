import { type Message, messageText } from "compact-context/internal/messages/message";
import { isUserSpeech } from "compact-context/internal/messages/turns";
import { typedText } from "compact-context/internal/summarizers/typed-text";

/** What a person typed in the message; undefined where an agent's host put all of it there, or nobody speaks. */
export function typedAsk(message: Message): string | undefined {
  if (!isUserSpeech(message)) return undefined;
  const text = typedText(messageText(message));
  return /^(?!# AGENTS\.md )\S/.test(text) ? text : undefined;
}
