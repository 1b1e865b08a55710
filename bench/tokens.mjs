// Token counting against other libraries, o200k_base and cl100k_base, on text that none of them has seen before.
// Usage: node bench/tokens.mjs [--json FILE] [--encoding o200k_base|cl100k_base]   (needs dist/: npm run build)
// Process CPU time, every library on the same documents in the same round, in turning order; medians over rounds.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(import.meta.url);
const { values: options } = parseArgs({
  options: {
    json: { type: "string" },
    encoding: { type: "string", default: "o200k_base" },
  },
});

const ROUNDS = 9;
const ROUND_BYTES = 700_000;
const FILE = /\.(jsonl?|md|traj)$/;

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Calls `visit` with each string of a JSON value. */
function strings(value, visit) {
  if (typeof value === "string") visit(value);
  else if (Array.isArray(value)) for (const entry of value) strings(entry, visit);
  else if (value !== null && typeof value === "object")
    for (const entry of Object.values(value)) strings(entry, visit);
}

function parsed(text, file) {
  if (file.endsWith(".md")) return text.split(/\n(?=#+ )/);
  if (!file.endsWith(".jsonl")) return JSON.parse(text);
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/** Message-sized texts (200 characters to 200,000), each once, in a fixed shuffled order. */
function documents(folder, filter) {
  const unique = new Set();
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (!filter.test(name)) continue;
    const text = readFileSync(join(folder, name), "utf8");
    strings(filter === FILE ? parsed(text, name) : text, (entry) => {
      const image = entry.length > 2000 && !/\s/.test(entry.slice(0, 2000));
      if (entry.length >= 200 && entry.length <= 200_000 && !image) unique.add(entry);
    });
  }
  return shuffled([...unique]);
}

function shuffled(list) {
  const next = random(7);
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = Math.floor(next() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

function agentText() {
  const transcripts = join(root, "..", "shared", "transcripts");
  if (existsSync(transcripts)) return { source: "transcripts", texts: documents(transcripts, FILE) };
  const folder = join(root, "node_modules");
  return {
    source: "sources of dependencies",
    texts: documents(folder, /(?<!\.min)\.(d\.ts|md|mjs)$/).slice(0, 4000),
  };
}

/** Texts of one kind, made of random parts. */
function generated(part, seed) {
  const next = random(seed);
  return Array.from({ length: (ROUNDS + 2) * 20 }, () => {
    let text = "";
    while (text.length < 6000) text += part(next);
    return text;
  });
}

const pick = (next, list) => list[Math.floor(next() * list.length)];
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const kinds = {
  base64: (next) => pick(next, BASE64),
  "hex and digits": (next) => `${Math.floor(next() * 2 ** 32).toString(16)}-${Math.floor(next() * 1e6)} `,
  Chinese: (next) =>
    next() < 0.08
      ? pick(next, ["，", "。", "\n"])
      : String.fromCodePoint(0x4e00 + Math.floor(next() ** 3 * 3000)),
  "rules and boxes": (next) =>
    pick(next, [
      "│ ",
      "─".repeat(Math.floor(next() * 80)),
      " ".repeat(Math.floor(next() * 40)),
      "ok",
      "\n├── ",
    ]),
};

/** Consecutive slices of the list, each of about the wanted size, without any text twice. */
function rounds(texts) {
  const result = [];
  let current = [];
  let size = 0;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const wanted = Math.min(ROUND_BYTES, bytes / (ROUNDS + 1.5));
  for (const text of texts) {
    current.push(text);
    size += Buffer.byteLength(text);
    if (size < wanted) continue;
    result.push({ texts: current, bytes: size });
    current = [];
    size = 0;
  }
  return result.slice(0, ROUNDS + 1);
}

function cpu(run) {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

async function libraries(encoding) {
  const kebab = encoding.replace("_", "-");
  const load = {
    "compact-context": async () => {
      const module = await import(`../dist/tokens/encodings/${kebab}.js`);
      return Object.values(module)[0].count;
    },
    tiktoken: async () => {
      const tiktoken = require("tiktoken").get_encoding(encoding);
      return (text) => tiktoken.encode_ordinary(text).length;
    },
    "gpt-tokenizer": async () => {
      const { countTokens } = await import(`gpt-tokenizer/encoding/${encoding}`);
      const plain = { disallowedSpecial: new Set() };
      return (text) => countTokens(text, plain);
    },
    "ai-tokenizer": async () => {
      const { Tokenizer } = await import("ai-tokenizer");
      const tokenizer = new Tokenizer(await import(`ai-tokenizer/encoding/${encoding}`));
      return (text) => tokenizer.encode(text, "all").length;
    },
  };
  const loaded = [];
  for (const [name, prepare] of Object.entries(load)) {
    const before = process.cpuUsage();
    const count = await prepare();
    count("first");
    const { user, system } = process.cpuUsage(before);
    loaded.push({ name, count, init: (user + system) / 1000 });
  }
  return loaded;
}

function measure(contestants, texts) {
  const [warmUp, ...measured] = rounds(texts);
  const countAll = (count, list) => {
    let total = 0;
    for (const text of list) total += count(text);
    return total;
  };
  for (let i = 0; i < 3; i += 1) for (const { count } of contestants) countAll(count, warmUp.texts);
  const samples = measured.map(({ texts: list, bytes }, round) => {
    const sample = { bytes, tokens: {}, ms: {} };
    for (let turn = 0; turn < contestants.length; turn += 1) {
      const { name, count } = contestants[(turn + round) % contestants.length];
      sample.ms[name] = cpu(() => {
        sample.tokens[name] = countAll(count, list);
      });
    }
    return sample;
  });
  return Object.fromEntries(
    contestants.map(({ name }) => [
      name,
      {
        mbPerSecond: median(samples.map(({ bytes, ms }) => bytes / 1000 / ms[name])),
        timesSlower: median(samples.map(({ ms }) => ms[name] / ms[contestants[0].name])),
        tokensOff: samples.reduce((sum, { tokens }) => sum + tokens[name] - tokens.tiktoken, 0),
      },
    ]),
  );
}

const contestants = await libraries(options.encoding);
const { source, texts } = agentText();
const classes = { [`agent text (${source})`]: texts };
for (const [kind, part] of Object.entries(kinds)) classes[kind] = generated(part, kind.length);

const results = {};
for (const [name, list] of Object.entries(classes)) results[name] = measure(contestants, list);

console.log(
  `${options.encoding}, cold text, CPU time; MB/s, and in brackets how many times slower than compact-context\n`,
);
const column = (text, width = 22) => String(text).padEnd(width);
console.log(column("", 30) + contestants.map(({ name }) => column(name)).join(""));
for (const [name, row] of Object.entries(results)) {
  const cells = contestants.map((contestant) => {
    const { mbPerSecond, timesSlower, tokensOff } = row[contestant.name];
    return column(
      `${mbPerSecond.toFixed(1)} (${timesSlower.toFixed(1)}x)${tokensOff === 0 ? "" : " inexact"}`,
    );
  });
  console.log(column(name, 30) + cells.join(""));
}
console.log(
  column("load and first count, ms CPU", 30) +
    contestants.map(({ init }) => column(init.toFixed(0))).join(""),
);

if (options.json !== undefined) {
  const init = Object.fromEntries(contestants.map(({ name, init: ms }) => [name, ms]));
  const report = {
    encoding: options.encoding,
    node: process.version,
    rounds: ROUNDS,
    init_cpu_ms: init,
    results,
  };
  writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
}
