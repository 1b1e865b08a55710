// A LangChain agent that talks for longer than its window is. The model is scripted, so that no key is needed.
import { MemorySaver } from "@langchain/langgraph";
import { CompactManager } from "compact-context";
import { compactMiddleware } from "compact-context/adapters/langchain";
import { AIMessage, createAgent, fakeModel } from "langchain";

const turns = 40;
const model = fakeModel();
for (let turn = 0; turn < turns; turn += 1)
  model.respond(new AIMessage(`Answer ${turn}. ${"It adds two. ".repeat(40)}`));

const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 8_000 });
manager.onCompaction(({ report }) => console.log(`${report.tokensBefore} -> ${report.tokensAfter} tokens`));
const agent = createAgent({
  model,
  tools: [],
  middleware: [compactMiddleware({ manager })],
  checkpointer: new MemorySaver(),
});

const config = { configurable: { thread_id: "demo" } };
let stored = 0;
for (let turn = 0; turn < turns; turn += 1) {
  const content = `Question ${turn}: ${"what does this line do? ".repeat(20)}`;
  const { messages } = await agent.invoke({ messages: [{ role: "user", content }] }, config);
  stored = messages.length;
}
await manager.flush();
console.log(
  `the state holds ${stored} messages, the last request had ${model.calls.at(-1)?.messages.length}`,
);
