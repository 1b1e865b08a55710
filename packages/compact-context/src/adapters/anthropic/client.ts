import { requireOptions } from "../../errors.ts";
import {
  type ClientMethod,
  type ClientOptions,
  createClientWrapper,
  refuseMethod,
} from "../../host-client.ts";
import { overlay } from "../../providers/client-answer.ts";
import { objectOf, objectsIn, positiveOf, textOf } from "../../providers/request.ts";

const MESSAGES: ClientMethod = {
  format: "anthropic",
  field: "messages",
  serverManaged: ["context_management", "compaction"],
  beside: ({ system, tools, max_tokens: limit }) => {
    const words =
      typeof system === "string"
        ? system
        : objectsIn(system)
            .map(({ text }) => textOf(text))
            .join("\n");
    return {
      tools: Array.isArray(tools) ? tools : [],
      system: words || undefined,
      maxOutputTokens: positiveOf(limit),
    };
  },
  // A stream tells the input's tokens in its first event; later ones count the output alone.
  usageOf: ({ type, usage, message }) => {
    if (type === "message_start") return objectOf(message).usage;
    return type === "message" ? usage : undefined;
  },
};

/**
 * The client with `messages.create` and `beta.messages.create` compacting before each call, learning from `usage`,
 * and compacting harder once where the provider finds a request too long. Helpers that send by themselves (`stream`,
 * `parse`, `toolRunner`) are refused with a hint. Requests that are compacted on the server (`context_management`,
 * `compaction`) pass as they are.
 */
export function compactAnthropic<Client extends object>(client: Client, options: ClientOptions): Client {
  requireOptions(client, "client", "Pass the SDK's client.");
  const create = createClientWrapper(options)(MESSAGES);
  const messages = {
    create,
    stream: refuseMethod("messages.stream"),
    parse: refuseMethod("messages.parse"),
    toolRunner: refuseMethod("messages.toolRunner"),
  };
  return overlay(client, { messages, beta: { messages } });
}
