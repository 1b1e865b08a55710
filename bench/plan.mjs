// Planning a compaction to a quarter, and the whole of it, by the size of the session. No model is asked: ours writes its
// built-in summary, the scripted model of the others answers at once. Others estimate tokens as they do by themselves.

import { CompactManager } from "../packages/compact-context/dist/create-manager.js";
import { countTokens, decode, encode, planCompaction } from "../packages/compact-context/dist/index.js";
import { createMemoryDriver } from "../packages/compact-context/dist/storage/memory/driver.js";
import { createCurve, curvePicture, curveTable } from "./curve.mjs";
import { digits, number } from "./markdown.mjs";
import { processorTimeOf, spread } from "./measure.mjs";
import { loadPeers, ours, shorteners } from "./peers.mjs";
import { session } from "./sessions.mjs";

const SIZES = [10_000, 40_000, 160_000, 640_000];
/** A contestant that took longer is not asked for larger sessions. */
const PATIENCE_MS = 15_000;
const PEERS = /keep half|trimMessages, as its guide|pruneMessages, all|^pi /;
const SHARE = 4;
const roundsOf = (size) => (size > 3e5 ? 3 : 5);

/** What the others count with: LangChain's own estimate, four characters a token elsewhere. */
async function estimates() {
  const { langchain } = await loadPeers();
  const quarter = (list) => Math.floor(JSON.stringify(list).length / 4);
  return (format) => (format === "langchain" ? langchain.countTokensApproximately : quarter);
}

async function withManager(list, aim) {
  const manager = new CompactManager(
    { maxContextTokens: aim * SHARE * 2 },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );
  await manager.preflight("session", list);
  return () => manager.manualCompact("session", list, { targetTokens: aim });
}

/** { name, own, prepare(list, aim) → what is measured }; the first two lead their curves. */
async function contestants() {
  const { get_encoding: encodingOf } = await import("tiktoken");
  const tiktoken = encodingOf("o200k_base");
  const all = await shorteners({ tokens: await estimates() });
  const compact = all.find(({ name }) => name === "Compact") ?? ours("openai-chat");
  const peers = all.filter(({ name }) => PEERS.test(name));
  const short = (name) => name.replace(/, keep half of the aim|, as its guide has it|, all tool calls/, "");
  return {
    plan: [
      { name: "planCompaction", prepare: (list, aim) => () => planCompaction(list, { maxTokens: aim }) },
      { name: "countTokens alone", own: true, prepare: (list) => () => countTokens(list) },
      {
        name: "tiktoken, counting alone",
        prepare: (list) => () => {
          for (const { content, tool_calls: calls } of list)
            tiktoken.encode_ordinary(`${content}${calls === undefined ? "" : JSON.stringify(calls)}`);
        },
      },
    ],
    whole: [
      { name: "compact()", prepare: (list, aim) => () => compact.run(list, aim) },
      { name: "in a manager: counted before, redacted, archived", own: true, prepare: withManager },
      ...peers.map(({ name, format, ready, run: shorten }) => ({
        name: short(name),
        prepare: (list, aim) => {
          const native = ready(encode(decode(list, "openai-chat"), format));
          return () => shorten(native, aim);
        },
      })),
    ],
  };
}

async function measure(curve, list, { quick, sizes }) {
  const left = new Set(list.map(({ name }) => name));
  for (const [index, size] of sizes.entries()) {
    const rounds = quick ? 1 : roundsOf(size);
    for (const { name, own, prepare } of list) {
      const times = [];
      for (let round = 0; round < rounds && left.has(name); round += 1) {
        const work = await prepare(session(size, 10 + round), Math.floor(size / SHARE));
        globalThis.gc();
        const { ms } = await processorTimeOf(work);
        times.push(ms);
        if (ms > PATIENCE_MS) left.delete(name);
      }
      if (times.length > 0) curve.put(name, index, spread(times), { own });
    }
  }
  return curve.curve();
}

async function run({ quick }) {
  const sizes = quick ? [10_000, 20_000] : SIZES;
  const { plan, whole } = await contestants();
  // What was compiled for the first list serves the others.
  for (const { prepare } of [...plan, ...whole])
    for (let round = 0; round < (quick ? 1 : 4); round += 1)
      await (await prepare(session(sizes[0], 100 + round), sizes[0] / SHARE))();
  const shape = { by: "tokens", unit: "ms", more: false, sizes };
  const options = { quick, sizes };
  return {
    plan: await measure(createCurve(shape), plan, options),
    whole: await measure(createCurve(shape), whole, options),
  };
}

export const bench = {
  title: "Planning a compaction, and the whole of it",
  run,
  headline({ plan, whole }) {
    const at = plan.sizes.findLastIndex((size) => size <= 200_000);
    const of = ({ series: [{ points }] }) => digits(points[at].median);
    return `${number(plan.sizes[at])} tokens to a quarter: planned in ${of(plan)} ms, compacted in ${of(whole)} ms, counting from nothing included`;
  },
  section: ({ plan, whole }) =>
    [
      `A session in OpenAI's chat format is cut to a quarter. \`planCompaction\` decides, \`compact()\` decides, edits and writes the
built-in summary; both begin by counting texts that they have not seen. No model is asked by anybody.`,
      curveTable(plan),
      curveTable(whole),
      "![Time of a compaction by the size of the session](benchmarks/plan.svg)",
      `The others do less: they count by estimate, write no summary of their own (a scripted model answers at once), and do not hold
the result to a size; what they leave is in "What shortening breaks". "–": not tried, the size before took more than ${PATIENCE_MS / 1000} s.`,
    ].join("\n\n"),
  pictures: ({ plan, whole }) => ({
    plan: curvePicture({ ...whole, series: [...whole.series, plan.series[0]] }, "Compacting to a quarter"),
  }),
};
