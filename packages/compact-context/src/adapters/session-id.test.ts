import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { compactLanguageModelMiddleware, compactPrepareStep } from "./ai-sdk/index.ts";
import { compactMiddleware } from "./langchain/index.ts";
import { compactInputFilter } from "./openai-agents/index.ts";

const messages = [{ role: "user", content: "hello" }];
const HINT = "Pass one id for each conversation, such as a UUID.";

/** `sessionId` as a program without types passes it. */
function optionsOf(onFailure: "throw" | "continue", warnings: string[] = []) {
  const ports = { onWarning: (text: string) => void warnings.push(text) };
  const manager = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } }, ports);
  return { manager, sessionId: 7 as never, onFailure };
}

type Options = ReturnType<typeof optionsOf>;

describe.each<[string, (options: Options) => Promise<unknown>]>([
  [
    "the AI SDK's middleware",
    (options) => compactLanguageModelMiddleware(options).transformParams({ params: { prompt: messages } }),
  ],
  ["the AI SDK's prepareStep", (options) => compactPrepareStep(options)({ messages, steps: [] })],
  [
    "OpenAI Agents",
    (options) => compactInputFilter(options)({ modelData: { input: messages }, agent: { name: "clerk" } }),
  ],
  ["LangChain", (options) => compactMiddleware(options).wrapModelCall({ messages }, async () => ({}))],
])("%s with a session id that is no text", (_, call) => {
  it("refuses it, and says what to pass", async () => {
    await expect(call(optionsOf("throw"))).rejects.toMatchObject({ code: "InvalidArgument", hint: HINT });
  });

  it("passes lists on where a run is to continue, and says once that nothing is compacted", async () => {
    const warnings: string[] = [];
    const options = optionsOf("continue", warnings);
    await call(options);
    await call(options);
    expect(warnings).toEqual([expect.stringMatching(/^nothing is compacted: .* session id/)]);
    expect(warnings[0]).toContain(HINT);
  });
});
