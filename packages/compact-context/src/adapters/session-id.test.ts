import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { compactLanguageModelMiddleware, compactPrepareStep } from "./ai-sdk/index.ts";
import { compactMiddleware } from "./langchain/index.ts";
import { compactInputFilter } from "./openai-agents/index.ts";

const messages = [{ role: "user", content: "hello" }];
const manager = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } });
/** As a program without types passes it. */
const options = { manager, sessionId: 7 as never, onFailure: "throw" as const };

it.each<[string, () => Promise<unknown>]>([
  [
    "the AI SDK's middleware",
    () => compactLanguageModelMiddleware(options).transformParams({ params: { prompt: messages } }),
  ],
  ["the AI SDK's prepareStep", () => compactPrepareStep(options)({ messages, steps: [] })],
  [
    "OpenAI Agents",
    () => compactInputFilter(options)({ modelData: { input: messages }, agent: { name: "clerk" } }),
  ],
  ["LangChain", () => compactMiddleware(options).wrapModelCall({ messages }, async () => ({}))],
])("%s refuses a session id that is no text, and says what to pass", async (_, call) => {
  await expect(call()).rejects.toMatchObject({
    code: "InvalidArgument",
    hint: "Pass one id for each conversation, such as a UUID.",
  });
});
