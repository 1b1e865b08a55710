// An agent of the OpenAI Agents SDK that talks for longer than its window is. Events go to standard error; the
// model is scripted, so that no key is needed.
import { Agent, MemorySession, Runner } from "@openai/agents";
import { assistantMessage, ScriptedModel } from "@openai/agents/testing";
import { CompactManager } from "compact-context";
import { compactInputFilter } from "compact-context/adapters/openai-agents";

const manager = new CompactManager({
  model: "gpt-4o",
  maxContextTokens: 8_000,
  tracing: { console: true },
});
const runner = new Runner({ callModelInputFilter: compactInputFilter({ manager, sessionId: "demo" }) });

const turns = 40;
const model = new ScriptedModel(
  Array.from({ length: turns }, (_, turn) => [assistantMessage(`Answer ${turn}. ${"It adds two. ".repeat(40)}`)]),
);
const agent = new Agent({ name: "reviewer", instructions: "You review code.", model });
const session = new MemorySession({ sessionId: "demo" });
for (let turn = 0; turn < turns; turn += 1) {
  await runner.run(agent, `Question ${turn}: ${"what does this line do? ".repeat(20)}`, { session });
}
await manager.flush();

const stored = await session.getItems();
const sent = model.calls.at(-1)?.request.input ?? [];
console.log(`the session holds ${stored.length} items, the last request had ${sent.length}`);
