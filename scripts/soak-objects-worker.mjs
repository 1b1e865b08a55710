// Makes, uses and ends many of a kind and counts the objects that are alive after each stretch.
// Usage: node --expose-gc soak-objects-worker.mjs '{"kind", "warm", "measured", "folder"}'
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { createAgent, loadDefinitions } from "../packages/compact-context/dist/agent/index.js";
import { createScriptedModel } from "../packages/compact-context/dist/agent/scripted.js";
import { CompactManager, countText } from "../packages/compact-context/dist/index.js";
import { createChannelMemory, createRecallIndex } from "../packages/compact-context/dist/memory/index.js";

const { kind, warm, measured, folder } = JSON.parse(process.argv[2]);
const quiet = { onWarning: () => undefined };
const filler = "The job is long and goes on, step by step, as it always did. ";

/** Settings under which a few turns are compacted. */
const config = (root) => ({
  maxContextTokens: 4000,
  storage: { kind: "fs", root },
  policy: { hardCapBuffer: 500, keepRecentTurns: 2, maxToolResultTokens: 400 },
});

const turn = (number) => [
  { role: "user", content: `Step ${number}: ${filler.repeat(8)}` },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: `call_${number}`, type: "function", function: { name: "read", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: `call_${number}`, content: filler.repeat(10) },
  { role: "assistant", content: `Step ${number} is done. ${filler.repeat(4)}` },
];

/** Three checks of one growing list, the last of which compacts. */
async function playSession(manager, sessionId) {
  const list = [];
  let compacted = false;
  for (const turns of [4, 8, 14]) {
    while (list.length < 4 * turns) list.push(...turn(list.length / 4));
    // As a host that reads its list from storage each time: new objects that say the same.
    const { report } = await manager.preflight(sessionId, structuredClone(list));
    compacted = report.compacted;
  }
  if (!compacted) throw new Error("nothing was compacted");
}

const hangs = () => new Promise(() => undefined);

/** A summarizer that never answers, and a caller that gives up. */
async function giveUp(root) {
  const summarizer = { name: "hangs", summarize: hangs };
  const manager = new CompactManager(config(root), { ...quiet, summarizer });
  const list = Array.from({ length: 10 }, (_, number) => turn(number)).flat();
  const stop = new AbortController();
  const asked = manager.preflight("s", list, { signal: stop.signal });
  setImmediate(() => stop.abort());
  const refused = await asked.then(
    () => false,
    () => true,
  );
  if (!refused) throw new Error("it was not given up");
  await manager.flush();
}

function answer({ system, messages }, number) {
  if (system.startsWith("You check")) return { text: "No faults." };
  if (messages.at(-1).role === "tool") return { text: `Done. ${filler.repeat(8)}` };
  if (number % 3 === 0)
    return { calls: [{ name: "sub_agent", arguments: { agent: "checker", task: "Check." } }] };
  if (number % 3 === 1) return { calls: [{ name: "read" }] };
  return { calls: [{ name: "use_skill", arguments: { name: "release" } }] };
}

async function newAgent(channelDir, workspaceDir, extra = {}) {
  return createAgent({
    model: createScriptedModel(answer, { name: "scripted:objects", window: 4000 }),
    system: "You work on a long job.",
    tools: [
      { name: "read", description: "Reads.", schema: { type: "object" }, execute: () => filler.repeat(20) },
    ],
    config: config(join(channelDir, "archive")),
    managerPorts: quiet,
    memory: createChannelMemory({ workspaceDir, channelDir }),
    channelDir,
    workspaceDir,
    ...(await loadDefinitions(folder)),
    hookFunctions: { note: () => "Noted." },
    ...extra,
  });
}

async function playTurns(agent, turns) {
  let compactions = 0;
  for (let number = 0; number < turns; number += 1) {
    for await (const event of agent.send(`Go on with part ${number}. ${filler.repeat(16)}`)) {
      if (event.type === "compacted") compactions += 1;
      if (event.type === "error") throw new Error(event.diagnostic.message);
    }
  }
  return compactions;
}

/** A turn whose model never answers, interrupted. */
async function interrupt(agent) {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1);
  for await (const event of agent.send("Wait.", { signal: stop.signal }))
    if (event.type === "ended" && event.end !== "interrupted") throw new Error(`it ended ${event.end}`);
}

/** One stretch of each kind: makes the `index`th and is done with it. */
const kinds = {
  /** Managers with an archive of their own, each for a session. */
  async managers() {
    return async (index) => {
      const manager = new CompactManager(config(join(folder, `m${index}`)), quiet);
      const deaf = manager.onCompaction(() => undefined);
      await playSession(manager, "s");
      deaf();
      await manager.flush();
    };
  },
  /** Sessions of one manager that goes on; 256 of them stay in memory. */
  async sessions() {
    const manager = new CompactManager(config(join(folder, "archive")), quiet);
    return async (index) => {
      await playSession(manager, `s${index}`);
      await manager.flush();
    };
  },
  /** The same, each let go of when it has ended. */
  async "ended sessions"() {
    const manager = new CompactManager(config(join(folder, "archive")), quiet);
    return async (index) => {
      await playSession(manager, `s${index}`);
      await manager.release(`s${index}`);
    };
  },
  /** Managers whose compaction is given up while its summarizer hangs. */
  async "given up"() {
    return (index) => giveUp(join(folder, `g${index}`));
  },
  /** Agents with a channel of their own, its memory, a skill and sub-agents. */
  async agents() {
    return async (index) => {
      const channelDir = join(folder, `c${index}`);
      const agent = await newAgent(channelDir, channelDir);
      if ((await playTurns(agent, 7)) === 0) throw new Error("nothing was compacted");
      await agent.close();
    };
  },
  /** New sessions of one agent that goes on. */
  async "new sessions"() {
    const agent = await newAgent(join(folder, "channel"), folder);
    return async () => {
      await playTurns(agent, 2);
      await agent.startNew();
    };
  },
  /** Turns of one agent that are interrupted while the model hangs. */
  async interrupted() {
    const stream = async function* () {
      yield { type: "text", text: "Well, " };
      await hangs();
    };
    const model = { name: "scripted:hangs", window: 4000, stream };
    const agent = await newAgent(join(folder, "channel"), folder, { model });
    return async (index) => {
      await interrupt(agent);
      // The list begins anew now and then, so that it is as long at every count.
      if (index % 10 === 9) await agent.startNew();
    };
  },
  /** Texts of 100,000 characters, of which pieces are counted and words looked up. */
  async texts() {
    return async (index) => {
      const text = JSON.parse(JSON.stringify(`${index} ${"lorem ipsum ".repeat(8300)} longerword${index}`));
      countText(text.slice(0, 2000));
      createRecallIndex([{ id: "one", title: "", content: text }]).search("lorem");
    };
  },
};

function readsOrWrites() {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"));
}

/** An archive keeps folders open for a moment after the last work in them; one that stays open is counted. */
async function untilFoldersClose() {
  if (process.platform !== "linux") return;
  const isOurs = (fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  };
  for (let waits = 0; waits < 100 && readdirSync("/proc/self/fd").some(isOurs); waits += 1)
    await new Promise((done) => setTimeout(done, 50));
}

async function census() {
  await untilFoldersClose();
  // What is handed on in the background ends first: four rounds in a row with nothing to read or write.
  for (let quiet = 0; quiet < 4; quiet = readsOrWrites() ? 0 : quiet + 1) {
    await nextRound();
    globalThis.gc();
  }
  const count = (made) => queryObjects(made, { format: "count" });
  return {
    objects: count(Object),
    managers: count(CompactManager),
    files: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
    heap: process.memoryUsage().heapUsed,
  };
}

function definitions() {
  for (const name of ["skills", "sub-agents"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, "sub-agents", "checker.md"),
    "---\nname: checker\ndescription: Checks a part.\n---\nYou check parts.\n",
  );
  writeFileSync(
    join(folder, "skills", "release.md"),
    "---\nname: release\ndescription: Makes a release.\nhooks:\n  before_prompt: [note]\n---\nTag it.\n",
  );
}

definitions();
const stretch = await kinds[kind]();
let index = 0;
const play = async (times) => {
  for (const end = index + times; index < end; index += 1) await stretch(index);
};
await play(warm);
const before = await census();
await play(measured);
const after = await census();
process.send({ kind, warm, measured, before, after });
process.disconnect();
