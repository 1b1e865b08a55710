// An agent with tools, a sub-agent, a skill and a memory, kept in a folder of its own. Its model is a script: needs no key.
// With one: `modelFromAiSdk(openai("gpt-5.4-mini"))` from `compact-context/adapters/ai-sdk` in its place.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentModel, type AgentTool, createAgent } from "compact-context/agents";
import { createChannelMemory } from "compact-context/memory";

const workspaceDir = await mkdtemp(join(tmpdir(), "agent-"));
const channelDir = join(workspaceDir, "harbour");

const depths: AgentTool = {
  name: "depths",
  description: "Reads the sounding of a quay.",
  schema: { type: "object", properties: { quay: { type: "number" } }, required: ["quay"] },
  execute: (args) => {
    const { quay } = args as { quay: number };
    return `quay ${quay}: ${5 + (quay % 7)} m\n${"tide book, page of the second clerk. ".repeat(60)}`;
  },
};

let quay = 0;
const model: AgentModel = {
  name: "scripted:surveyor",
  async *stream({ system, messages }) {
    const checks = system.startsWith("You check");
    if (checks || messages.at(-1)?.role === "tool") {
      yield { type: "text", text: checks ? "Checked: the figures hold." : `Noted quay ${quay}.` };
      yield { type: "end", stop: "end" };
      return;
    }
    quay += 1;
    const name = quay % 10 === 0 ? "sub_agent" : "depths";
    const args = name === "depths" ? { quay } : { agent: "checker", task: `Check quay ${quay}.` };
    yield { type: "toolCall", id: `call_${quay}`, name, arguments: args };
    yield { type: "end", stop: "tools" };
  },
};

const agent = await createAgent({
  model,
  system: "You survey quays.",
  tools: [depths],
  config: { maxContextTokens: 8_000, storage: { root: join(workspaceDir, "archive") } },
  memory: createChannelMemory({ workspaceDir, channelDir }),
  channelDir,
  workspaceDir,
  subAgents: [
    {
      name: "checker",
      description: "Checks figures.",
      prompt: "You check figures.",
      contextMode: "isolated",
      memory: "none",
      limits: { requests: 5 },
      place: "examples/agent.ts",
    },
  ],
});

for (let turn = 1; turn <= 24; turn += 1) {
  for await (const event of agent.send(`Survey the next quay, please. This is request ${turn}.`)) {
    if (event.type === "compacted") console.log(event.kept);
    if (event.type === "subAgentEnded") console.log(`the sub-agent ${event.name} ${event.end}`);
  }
}
const { tokens, window, compactions, untilTrigger } = agent.context();
console.log(`${tokens} of ${window} tokens, ${compactions} compactions, ${untilTrigger} tokens to the next`);
const { sessionId, previous } = await agent.startNew();
console.log(
  sessionId === previous ? "the same session" : "a new session; what the old one knew is within reach",
);
await agent.close();
await rm(workspaceDir, { recursive: true });
