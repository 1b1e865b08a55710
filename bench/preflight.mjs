// The check before each model call while nothing is due, by the size of the session: one new turn behind a list that is
// known, and the same session resumed by a new manager from what was stored. Beside it, in the same run, what others do
// at that place: LangChain's summarization middleware below its trigger, and counting the whole list anew.

import { CompactManager } from "../packages/compact-context/dist/create-manager.js";
import { createMemoryDriver } from "../packages/compact-context/dist/storage/memory/driver.js";
import { createCurve, curvePicture, curveTable, timesWorse } from "./curve.mjs";
import { digits, number } from "./markdown.mjs";
import { clockTime, spread } from "./measure.mjs";
import { loadPeers } from "./peers.mjs";
import { session, turns } from "./sessions.mjs";

const SIZES = [30_000, 100_000, 300_000, 1_000_000, 3_000_000];
const CHECKS = 240;
const RECOUNTS = 3;
const RESUMPTIONS = 9;

/** Nothing is due: the window is four times the session. */
const config = (tokens) => ({
  maxContextTokens: tokens * 4,
  storage: { kind: "memory" },
  policy: { triggerPct: 0.95 },
});
const quiet = { onWarning: () => undefined };
/** A host waits for its model here; what the check left to do is done meanwhile. */
const modelCall = () => new Promise((resolve) => setImmediate(resolve));

/** The check as each library has it: `enter` takes new messages in, `check` is what is measured. */
async function contestants(tokens) {
  const manager = new CompactManager(config(tokens), quiet);
  const list = session(tokens).slice(0, -1);
  await manager.preflight("session", list);
  const total = manager.getState("session").totalTokens;
  const ours = {
    name: "compact-context",
    enter: (turn) => list.push(...turn),
    check: () => manager.preflight("session", list),
  };
  const { langchain } = await loadPeers();
  if (langchain === undefined) return { total, list: [ours] };
  const messages = langchain.instances(list);
  const middleware = langchain.summarization({ trigger: { tokens: tokens * 4 } });
  const theirs = {
    name: "LangChain summarizationMiddleware, its estimate",
    enter: (turn) => messages.push(...langchain.instances(turn)),
    check: () => middleware(messages),
  };
  return { total, list: [ours, theirs] };
}

/** Milliseconds of the clock of each check of one new turn. */
async function checks(list, count) {
  const times = list.map(() => []);
  const more = turns(2);
  for (let index = 0; index < count + 20; index += 1) {
    const turn = more.next().value.map((message) => renamed(message, index));
    for (const [at, { enter, check }] of list.entries()) {
      enter(turn);
      const { ms } = await clockTime(check);
      // The first ones warm up.
      if (index >= 20) times[at].push(ms);
      await modelCall();
    }
  }
  return times.map(spread);
}

/** New turns bring ids of their own. */
function renamed(message, index) {
  const id = `new_${index}`;
  if (message.role === "tool") return { ...message, tool_call_id: id };
  if (message.tool_calls === undefined) return { ...message };
  return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id })) };
}

/** Checks of one new turn each, in lists of new objects, as a proxy reads them from the wire; that reading is not measured. */
async function fromTheWire(tokens, count) {
  const manager = new CompactManager(config(tokens), quiet);
  const list = session(tokens).slice(0, -1);
  await manager.preflight("session", structuredClone(list));
  const times = [];
  const more = turns(2);
  for (let index = 0; index < count + 5; index += 1) {
    list.push(...more.next().value.map((message) => renamed(message, index)));
    const read = structuredClone(list);
    const { ms } = await clockTime(() => manager.preflight("session", read));
    if (index >= 5) times.push(ms);
    await modelCall();
  }
  return spread(times);
}

/** A new manager over what another has stored, and a list of new objects with the same content. */
async function resumed(tokens, rounds) {
  const storage = createMemoryDriver();
  const list = session(tokens);
  const first = new CompactManager(config(tokens), { ...quiet, storage });
  await first.preflight("session", list);
  await first.flush();
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const again = structuredClone(list);
    const manager = new CompactManager(config(tokens), { ...quiet, storage });
    const { ms } = await clockTime(() => manager.preflight("session", again));
    times.push(ms);
    await modelCall();
  }
  return spread(times);
}

async function recounted(tokens) {
  const { get_encoding: encodingOf } = await import("tiktoken");
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  const encoding = encodingOf("o200k_base");
  const texts = session(tokens).map((message) => `${message.content}${JSON.stringify(message.tool_calls)}`);
  const time = async (count) => {
    const times = [];
    for (let round = 0; round < RECOUNTS; round += 1)
      times.push((await clockTime(() => texts.reduce((sum, text) => sum + count(text), 0))).ms);
    return spread(times);
  };
  const figures = [
    {
      name: "all counted anew, tiktoken",
      point: await time((text) => encoding.encode_ordinary(text).length),
    },
    { name: "all counted anew, gpt-tokenizer with a warm cache", point: await time(countTokens) },
  ];
  encoding.free();
  return figures;
}

async function run({ quick }) {
  const sizes = quick ? [3_000, 12_000] : SIZES;
  const totals = [...sizes];
  const { put, curve } = createCurve({ by: "tokens", unit: "ms of the clock", more: false, sizes: totals });
  for (const [index, size] of sizes.entries()) {
    const { total, list } = await contestants(size);
    totals[index] = total;
    const points = await checks(list, quick ? 10 : CHECKS);
    for (const [at, { name }] of list.entries()) put(name, index, points[at]);
    const again = await resumed(size, quick ? 2 : RESUMPTIONS);
    put("resumed from stored counts", index, again, { own: true });
    put("a list of new objects", index, await fromTheWire(size, quick ? 5 : 40), { own: true });
    for (const { name, point } of await recounted(size)) put(name, index, point);
  }
  return { curve: curve() };
}

const seriesOf = ({ series }, pattern) => series.find(({ name }) => pattern.test(name)).points;

export const bench = {
  title: "The check before a model call",
  run,
  headline({ curve }) {
    const [{ points }] = curve.series;
    const times = timesWorse(curve, seriesOf(curve, /tiktoken/).at(-1), points.at(-1));
    return `${digits(points.at(-1).median)} ${curve.unit} at ${number(curve.sizes.at(-1))} tokens; counting anew with tiktoken takes ${digits(times)} times as long`;
  },
  section({ curve }) {
    const p95 = curve.series[0].points.map(({ p95: time }) => digits(time)).join(" · ");
    return [
      `\`preflight\` with one new turn (an ask, a call, its result, an answer) behind a list that is known, and nothing due.
One turn in ten brings a long result. The 95th percentiles are ${p95} ${curve.unit}.`,
      curveTable(curve),
      "![Time of a check by the size of the session](benchmarks/preflight.svg)",
      `"A list of new objects" is the same session where each call brings all of it anew, as JSON from a wire does. "Resumed" is the first check of a new manager over stored counts, with a list of new objects. LangChain's middleware estimates
four characters a token; the others count the texts without overheads.`,
    ].join("\n\n");
  },
  pictures: ({ curve }) => ({ preflight: curvePicture(curve, "The check before a model call") }),
};
