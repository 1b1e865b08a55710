// Opens a channel's memory when it is told to, takes in what waits there, and tells what it did.
// Usage: node pending-worker.mjs WORKSPACE CHANNEL
import { setTimeout as sleep } from "node:timers/promises";
import { createChannelMemory } from "../../packages/compact-context/dist/memory/index.js";

const [workspaceDir, channelDir] = process.argv.slice(2);
const tasks = [];
// Slow, and of no use: the program's own notes are written.
const model = {
  name: "slow",
  async generate() {
    await sleep(300);
    return { text: "", stop: "end" };
  },
};
const memory = createChannelMemory({
  workspaceDir,
  channelDir,
  model,
  onTask: ({ name, outcome }) => tasks.push(`${name} ${outcome}`),
});
process.once("message", async () => {
  await memory.recall("anything");
  process.send({ began: true });
  await memory.settled();
  process.send({ tasks });
  process.disconnect();
});
process.send({ ready: true });
