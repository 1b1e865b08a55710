// A conversation on the AI SDK that is longer than its window. The model is scripted, so that no key is needed.
import { generateText, type ModelMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { CompactManager } from "compact-context";
import { compactPrepareStep } from "compact-context/adapters/ai-sdk";

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
const model = new MockLanguageModelV3({
  doGenerate: async () => ({
    content: [{ type: "text", text: `An answer. ${"It adds two. ".repeat(40)}` }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  }),
});

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) => console.log(`${report.tokensBefore} -> ${report.tokensAfter} tokens`));
const prepareStep = compactPrepareStep({ manager, sessionId: "demo" });

const messages: ModelMessage[] = [];
for (let turn = 0; turn < 40; turn += 1) {
  messages.push({ role: "user", content: `Question ${turn}: ${"what does this line do? ".repeat(20)}` });
  const { response } = await generateText({ model, messages, prepareStep });
  messages.push(...response.messages);
}
await manager.flush();
console.log(
  `the app holds ${messages.length} messages, the last request had ${model.doGenerateCalls.at(-1)?.prompt.length}`,
);
