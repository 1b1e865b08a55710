// A conversation on the AI SDK that is longer than its window. The model is scripted, so that no key is needed.
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { CompactManager } from "compact-context";
import { compactPrepareStep } from "compact-context/adapters/ai-sdk";
import { z } from "zod";

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const asked = prompt.at(-1)?.role === "user";
    const call = { toolCallId: `call-${prompt.length}`, toolName: "read", input: '{"file":"sum.ts"}' };
    return {
      content: [asked ? { type: "tool-call", ...call } : { type: "text", text: "It adds two. ".repeat(20) }],
      finishReason: { unified: asked ? "tool-calls" : "stop", raw: undefined },
      usage,
      warnings: [],
    };
  },
});
const tools = {
  read: tool({
    description: "Reads a file.",
    inputSchema: z.object({ file: z.string() }),
    execute: async ({ file }) => `${file}: ${"export const sum = (a, b) => a + b; ".repeat(20)}`,
  }),
};

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) => console.log(`${report.tokensBefore} -> ${report.tokensAfter} tokens`));
const prepareStep = compactPrepareStep({ tools, manager, sessionId: "demo" });

/** What a call added, all of its steps: in AI SDK 7 `response.messages` has the last step only, and 6 has no other list. */
function added(result: {
  readonly responseMessages?: readonly ModelMessage[];
  readonly response: { readonly messages: readonly ModelMessage[] };
}): readonly ModelMessage[] {
  return result.responseMessages ?? result.response.messages;
}

const messages: ModelMessage[] = [];
for (let turn = 0; turn < 40; turn += 1) {
  messages.push({ role: "user", content: `Question ${turn}: ${"what does this line do? ".repeat(20)}` });
  const result = await generateText({ model, tools, messages, prepareStep, stopWhen: stepCountIs(5) });
  messages.push(...added(result));
}
await manager.flush();
console.log(
  `the app holds ${messages.length} messages, the last request had ${model.doGenerateCalls.at(-1)?.prompt.length}`,
);
