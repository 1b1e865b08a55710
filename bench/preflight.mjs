// The cost of the check before each model call: a session of 1,000 turns and about 580,000 tokens in which only the
// newest turn is new, and the same session resumed in a new manager from its stored state. Wall clock, medians.
// Beside it, in the same run: counting the whole list anew, warm, with tiktoken and with gpt-tokenizer.
import { writeFileSync } from "node:fs";
import { countTokens as gptCount } from "gpt-tokenizer/encoding/o200k_base";
import { get_encoding } from "tiktoken";
import { CompactManager } from "../dist/compaction/manager.js";
import { createMemoryDriver } from "../dist/storage/drivers/memory.js";

const TURNS = 1000;
const NEW_TURNS = 300;
const ROUNDS = 8;

function words(seed, count) {
  let state = seed * 2654435761 + 1;
  const list = [];
  for (let index = 0; index < count; index += 1) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    list.push(
      [
        "const",
        "return",
        "error",
        "src/manager.ts",
        "value",
        "the",
        "of",
        "budget",
        "=>",
        `n${state % 10_000}`,
      ][state % 10],
    );
  }
  return list.join(" ");
}

/**
 * One turn: an ask, a call with its result, an answer. As in recorded sessions most results are short and a tenth of
 * them hold most of the text; 580 tokens on average.
 */
function turn(number) {
  return [
    { role: "user", content: `step ${number}: ${words(number, 30)}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: `call_${number}`,
          type: "function",
          function: { name: "read_file", arguments: JSON.stringify({ path: `src/f${number}.ts` }) },
        },
      ],
    },
    {
      role: "tool",
      tool_call_id: `call_${number}`,
      content: words(number + 7, number % 10 === 0 ? 3400 : 98),
    },
    { role: "assistant", content: `done ${number}: ${words(number + 3, 86)}` },
  ];
}

const config = {
  model: "gpt-4.1",
  maxContextTokens: 1_047_576,
  storage: { kind: "memory" },
  policy: { triggerPct: 0.95 },
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const percentile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)];

async function steadyState() {
  const times = [];
  let tokens = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const manager = new CompactManager(config, { onWarning: () => {} });
    const list = Array.from({ length: TURNS }, (_, number) => turn(number)).flat();
    await manager.preflight("session", list);
    tokens = manager.getState("session").totalTokens;
    for (let number = 0; number < NEW_TURNS; number += 1) {
      list.push(...turn(TURNS + round * NEW_TURNS + number));
      const started = performance.now();
      await manager.preflight("session", list);
      // The first round warms up.
      if (round > 0) times.push((performance.now() - started) * 1000);
      // A real host waits for its model here; the events of this check are handed over meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return {
    tokens,
    median: median(times),
    min: Math.min(...times),
    p95: percentile(times, 0.95),
    max: Math.max(...times),
  };
}

/** A new manager over what another has stored, and a list of new objects with the same content. */
async function resumed(leave) {
  const storage = createMemoryDriver();
  const list = Array.from({ length: TURNS }, (_, number) => turn(number)).flat();
  const first = new CompactManager(config, { storage, onWarning: () => {} });
  await leave(first, list);
  const times = [];
  for (let round = 0; round < 30; round += 1) {
    const again = structuredClone(list);
    const manager = new CompactManager(config, { storage, onWarning: () => {} });
    const started = performance.now();
    await manager.preflight("session", again);
    times.push(performance.now() - started);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { median: median(times), min: Math.min(...times), max: Math.max(...times) };
}

/** Looked at and stored, never compacted. */
const counted = () =>
  resumed(async (manager, list) => {
    await manager.preflight("session", list);
    await manager.flush();
  });

const compacted = () => resumed((manager, list) => manager.manualCompact("session", list));

function recounted() {
  const list = Array.from({ length: TURNS }, (_, number) => turn(number)).flat();
  const texts = list.map((message) => message.content ?? JSON.stringify(message.tool_calls));
  const tiktoken = get_encoding("o200k_base");
  const time = (count) => {
    const runs = [];
    for (let round = 0; round < 3; round += 1) {
      const started = performance.now();
      for (const text of texts) count(text);
      runs.push(performance.now() - started);
    }
    return median(runs);
  };
  return {
    tiktoken: time((text) => tiktoken.encode_ordinary(text).length),
    gptTokenizer: time((text) => gptCount(text)),
  };
}

const steady = await steadyState();
const cold = await counted();
const coldCompacted = await compacted();
const naive = recounted();
const report = { steady, cold, coldCompacted, naive };
console.log(`preflight, ${TURNS} turns, ${steady.tokens.toLocaleString("en")} tokens`);
console.log(
  `  one new turn    median ${steady.median.toFixed(1)} µs   min ${steady.min.toFixed(1)} µs   p95 ${steady.p95.toFixed(1)} µs   max ${steady.max.toFixed(0)} µs`,
);
for (const [name, { median: middle, min, max }] of [
  ["resumed", cold],
  ["  compacted", coldCompacted],
])
  console.log(
    `  ${name.padEnd(16)}median ${middle.toFixed(2)} ms   min ${min.toFixed(2)} ms   max ${max.toFixed(2)} ms`,
  );
console.log(
  `  counted anew    tiktoken ${naive.tiktoken.toFixed(0)} ms   gpt-tokenizer ${naive.gptTokenizer.toFixed(0)} ms`,
);
console.log(
  `  ratio           ${Math.round((naive.tiktoken * 1000) / steady.median)} x tiktoken   ${Math.round((naive.gptTokenizer * 1000) / steady.median)} x gpt-tokenizer`,
);
const out = process.argv.indexOf("--json");
if (out > 0) writeFileSync(process.argv[out + 1], JSON.stringify(report, undefined, 2));
