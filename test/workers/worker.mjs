// One worker of a fleet on a session, run by the tests: reads `turn N` on standard input, takes the newest, and
// says what it does line by line: `up`, `summarizing`, `flush KEY MESSAGES`, `done N VERSION MESSAGES`, `overtaken N`.
// The one argument is JSON: kind, url, schema, root, session, leaseMs, summarizeMs, hook.
import { createInterface } from "node:readline";
import { builtinSummarizer, CompactManager } from "../../packages/compact-context/dist/index.js";
import { createFsDriver } from "../../packages/compact-context/dist/storage/fs/driver.js";
import { createPostgresDriver } from "../../packages/compact-context/dist/storage/postgres/driver.js";
import { conversation } from "./conversation.mjs";

const settings = JSON.parse(process.argv[2] ?? "{}");
const { kind, url, schema, root, session, leaseMs, summarizeMs = 0 } = settings;
const say = (...words) => process.stdout.write(`${words.join(" ")}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const storage =
  kind === "postgres"
    ? createPostgresDriver({ url, schema, leaseMs, connections: 2 })
    : createFsDriver({ root });

const manager = new CompactManager(
  { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } },
  {
    storage,
    summarizer: {
      name: "slow",
      async summarize(messages, options) {
        say("summarizing");
        await sleep(summarizeMs);
        return builtinSummarizer.summarize(messages, options);
      },
    },
    memoryFlushHook: async (messages, { idempotencyKey }) => {
      say(
        "flush",
        idempotencyKey,
        JSON.stringify(messages.map(({ parts }) => parts[0].text.slice(0, 24).trim())),
      );
      await sleep(20);
    },
    onWarning: (warning) => say("warning", warning),
  },
);

let newest = 0;
let running = false;
async function work() {
  if (running) return;
  running = true;
  for (let turn = 0; turn !== newest; ) {
    turn = newest;
    try {
      const { messages } = await manager.preflight(session, conversation(turn));
      say("done", turn, manager.getState(session).summaryVersion ?? 0, messages.length);
    } catch (error) {
      if (error.code !== "Conflict") throw error;
      say("overtaken", turn);
    }
  }
  running = false;
}

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  newest = Number(line.slice("turn ".length));
  void work();
});
input.on("close", async () => {
  await manager.recover();
  await manager.flush();
  await storage.close?.();
});
say("up");
