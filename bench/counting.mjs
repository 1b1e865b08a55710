// Token counting beside tiktoken, gpt-tokenizer and ai-tokenizer on text that none of them has seen before: by kind of text,
// and by the length of a text. Every library counts the same texts in the same round, in turning order.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { curvePicture, curveTable } from "./curve.mjs";
import { digits, table } from "./markdown.mjs";
import { inTurns, processorTime, processorTimeOf, seeded, spread } from "./measure.mjs";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("..", import.meta.url));
const ENCODINGS = ["o200k_base", "cl100k_base"];
const ROUNDS = 7;
const ROUND_BYTES = 300_000;
const LENGTHS = [300, 3_000, 30_000, 300_000];
const FILE = /\.(jsonl?|md|traj)$/;
const OURS = "compact-context";

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
  const next = seeded(7);
  for (let i = list.length - 1; i > 0; i -= 1) {
    const j = Math.floor(next() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

function agentText() {
  const transcripts = join(root, "..", "shared", "transcripts");
  if (existsSync(transcripts)) return { source: "recorded sessions", texts: documents(transcripts, FILE) };
  const texts = documents(join(root, "node_modules"), /(?<!\.min)\.(d\.ts|md|mjs)$/).slice(0, 4000);
  return { source: "sources of dependencies", texts };
}

/** Texts of one kind, made of random parts. */
function generated(part, seed, count) {
  const next = seeded(seed);
  return Array.from({ length: count }, () => {
    let text = "";
    while (text.length < 6000) text += part(next);
    // As texts come from a disk or a wire: in one piece, which no library has to join first.
    return Buffer.from(text).toString();
  });
}

const pick = (next, list) => list[Math.floor(next() * list.length)];
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const KINDS = {
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

/** Consecutive slices of the list, each of about the wanted size, without any text twice; the first is to warm up. */
function slices(texts, rounds) {
  const result = [];
  let current = [];
  let size = 0;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const wanted = Math.min(ROUND_BYTES, bytes / (rounds + 1.5));
  for (const text of texts) {
    current.push(text);
    size += Buffer.byteLength(text);
    if (size < wanted) continue;
    result.push({ texts: current, bytes: size });
    current = [];
    size = 0;
  }
  return result.slice(0, rounds + 1);
}

async function libraries(encoding) {
  const prepare = {
    [OURS]: async () => {
      const module = await import(
        `../packages/compact-context/dist/tokens/encodings/${encoding.replace("_", "-")}.js`
      );
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
  for (const [name, load] of Object.entries(prepare)) {
    const { ms, value } = await processorTimeOf(async () => {
      const count = await load();
      count("first");
      return count;
    });
    loaded.push({ name, count: value, load: ms });
  }
  return loaded;
}

/** MB of text in a second of processor time by library, and how far its counts are from tiktoken's. */
async function measure(contestants, texts, rounds) {
  const [warmUp, ...rest] = slices(texts, rounds);
  const countAll = (count, list) => list.reduce((total, text) => total + count(text), 0);
  for (let i = 0; i < 3; i += 1) for (const { count } of contestants) countAll(count, warmUp.texts);
  const samples = await inTurns(contestants, rest.length, ({ count }, round) => {
    const { texts: list, bytes } = rest[round];
    const { ms, value } = processorTime(() => countAll(count, list));
    return { speed: bytes / 1000 / ms, tokens: value };
  });
  const exact = samples.get("tiktoken").map(({ tokens }) => tokens);
  return contestants.map(({ name }) => {
    const own = samples.get(name);
    const off = own.reduce((sum, { tokens }, round) => sum + Math.abs(tokens - exact[round]), 0);
    return { name, off, ...spread(own.map(({ speed }) => speed)) };
  });
}

/** Texts of a length, cut from all texts one after the other. */
function ofLength(texts, length, rounds) {
  const whole = texts.join("\n");
  const count = Math.min(Math.floor(whole.length / length), Math.ceil(((rounds + 2) * ROUND_BYTES) / length));
  return Array.from({ length: count }, (_, index) => whole.slice(index * length, (index + 1) * length));
}

async function run({ quick }) {
  const rounds = quick ? 2 : ROUNDS;
  const { source, texts } = quick
    ? { source: "made up", texts: generated(KINDS["hex and digits"], 1, 60) }
    : agentText();
  const figures = { source, encodings: [], curve: undefined };
  for (const encoding of quick ? ENCODINGS.slice(0, 1) : ENCODINGS) {
    const contestants = await libraries(encoding);
    const kinds = [[`agent text (${source})`, texts]];
    for (const [kind, part] of Object.entries(quick ? {} : KINDS))
      kinds.push([kind, generated(part, kind.length, (rounds + 2) * 20)]);
    const rows = [];
    for (const [kind, list] of kinds)
      rows.push({ kind, libraries: await measure(contestants, list, rounds) });
    const load = contestants.map(({ name, load: ms }) => ({ name, ms }));
    figures.encodings.push({ encoding, load, rows });
    figures.curve ??= await byLength(contestants, texts, rounds, quick ? LENGTHS.slice(0, 2) : LENGTHS);
  }
  return figures;
}

async function byLength(contestants, texts, rounds, lengths) {
  const points = [];
  for (const length of lengths)
    points.push(await measure(contestants, ofLength(texts, length, rounds), rounds));
  return {
    by: "characters of a text",
    unit: "MB/s",
    more: true,
    sizes: lengths,
    series: contestants.map(({ name }, index) => ({ name, points: points.map((row) => row[index]) })),
  };
}

function encodingTable({ encoding, load, rows }) {
  const names = load.map(({ name }) => name);
  const cells = rows.map(({ kind, libraries: [ours, ...others] }) => [
    kind,
    `**${digits(ours.median)}** (${digits(ours.least)} – ${digits(ours.most)})`,
    ...others.map(({ median, off }) => {
      const inexact = off === 0 ? "" : ", other counts";
      return `${digits(median)} (${digits(ours.median / median)} x${inexact})`;
    }),
  ]);
  const loaded = ["load and first count, ms", ...load.map(({ ms }) => ms.toFixed(0))];
  return table([`${encoding}, MB/s`, ...names], [...cells, loaded]);
}

export const bench = {
  title: "Counting tokens",
  run,
  headline({ encodings: [{ rows }] }) {
    const [
      {
        libraries: [ours, ...others],
      },
    ] = rows;
    const times = others.map(({ name, median }) => `${digits(ours.median / median)} x ${name}`);
    return `${digits(ours.median)} MB/s of agent text: ${times.join(", ")}`;
  },
  section: ({ encodings, curve }) =>
    [
      "Text that no library has seen before. Every library gives tiktoken's counts where nothing else is said.",
      ...encodings.map(encodingTable),
      "By the length of a text, o200k_base, agent text:",
      curveTable(curve),
      "![Megabytes of text in a second, by the length of a text](benchmarks/counting.svg)",
    ].join("\n\n"),
  pictures: ({ curve }) => ({ counting: curvePicture(curve, "Counting tokens of new text") }),
};
