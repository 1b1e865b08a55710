import { expect, it } from "vitest";
import type { PreflightRequest } from "../core/usage.ts";
import { CompactManager } from "../create-manager.ts";
import { compactLanguageModelMiddleware, compactPrepareStep } from "./ai-sdk/index.ts";
import { compactAnthropic } from "./anthropic/index.ts";
import { compactMiddleware } from "./langchain/index.ts";
import { compactOpenAi } from "./openai/index.ts";
import { compactInputFilter } from "./openai-agents/index.ts";

const messages = [{ role: "user", content: "hello" }];

/** What the manager was told the answer may take, for one call of an adapter. */
async function limitTold(call: (options: Options) => Promise<unknown>): Promise<number | undefined> {
  const told: (number | undefined)[] = [];
  const manager = new CompactManager(
    { model: "gpt-4o", storage: { kind: "memory" } },
    { onWarning: () => undefined },
  );
  const preflight = manager.preflight.bind(manager);
  manager.preflight = (sessionId, list, request: PreflightRequest = {}) => {
    told.push(request.maxOutputTokens);
    return preflight(sessionId, list, request);
  };
  await call({ manager, sessionId: "s" });
  expect(told).toHaveLength(1);
  return told[0];
}

interface Options {
  readonly manager: CompactManager;
  readonly sessionId: string;
}

interface Creates {
  create(body: object): Promise<unknown>;
}

const creates: Creates = { create: async () => ({}) };
const openAi = { chat: { completions: creates }, responses: creates };
const anthropic = { messages: creates, beta: { messages: creates } };
const handler = async (): Promise<object> => ({});

it.each<[string, number | undefined, (options: Options) => Promise<unknown>]>([
  [
    "Anthropic",
    64_000,
    (o) => compactAnthropic(anthropic, o).messages.create({ max_tokens: 64_000, messages }),
  ],
  [
    "Chat Completions",
    900,
    (o) => compactOpenAi(openAi, o).chat.completions.create({ max_completion_tokens: 900, messages }),
  ],
  [
    "Chat Completions, the old name",
    800,
    (o) => compactOpenAi(openAi, o).chat.completions.create({ max_tokens: 800, messages }),
  ],
  [
    "Chat Completions without a limit",
    undefined,
    (o) => compactOpenAi(openAi, o).chat.completions.create({ messages }),
  ],
  [
    "Responses",
    700,
    (o) => compactOpenAi(openAi, o).responses.create({ max_output_tokens: 700, input: messages }),
  ],
  [
    "the AI SDK's middleware",
    600,
    (o) =>
      compactLanguageModelMiddleware(o).transformParams({
        params: { prompt: messages, maxOutputTokens: 600 },
      }),
  ],
  [
    "the AI SDK's prepareStep",
    500,
    (o) => compactPrepareStep({ ...o, maxOutputTokens: 500 })({ messages, steps: [] }),
  ],
  [
    "OpenAI Agents",
    400,
    (o) =>
      compactInputFilter(o)({ modelData: { input: messages }, agent: { modelSettings: { maxTokens: 400 } } }),
  ],
  [
    "LangChain, of the model",
    300,
    (o) => compactMiddleware(o).wrapModelCall({ messages, model: { maxTokens: 300 } }, handler),
  ],
  [
    "LangChain, of the call",
    200,
    (o) =>
      compactMiddleware(o).wrapModelCall(
        { messages, model: { maxTokens: 300 }, modelSettings: { max_tokens: 200 } },
        handler,
      ),
  ],
])("%s tells the manager how long the answer may get", async (_name, limit, call) => {
  expect(await limitTold(call)).toBe(limit);
});
