// What `compact proxy` adds to a call below the trigger, beside a proxy on the same server library that only passes on.
// Both run as processes of their own, in turn, before one local provider: `node bench/proxy.mjs` after `npm run build`.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

const SIZES = [10_000, 100_000, 500_000];
const CALLS = 40;
/** About 400 tokens. */
const TURN = "The parser reads one line after another and keeps what it has not understood. ".repeat(26);

if (process.argv[2] === "plain") await servePlain(process.argv[3]);
else await measure();

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

async function measure() {
  const provider = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end('{"type":"message","content":[],"usage":{"input_tokens":10,"output_tokens":1}}');
    });
  });
  await new Promise((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const upstream = `http://127.0.0.1:${provider.address().port}`;
  const folder = mkdtempSync(join(tmpdir(), "compact-proxy-bench-"));
  const bin = fileURLToPath(new URL("../packages/compact-context-cli/bin/compact.js", import.meta.url));
  const own = ["proxy", "--port", "0", "--upstream", upstream, "--window", "4m", "--archive", folder];
  const rows = [];
  for (const tokens of SIZES) {
    const plain = await start([fileURLToPath(import.meta.url), "plain", upstream], folder);
    const compact = await start([bin, ...own], folder);
    const times = { plain: [], compact: [] };
    for (let call = 0; call < CALLS + 5; call += 1) {
      const body = bodyOf(tokens, call);
      for (const [name, { url }] of [
        ["plain", plain],
        ["compact", compact],
      ]) {
        const began = performance.now();
        const response = await fetch(`${url}/v1/messages`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": "test" },
          body,
        });
        await response.text();
        if (response.status !== 200) throw new Error(`${name} answered ${response.status}`);
        // The first calls load code.
        if (call >= 5) times[name].push(performance.now() - began);
      }
    }
    rows.push({ tokens, plain: figures(times.plain, plain), compact: figures(times.compact, compact) });
    plain.child.kill();
    compact.child.kill();
  }
  provider.close();
  rmSync(folder, { recursive: true, force: true });
  console.log(
    "| tokens | plain p50 / p99 ms | compact p50 / p99 ms | more at p50, ms | plain RSS MB | compact RSS MB |",
  );
  console.log("| --- | --- | --- | --- | --- | --- |");
  for (const { tokens, plain, compact } of rows) {
    const more = (compact.p50 - plain.p50).toFixed(1);
    console.log(
      `| ${tokens} | ${shown(plain)} | ${shown(compact)} | ${more} | ${plain.megabytes} | ${compact.megabytes} |`,
    );
  }
}

function shown({ p50, p99 }) {
  return `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
}

/** A conversation of a size that grows by one turn a call. */
function bodyOf(tokens, call) {
  const turns = Math.floor(tokens / 400) + call;
  const messages = Array.from({ length: turns * 2 + 1 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index}: ${index % 2 === 0 ? TURN : "Noted."}`,
  }));
  return JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages });
}

function figures(times, { child }) {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const held = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
  return { p50: at(0.5), p99: at(0.99), megabytes: Math.round(Number(held) / 1024) };
}

/** A process that prints its address. */
function start(words, cwd) {
  const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
      if (url !== undefined) resolve({ child, url });
    });
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  });
}
