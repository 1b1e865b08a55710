// Opens a channel's agent, plays one turn, and stays until it is killed. Usage: node one-writer-worker.mjs CHANNEL
import { createAgent } from "../../packages/compact-context/dist/agent/index.js";
import { createScriptedModel } from "../../packages/compact-context/dist/agent/scripted.js";

const agent = await createAgent({
  model: createScriptedModel(() => ({ text: "Said by the worker." })),
  channelDir: process.argv[2],
  config: { storage: { kind: "memory" } },
});
for await (const _ of agent.send("hello"));
process.send({ opened: true });
setInterval(() => undefined, 60_000);
