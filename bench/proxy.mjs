// What `compact proxy` adds to a call while nothing is due, beside a proxy on the same server library that only passes
// on. Both are processes of their own before one local provider, and take turns call by call.
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { digits, number, table } from "./markdown.mjs";
import { clockTime, quantile } from "./measure.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SIZES = [10_000, 100_000, 500_000];
const CALLS = 100;
const WARM = 5;
/** Tokens of a turn: an ask and a short answer. */
const TURN_TOKENS = 400;
const ASK = "The parser reads one line after another and keeps what it has not understood. ".repeat(26);
const OURS = "compact proxy";
/** Gives what a process holds after a collection of garbage, whenever it is asked. */
const TELLS_MEMORY = `process.on("message", () => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  process.send({ megabytes: (heapUsed + external) / 1e6 });
});`;

if (process.argv[2] === "plain") await servePlain(process.argv[3]);

async function servePlain(upstream) {
  const { serve } = await import("@hono/node-server");
  const { Hono } = await import("hono");
  const { proxy } = await import("hono/proxy");
  const app = new Hono();
  app.all("*", async (context) => {
    const { pathname } = new URL(context.req.url);
    const headers = new Headers(context.req.raw.headers);
    for (const name of ["host", "content-length", "connection"]) headers.delete(name);
    const body = await context.req.raw.arrayBuffer();
    return proxy(`${upstream}${pathname}`, { method: context.req.method, headers, body });
  });
  serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
    console.log(`http://127.0.0.1:${port}`),
  );
}

/** A conversation that has grown by one turn with each call. */
function bodyOf(tokens, call) {
  const turns = Math.floor(tokens / TURN_TOKENS) + call;
  const messages = Array.from({ length: turns * 2 + 1 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index}: ${index % 2 === 0 ? ASK : "Noted."}`,
  }));
  return JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages });
}

async function startProvider() {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end('{"type":"message","content":[],"usage":{"input_tokens":10,"output_tokens":1}}');
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A process that prints its address. */
function start(script, words, cwd) {
  const child = fork(script, words, {
    cwd,
    execArgv: ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(TELLS_MEMORY)}`],
    stdio: ["ignore", "pipe", "ignore", "ipc"],
  });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
      if (url !== undefined) resolve({ child, url });
    });
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}

function held({ child }) {
  return new Promise((resolve) => {
    child.once("message", ({ megabytes }) => resolve(megabytes));
    child.send("memory");
  });
}

async function timeOf({ url }, body) {
  const { ms, value } = await clockTime(async () => {
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "test" },
      body,
    });
    await response.text();
    return response.status;
  });
  if (value !== 200) throw new Error(`${url} answered ${value}`);
  return ms;
}

/** The figures of both at one size. */
async function measure(tokens, calls, { provider, folder }) {
  const own = ["proxy", "--port", "0", "--upstream", provider.url, "--window", "4m", "--archive", folder];
  const proxies = [
    { name: "plain proxy", ...(await start(here("proxy.mjs"), ["plain", provider.url], folder)) },
    {
      name: OURS,
      ...(await start(here("../packages/compact-context-cli/bin/compact.js"), own, folder)),
    },
  ];
  const times = new Map(proxies.map(({ name }) => [name, { first: 0, calls: [] }]));
  for (let call = 0; call < calls + WARM; call += 1) {
    // Small calls warm up, of another session; the first large one finds a list that nobody has counted.
    const body = call < WARM ? bodyOf(1, call) : bodyOf(tokens, call);
    for (const proxy of call % 2 === 0 ? proxies : proxies.toReversed()) {
      const ms = await timeOf(proxy, call < WARM ? body.replaceAll("parser", "reader") : body);
      const of = times.get(proxy.name);
      if (call === WARM) of.first = ms;
      else if (call > WARM) of.calls.push(ms);
    }
  }
  const rows = [];
  for (const proxy of proxies) {
    const { first, calls: samples } = times.get(proxy.name);
    const [p50, p99] = [0.5, 0.99].map((share) => quantile(samples, share));
    rows.push({
      name: proxy.name,
      tokens,
      bytes: bodyOf(tokens, 0).length,
      p50,
      p99,
      first,
      megabytes: await held(proxy),
    });
    proxy.child.kill("SIGKILL");
  }
  return rows;
}

async function run({ quick }) {
  const provider = await startProvider();
  const folder = mkdtempSync(join(tmpdir(), "compact-proxy-bench-"));
  const rows = [];
  try {
    for (const tokens of quick ? SIZES.slice(0, 1) : SIZES)
      rows.push(...(await measure(tokens, quick ? 5 : CALLS, { provider, folder })));
  } finally {
    provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return { rows };
}

/** Milliseconds that ours takes longer at the median, by size. */
function added({ rows }) {
  return rows
    .filter(({ name }) => name === OURS)
    .map((own) => ({
      ...own,
      more: own.p50 - rows.find((row) => row.name !== OURS && row.tokens === own.tokens).p50,
    }));
}

export const bench = {
  title: "What the proxy adds to a call",
  run,
  headline(figures) {
    const all = added(figures).map(({ tokens, more }) => `${digits(more)} ms at ${number(tokens)}`);
    return `${all.join(", ")} tokens, beside a proxy that only passes on`;
  },
  section: ({ rows }) =>
    [
      `A conversation that grows by a turn with each call goes to a local provider through \`compact proxy\`, and through a proxy on
the same server library that only passes on. Nothing is due, and all is done that is done then: the body is read, the list
is recognised, the new turn is counted, the usage in the answer is read. Milliseconds of the clock from the request to the end of
its answer. "First" is the first call of a session whose list nobody has counted. "Held" is heap and buffers after a collection of
garbage, with one session of that size in memory.`,
      table(
        ["tokens", "body, MB", "", "p50", "p99", "first", "held, MB"],
        rows.map(({ name, tokens, bytes, p50, p99, first, megabytes }) => [
          number(tokens),
          digits(bytes / 1e6),
          name === OURS ? `**${name}**` : name,
          ...[p50, p99, first, megabytes].map(digits),
        ]),
      ),
    ].join("\n\n"),
};
