import { type Message, messageText } from "../messages/message.ts";
import { isUserSpeech } from "../messages/turns.ts";
import { typedText } from "../summarizers/typed-text.ts";

/** What a person typed in the message; undefined where an agent's host put all of it there, or nobody speaks. */
export function typedAsk(message: Message): string | undefined {
  if (!isUserSpeech(message)) return undefined;
  const text = typedText(messageText(message));
  return /^(?!# AGENTS\.md )\S/.test(text) ? text : undefined;
}
