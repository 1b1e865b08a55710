import { requireOptions } from "../../errors.ts";
import {
  type ClientMethod,
  type ClientOptions,
  createClientWrapper,
  refuseMethod,
} from "../../host-client.ts";
import { overlay } from "../../providers/client-answer.ts";
import { objectOf, positiveOf } from "../../providers/request.ts";

const CHAT: ClientMethod = {
  format: "openai-chat",
  field: "messages",
  serverManaged: [],
  beside: ({ tools, max_completion_tokens: limit, max_tokens: old }) => ({
    tools: Array.isArray(tools) ? tools : [],
    maxOutputTokens: positiveOf(limit, old),
  }),
  usageOf: ({ usage }) => usage,
};

const RESPONSES: ClientMethod = {
  format: "openai-responses",
  field: "input",
  serverManaged: ["previous_response_id", "conversation", "context_management"],
  beside: ({ tools, instructions, max_output_tokens: limit }) => ({
    tools: Array.isArray(tools) ? tools : [],
    system: typeof instructions === "string" ? instructions : undefined,
    maxOutputTokens: positiveOf(limit),
  }),
  usageOf: ({ usage, response }) => usage ?? objectOf(response).usage,
};

/**
 * The client with `chat.completions.create` and `.parse`, `responses.create` and `.parse` compacting before each
 * call, learning from `usage`, and compacting harder once where the provider finds a request too long. Helpers that
 * send by themselves (`stream`, `runTools`) are refused with a hint. Requests that continue a conversation on the
 * server (`previous_response_id`, `conversation`) or compact there (`context_management`) pass as they are.
 */
export function compactOpenAi<Client extends object>(client: Client, options: ClientOptions): Client {
  requireOptions(client, "client", "Pass the SDK's client.");
  const wrapper = createClientWrapper(options);
  const chat = wrapper(CHAT);
  const responses = wrapper(RESPONSES);
  const completions = {
    create: chat,
    parse: chat,
    stream: refuseMethod("chat.completions.stream"),
    runTools: refuseMethod("chat.completions.runTools"),
  };
  return overlay(client, {
    chat: { completions },
    responses: { create: responses, parse: responses, stream: refuseMethod("responses.stream") },
  });
}
