// How many sessions a fleet of workers gets through on one Postgres: 1,000 sessions over eight processes, beside one.
// `node scripts/workers.mjs` starts a Postgres of its own and prints the table; `--write` puts it into
// docs/workers.md. `--sessions N` plays fewer. Needs dist/ (npm run build) and the server's binaries.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "1000" },
    write: { type: "boolean", default: false },
    // Set by the script for its own workers.
    worker: { type: "string" },
  },
});

const TURNS = 8;
const AT_ONCE = 4;

/** One turn is a user message and an answer of about 550 tokens together. */
function conversation(turns) {
  return Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `question ${turn} ${"word ".repeat(260)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(260)}` },
  ]).flat();
}

/** Plays the sessions whose numbers come in on standard input, some at once; says `done` after each. */
async function work({ url, schema, modelMs }) {
  const { builtinSummarizer, CompactManager } = await import("../packages/compact-context/dist/index.js");
  const { createPostgresDriver } = await import(
    "../packages/compact-context/dist/storage/postgres/driver.js"
  );
  const storage = createPostgresDriver({ url, schema, connections: 4 });
  const manager = new CompactManager(
    { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } },
    {
      storage,
      memoryFlushHook: () => {},
      summarizer: {
        name: "timed",
        async summarize(messages, options) {
          if (modelMs > 0) await new Promise((done) => setTimeout(done, modelMs));
          return builtinSummarizer.summarize(messages, options);
        },
      },
    },
  );
  const play = async (session) => {
    for (let turn = 1; turn <= TURNS; turn++)
      await manager.preflight(`session-${session}`, conversation(turn));
    console.log(`done ${manager.getState(`session-${session}`).summaryCount}`);
  };
  const playing = new Set();
  console.log("up");
  for await (const line of createInterface({ input: process.stdin })) {
    const run = play(line).then(() => playing.delete(run));
    playing.add(run);
  }
  await Promise.all(playing);
  await manager.flush();
  await storage.close();
}

/** Seconds that `count` workers need for the sessions, handed out as they become free. */
async function fleet(settings, { count, sessions }) {
  const starting = Array.from({ length: count }, async () => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(import.meta.url), "--worker", JSON.stringify(settings)],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    return { child, lines };
  });
  const workers = await Promise.all(starting);
  let [next, summaries] = [0, 0];
  const begun = performance.now();
  const lead = async ({ child, lines }) => {
    const give = () => {
      if (next >= sessions) return false;
      child.stdin.write(`${next++}\n`);
      return true;
    };
    let open = 0;
    while (open < AT_ONCE && give()) open += 1;
    while (open > 0) {
      const { value } = await lines.next();
      if (value === undefined) throw new Error("a worker died");
      summaries += Number(value.split(" ")[1]);
      if (!give()) open -= 1;
    }
  };
  await Promise.all(workers.map(lead));
  const seconds = (performance.now() - begun) / 1000;
  const ends = workers.map(({ child }) => new Promise((done) => child.once("exit", done)));
  for (const { child } of workers) child.stdin.end();
  await Promise.all(ends);
  return { seconds, summaries };
}

async function main() {
  const sessions = Number(values.sessions);
  const server = spawn(process.execPath, [`${root}test/postgres/start.mjs`, "--durable"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const first = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
  if (first.done) process.exit(3);
  const rows = [];
  for (const modelMs of [0, 500]) {
    for (const count of [1, 8]) {
      const schema = `fleet_${modelMs}_${count}`;
      const run = await fleet({ url: first.value, schema, modelMs }, { count, sessions });
      rows.push({ modelMs, count, ...run, rate: sessions / run.seconds });
      console.error(`${modelMs} ms, ${count} workers: ${run.seconds.toFixed(1)} s`);
    }
  }
  server.stdin.end();
  const text = table(rows, sessions);
  console.log(text);
  if (!values.write) return;
  const path = `${root}docs/workers.md`;
  const [head, rest] = readFileSync(path, "utf8").split("<!-- figures -->");
  const [, tail] = rest.split("<!-- /figures -->");
  writeFileSync(path, `${head}<!-- figures -->\n\n${text}\n\n<!-- /figures -->${tail}`);
}

function table(rows, sessions) {
  const lines = rows.map(({ modelMs, count, seconds, rate, summaries }) => {
    const alone = rows.find((row) => row.modelMs === modelMs && row.count === 1);
    const ratio = (rate / alone.rate).toFixed(1);
    return `| ${modelMs === 0 ? "built in" : `${modelMs} ms`} | ${count} | ${summaries} | ${seconds.toFixed(1)} | ${rate.toFixed(0)} | ${ratio} |`;
  });
  return [
    `${sessions} sessions of ${TURNS} turns, one call before each turn, ${AT_ONCE} sessions at once in a worker; ${cpus().length} cores for workers and server together, Node ${process.versions.node}, fsync on.`,
    "",
    "| summary takes | workers | summaries | seconds | sessions/s | beside one worker |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

if (values.worker === undefined) await main();
else await work(JSON.parse(values.worker));
