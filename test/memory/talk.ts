import type { Message, Part } from "../../packages/compact-context/src/core/message.ts";
import type { TextModel, TextModelRequest } from "../../packages/compact-context/src/core/ports.ts";

/** Messages with consecutive ids. */
export interface Talk {
  readonly messages: Message[];
  user(text: string): Talk;
  reply(text: string): Talk;
  /** A call with its result. */
  call(name: string, args: Readonly<Record<string, unknown>>, result?: string, isError?: boolean): Talk;
}

export function talk(prefix = "m"): Talk {
  const messages: Message[] = [];
  const push = (role: Message["role"], parts: readonly Part[]): void => {
    messages.push({ id: `${prefix}${messages.length + 1}`, role, parts });
  };
  const self: Talk = {
    messages,
    user(text) {
      push("user", [{ type: "text", text }]);
      return self;
    },
    reply(text) {
      push("assistant", [{ type: "text", text }]);
      return self;
    },
    call(name, args, result = "ok", isError = false) {
      const id = `${prefix}call${messages.length}`;
      push("assistant", [{ type: "toolCall", id, name, arguments: args }]);
      push("tool", [{ type: "toolResult", id, name, content: result, isError: isError || undefined }]);
      return self;
    },
  };
  return self;
}

export interface ScriptedModel extends TextModel {
  readonly requests: TextModelRequest[];
}

/** Answers according to the prompt: a text, an error to throw, or `never`. */
export function scripted(answer: (system: string, prompt: string) => string | Error): ScriptedModel {
  const requests: TextModelRequest[] = [];
  return {
    name: "scripted",
    requests,
    generate: async (request) => {
      requests.push(request);
      const said = answer(request.messages[0]?.content ?? "", request.messages[1]?.content ?? "");
      if (said === "never") return new Promise(() => undefined);
      if (said instanceof Error) throw said;
      return { text: said, stop: "end" };
    },
  };
}
