import { expect, it } from "vitest";
import type { PreflightRequest } from "../core/request.ts";
import { CompactManager } from "../create-manager.ts";
import { compactFetch } from "../wire/fetch.ts";
import { compactLanguageModelMiddleware, compactPrepareStep } from "./ai-sdk/index.ts";
import { compactMiddleware } from "./langchain/index.ts";
import { compactProcessor } from "./mastra/index.ts";
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

function post(options: Options, path: string, body: object): Promise<Response> {
  const send = compactFetch({ ...options, fetch: async () => Response.json({}) });
  return send(`https://provider.example/v1/${path}`, { method: "POST", body: JSON.stringify(body) });
}

const handler = async (): Promise<object> => ({});

it.each<[string, number | undefined, (options: Options) => Promise<unknown>]>([
  ["Anthropic", 64_000, (o) => post(o, "messages", { max_tokens: 64_000, messages })],
  ["Chat Completions", 900, (o) => post(o, "chat/completions", { max_completion_tokens: 900, messages })],
  ["Chat Completions, the old name", 800, (o) => post(o, "chat/completions", { max_tokens: 800, messages })],
  ["Chat Completions without a limit", undefined, (o) => post(o, "chat/completions", { messages })],
  ["Responses", 700, (o) => post(o, "responses", { max_output_tokens: 700, input: messages })],
  [
    "Gemini",
    650,
    (o) =>
      post(o, "models/m:generateContent", {
        contents: [{ role: "user", parts: [{ text: "hello" }] }],
        generationConfig: { maxOutputTokens: 650 },
      }),
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
      compactInputFilter(o)({
        modelData: { input: messages },
        agent: { name: "clerk", modelSettings: { maxTokens: 400 } },
      }),
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

const INVALID = [-1, 0, Number.NaN, Number.POSITIVE_INFINITY];

it.each(INVALID)("a limit of %s is none, whichever host passes it on", async (limit) => {
  const step = { messages, state: {}, steps: [], requestContext: undefined };
  const calls: ((options: Options) => Promise<unknown>)[] = [
    (o) => compactPrepareStep({ ...o, maxOutputTokens: limit })(step),
    (o) => {
      const processor = compactProcessor(o);
      processor.processInputStep({ ...step, modelSettings: { maxOutputTokens: limit } } as never);
      return processor.processLLMRequest({ ...step, prompt: messages } as never);
    },
  ];
  for (const call of calls) expect(await limitTold(call)).toBeUndefined();
});

it("several system messages are counted as the system prompt", async () => {
  const told: unknown[] = [];
  const manager = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } });
  const preflight = manager.preflight.bind(manager);
  manager.preflight = (sessionId, list, request: PreflightRequest = {}) => {
    told.push(request.system);
    return preflight(sessionId, list, request);
  };
  const system = ["Be brief.", "Answer in French."].map((content) => ({ role: "system", content }));
  await compactPrepareStep({ manager, sessionId: "s", system })({ messages, steps: [] });
  expect(told).toEqual(["Be brief.\nAnswer in French."]);
});
