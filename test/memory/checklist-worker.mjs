// One process of an agent in a channel: plays its steps, prints what its model was asked, and ends, or is killed.
// Usage: node checklist-worker.mjs '{"workspaceDir", "now", "steps": […]}'
import { join } from "node:path";
import { createAgent, loadDefinitions } from "../../packages/compact-context/dist/agent/index.js";
import { createScriptedModel } from "../../packages/compact-context/dist/agent/scripted.js";
import { createChannelMemory } from "../../packages/compact-context/dist/memory/index.js";

const { workspaceDir, now, steps } = JSON.parse(process.argv[2]);
const channelDir = join(workspaceDir, "team");
const clock = () => Date.parse(now);
const memory = createChannelMemory({ workspaceDir, channelDir, now: clock });
const said = { requests: [], sessions: [], lengths: [] };
let answers = [];

const model = createScriptedModel(({ system, messages }) => {
  said.requests.push({ system, messages });
  if (system.startsWith("You review")) return { text: "The review found nothing." };
  return answers.shift() ?? { text: "Done." };
});

const tools = ["read_file", "edit_file", "bash"].map((name) => ({
  name,
  description: `The tool ${name}.`,
  schema: { type: "object", properties: {} },
  async execute(args) {
    if (args.dies) {
      // Mid-task: the turn before is written down, this one is not over.
      await memory.settled();
      process.kill(process.pid, "SIGKILL");
    }
    return args.result ?? "ok";
  },
}));

// The first touch of the channel.
await memory.recall("");
const { subAgents } = await loadDefinitions(workspaceDir);
const agent = await createAgent({
  model,
  system: "You work on a parser.",
  tools,
  memory,
  channelDir,
  workspaceDir,
  subAgents,
  now: () => new Date(clock()),
  config: { storage: { kind: "fs", root: join(workspaceDir, ".archive") } },
  managerPorts: { onWarning: () => undefined },
});

for (const step of steps) {
  answers = step.answers ?? [];
  if (step.send !== undefined) for await (const _ of agent.send(step.send));
  // A person reads and types: what goes on beside the run has its time.
  await memory.settled();
  if (step.compact !== undefined) await agent.compact(step.compact);
  if (step.startNew) await agent.startNew();
  said.sessions.push(agent.sessionId);
  said.lengths.push(agent.messages.length);
}
await agent.close();
process.stdout.write(JSON.stringify(said));
