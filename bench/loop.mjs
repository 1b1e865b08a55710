// What keeping a long session inside its window adds to an agent's loop, by the number of its model calls: a call after
// each ask and after each result, from the first message on, with all compactions in between. Processor time of everything
// that happens up to the call and beside it; the model itself is left out.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager, countTokens, decode, encode } from "../packages/compact-context/dist/index.js";
import { createFsDriver } from "../packages/compact-context/dist/storage/fs/driver.js";
import { createMemoryDriver } from "../packages/compact-context/dist/storage/memory/driver.js";
import { createCurve, curvePicture, curveTable } from "./curve.mjs";
import { digits, number, table } from "./markdown.mjs";
import { quantile, spread } from "./measure.mjs";
import { loadPeers } from "./peers.mjs";
import { turns } from "./sessions.mjs";

const WINDOW = 64_000;
const CALLS = [100, 300, 1_000, 3_000];
const ROUNDS = 2;
const OURS = "manager, in memory";

/** New messages before each call: an ask (with the answer before), or a call with its result. */
function arrivals(count) {
  const list = [];
  let answer = [];
  for (const [ask, call, result, said] of turns(4)) {
    if (list.length >= count) return list.slice(0, count);
    list.push([...answer, ask], [call, result]);
    answer = [said];
  }
  return list;
}

/** A session of a manager. */
function managed(storage, close = () => undefined) {
  const manager = new CompactManager({ maxContextTokens: WINDOW }, { storage, onWarning: () => undefined });
  const list = [];
  return {
    async call(arrived) {
      list.push(...arrived);
      const { messages, report } = await manager.preflight("session", list);
      return { messages, rewritten: report.compacted };
    },
    async end() {
      await manager.flush();
      close();
    },
  };
}

function onDisk() {
  const root = mkdtempSync(join(tmpdir(), "compact-bench-"));
  return managed(createFsDriver({ root }), () => rmSync(root, { recursive: true }));
}

/** The graph keeps what the middleware leaves. */
function summarized(langchain) {
  const before = langchain.summarization({
    trigger: { tokens: WINDOW * 0.9 },
    keep: { tokens: WINDOW / 2 },
  });
  let list = [];
  return {
    async call(arrived) {
      const whole = [...list, ...arrived];
      list = await before(whole);
      return { messages: list, rewritten: list !== whole };
    },
    end: async () => undefined,
  };
}

/** The loop keeps everything, every step is given what is left of it. */
function pruned({ pruneMessages }) {
  const list = [];
  return {
    async call(arrived) {
      list.push(...arrived);
      return { messages: pruneMessages({ messages: list, toolCalls: "before-last-40-messages" }) };
    },
    end: async () => undefined,
  };
}

/** Nothing is done but what every loop does: the newest part of the list becomes the body of a request. */
function bare() {
  const list = [];
  let tokens = 0;
  return {
    async call(arrived) {
      list.push(...arrived);
      for (const message of arrived) tokens += message.content.length / 3;
      while (tokens > WINDOW * 0.75) tokens -= list.shift().content.length / 3;
      return { messages: list, body: JSON.stringify(list) };
    },
    end: async () => undefined,
  };
}

async function contestants() {
  const { langchain, ai } = await loadPeers();
  const native = (format) => (arrived) => encode(decode(arrived, "openai-chat"), format);
  return [
    { name: OURS, open: () => managed(createMemoryDriver()) },
    { name: "manager, on disk", own: true, open: onDisk },
    { name: "JSON.stringify of 48,000 tokens", own: true, open: bare },
    ...(langchain === undefined
      ? []
      : [
          {
            name: "LangChain summarizationMiddleware",
            open: () => summarized(langchain),
            ready: langchain.instances,
          },
        ]),
    ...(ai === undefined
      ? []
      : [{ name: "AI SDK pruneMessages", open: () => pruned(ai), ready: native("ai-sdk") }]),
  ];
}

/** Plays one session; milliseconds of the processor per call up to each checkpoint, and of the clock of each call. */
async function play({ open, ready = (list) => list }, given, checkpoints) {
  const arrived = given.map(ready);
  const session = open();
  const times = [];
  const means = [];
  let rewrites = 0;
  globalThis.gc();
  const before = process.cpuUsage();
  for (const [index, messages] of arrived.entries()) {
    const started = performance.now();
    const { rewritten } = await session.call(messages);
    times.push(performance.now() - started);
    if (rewritten) rewrites += 1;
    // The model is called here; what is left to do beside the call is done.
    await new Promise((resolve) => setImmediate(resolve));
    if (!checkpoints.includes(index + 1)) continue;
    const { user, system } = process.cpuUsage(before);
    means.push((user + system) / 1000 / (index + 1));
  }
  await session.end();
  return { means, times, rewrites };
}

async function run({ quick }) {
  const sizes = quick ? [20, 40] : CALLS;
  const given = arrivals(sizes.at(-1));
  const list = await contestants();
  const { put, curve } = createCurve({ by: "model calls", unit: "ms a call", more: false, sizes });
  const clocks = [];
  for (const contestant of list) {
    const { name, own } = contestant;
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS + 1); round += 1) {
      // The first round warms up.
      const played = await play(
        contestant,
        round === 0 && !quick ? given.slice(0, sizes.at(-2)) : given,
        sizes,
      );
      if (round > 0 || quick) rounds.push(played);
    }
    for (const [index] of sizes.entries()) {
      const means = rounds.map(({ means: one }) => one[index]).filter((mean) => mean !== undefined);
      if (means.length > 0) put(name, index, spread(means), { own });
    }
    const times = rounds.flatMap(({ times: one }) => one);
    const shares = [0.5, 0.95, 0.99].map((share) => quantile(times, share));
    clocks.push({ name, shares, rewrites: rounds[0].rewrites });
  }
  return { window: WINDOW, tokens: countTokens(given.flat()).tokens, curve: curve(), clocks };
}

export const bench = {
  title: "What it adds to an agent's loop",
  run,
  headline({ curve }) {
    const last = curve.series[0].points.at(-1);
    return `${digits(last.median)} ms of the processor a call over ${number(curve.sizes.at(-1))} calls, all compactions included`;
  },
  section: ({ window, tokens, curve, clocks }) =>
    [
      `A session of ${number(curve.sizes.at(-1))} model calls and ${number(tokens)} tokens runs through a window of ${number(window)}. Everything is counted that happens
before and beside a call: the check, every compaction with its summary, redaction and archive. Mean of all calls so far.`,
      curveTable(curve),
      "The longest session by the clock, in ms; rewrites are calls that changed what stood before them:",
      table(
        ["", "p50", "p95", "p99", "rewrites"],
        clocks.map(({ name, shares, rewrites }) => [name, ...shares.map(digits), number(rewrites)]),
      ),
      "![Time that a call needs beside the model, by the length of the session](benchmarks/loop.svg)",
      `\`JSON.stringify\` of a list that is simply cut to 48,000 tokens is what a loop pays anyway for its request. LangChain's
middleware estimates tokens, its scripted model answers at once, and it archives nothing; \`pruneMessages\` takes out tool calls
before the last 40 messages at every call and knows no size.`,
    ].join("\n\n"),
  pictures: ({ curve }) => ({ loop: curvePicture(curve, "What a call needs beside the model") }),
};
