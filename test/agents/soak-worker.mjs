// Plays turns of a scripted session in a channel folder until its last turn, or until it is killed; what happened goes
// to the parent. Usage: node --expose-gc soak-worker.mjs '{"folder", "from", "to", "turns", "window", "dieAt"}'
import { join } from "node:path";
import { createAgent, loadDefinitions } from "../../packages/compact-context/dist/agent/index.js";
import { createScriptedModel } from "../../packages/compact-context/dist/agent/scripted.js";
import { decode, encode, lint } from "../../packages/compact-context/dist/index.js";
import { createChannelMemory } from "../../packages/compact-context/dist/memory/index.js";
import { factsOf, MODEL, turnOf } from "./soak-script.mjs";

const { folder, from, to, turns, window, dieAt } = JSON.parse(process.argv[2]);
const sums = {
  requests: 0,
  compactions: 0,
  compactingMs: 0,
  modelMs: 0,
  harnessMs: 0,
  subAgents: 0,
  hooks: 0,
};
const violations = [];
const heap = {};

/** Time that belongs to the test and not to what it tests. */
function aside(work) {
  const began = performance.now();
  try {
    return work();
  } finally {
    sums.harnessMs += performance.now() - began;
  }
}

function check(messages) {
  const neutral = decode(messages, "ai-sdk");
  for (const format of ["ai-sdk", "anthropic", "openai-chat"]) {
    const list = format === "ai-sdk" ? messages : encode(neutral, format);
    for (const { severity, rule, index } of lint(list, format))
      if (severity === "error") violations.push(`${format}: ${rule} at ${index}`);
  }
}

let now = from;
let asked = [];
const found = [];
const model = createScriptedModel(
  (request) => {
    const said = aside(() => {
      check(request.messages);
      sums.requests += 1;
      return turnOf({ request, turn: now, asked, found });
    });
    if (now === dieAt && said.calls === undefined) {
      process.send({ dying: now });
      return new Promise(() => undefined);
    }
    const characters = JSON.stringify(request.messages).length + request.system.length;
    const written = (said.text?.length ?? 0) / 4 + 40 * (said.calls?.length ?? 0);
    sums.modelMs += 1000 * (MODEL.first + characters / 4 / MODEL.reads + written / MODEL.writes);
    return said;
  },
  { name: "scripted:soak", window, idPrefix: `call_${from}`, pieceLength: 200 },
);

const channelDir = join(folder, "channel");
const definitions = await loadDefinitions(folder);
const tool = (name, execute) => ({ name, description: `Does ${name}.`, schema: { type: "object" }, execute });
const facts = factsOf(turns);
const started = performance.now();
const cpuBefore = process.cpuUsage();
const agent = await createAgent({
  model,
  system: "You work on a long job.",
  tools: [
    tool("read", () => aside(() => readText(now))),
    tool("write", () => "written"),
    tool("fail", () => {
      throw new Error("exit code 2");
    }),
  ],
  config: {
    // A busy machine is no storage that fails.
    storage: { kind: "fs", root: join(folder, "archive"), timeoutMs: 60_000 },
    policy: { hardCapBuffer: 1000, maxToolResultTokens: 1500 },
  },
  memory: createChannelMemory({ workspaceDir: folder, channelDir }),
  channelDir,
  workspaceDir: folder,
  ...definitions,
  hookFunctions: {
    note: () => {
      sums.hooks += 1;
      return `Hook at turn ${now}.`;
    },
  },
});

function readText(turn) {
  const lines = Array.from(
    { length: 60 },
    (_, line) => `${turn}.${line} built target part${(turn * line) % 97}`,
  );
  const fact = facts.find((one) => one.turn === turn && one.by === "tool");
  if (fact !== undefined) lines[30] = fact.text;
  return lines.join("\n");
}

async function play(text) {
  let end;
  for await (const event of agent.send(text)) {
    if (event.type === "compacted" && event.report.reason !== "tool_output") {
      sums.compactions += 1;
      sums.compactingMs += event.report.elapsedMs;
    }
    if (event.type === "subAgentEnded") sums.subAgents += 1;
    if (event.type === "error") violations.push(`turn ${now}: ${event.diagnostic.message}`);
    if (event.type === "ended") end = event.end;
  }
  if (end !== "answered") violations.push(`turn ${now} ended ${end}`);
}

function measureHeap() {
  globalThis.gc();
  globalThis.gc();
  heap[now] = process.memoryUsage().heapUsed;
}

for (; now <= to; now += 1) {
  const fact = facts.find((one) => one.turn === now && one.by === "user");
  if (now === Math.round(turns / 2)) await agent.startNew();
  await play(
    `Turn ${now}: go on with part${now % 40}. ${fact?.text ?? ""}\n${"The job is long and goes on. ".repeat(6)}`,
  );
  if (now % Math.round(turns / 10) === 0 || now === turns) aside(measureHeap);
}
if (to === turns) await reach();
await agent.close();
const wallMs = performance.now() - started;
const { user, system } = process.cpuUsage(cpuBefore);
process.send({
  sums: { ...sums, wallMs, cpuMs: (user + system) / 1000 },
  violations,
  heap,
  found,
  facts: facts.length,
});
process.disconnect();

/** Every fact: in the context, by a search of the model, or in the memory. */
async function reach() {
  const seen = JSON.stringify(agent.messages);
  const missing = [];
  for (const fact of facts) {
    if (seen.includes(fact.code)) found.push("context");
    else missing.push(fact);
  }
  for (let start = 0; start < missing.length; start += 25) {
    asked = missing.slice(start, start + 25);
    const before = found.length;
    await play("Search for these.");
    if (found.length - before === asked.length) continue;
    const lost = asked.filter(({ found: was }) => was !== true);
    for (const fact of lost) {
      const view = await agent.memory(fact.question);
      if (view.found.some(({ content }) => content.includes(fact.code))) found.push("memory");
      else violations.push(`lost: ${fact.text}`);
    }
  }
}
