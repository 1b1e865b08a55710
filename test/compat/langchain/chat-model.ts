// A chat model with LangChain's own base class and scripted answers.
import type { Provider, Reply } from "../scripted-agent.ts";
import type { Modules } from "./load.ts";

export type Respond = (messages: readonly unknown[]) => Reply;

export function chatModel({ core, chat }: Pick<Modules, "core" | "chat">, respond: Respond): unknown {
  class ScriptedChatModel extends chat.BaseChatModel {
    constructor() {
      super({});
    }
    _llmType(): string {
      return "scripted";
    }
    bindTools(): this {
      return this;
    }
    async _generate(messages: unknown[]): Promise<object> {
      const { text, calls } = respond(messages);
      const message = new core.AIMessage({
        content: text,
        tool_calls: calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args })),
        usage_metadata: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      });
      return { generations: [{ text, message }] };
    }
  }
  return new ScriptedChatModel();
}

/** LangChain puts the system prompt before the messages. */
export function playedBy(provider: Provider): Respond {
  return (messages) => provider.answer(messages.map(plainOf));
}

function plainOf(message: unknown): unknown {
  const {
    id,
    content,
    tool_calls,
    tool_call_id,
    name,
    status,
    lc_kwargs: _,
    ...rest
  } = message as Record<string, unknown>;
  const kind = (rest.getType ?? (message as { getType?: () => string }).getType) as
    | (() => string)
    | undefined;
  const type = kind === undefined ? rest.role : kind.call(message);
  return { type, id, content, tool_calls, tool_call_id, name, status };
}
