import { instanceKind } from "../../codecs/langchain-view.ts";
import { objectOf } from "../../providers/json.ts";

/** The `type` word of a message class, by the role of a plain message. */
const KINDS: Readonly<Record<string, string>> = { assistant: "ai", user: "human", system: "system" };

/** How LangChain marks a message that a program put there in the place of others. */
const MARK = { lc_source: "summarization" };

type MessageClass = new (fields: object) => unknown;

/**
 * The list with its plain messages (the summary) as instances of the classes that `from` holds, marked as
 * LangChain marks summaries: other middleware and stores expect instances, and nobody takes it for the user's word.
 */
export function asInstances(messages: readonly unknown[], from: readonly unknown[]): unknown[] {
  const classes = new Map<string, MessageClass>();
  for (const message of from) {
    if (typeof message !== "object" || message === null) continue;
    const kind = instanceKind(message as Readonly<Record<string, unknown>>);
    const known = message.constructor as MessageClass;
    if (kind !== undefined && !known.name.endsWith("Chunk")) classes.set(kind, known);
  }
  return messages.map((message) => {
    const { role, content, id, getType, _getType } = objectOf(message);
    if (typeof role !== "string" || getType !== undefined || _getType !== undefined) return message;
    const Class = classes.get(KINDS[role] ?? "");
    return Class === undefined ? message : new Class({ content, id, additional_kwargs: MARK });
  });
}
