// What loading a library costs: fresh processes in turns, from the start of the import to its end, and the heap afterwards.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { digits, table } from "./markdown.mjs";
import { inTurns, spread } from "./measure.mjs";

const ROUNDS = 7;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const lib = (path) => new URL(`../packages/compact-context/lib/${path}`, import.meta.url).href;
const OURS = "compact-context";

/** What is imported, by name; `after` is measured with it. */
const IMPORTS = [
  { name: OURS, from: lib("index.js") },
  {
    name: `${OURS}, with a first count`,
    from: lib("index.js"),
    after: 'module.countTokens([{ role: "user", content: "first" }])',
  },
  { name: `${OURS}/config`, from: lib("config/index.js") },
  { name: `${OURS}/memory`, from: lib("memory/index.js") },
  { name: `${OURS}/agents`, from: lib("agent/index.js") },
  ...[
    "tiktoken",
    "gpt-tokenizer",
    "ai-tokenizer",
    "minisearch",
    "@langchain/core/messages",
    "langchain",
    "ai",
    "@openai/agents-core",
    "@mariozechner/pi-coding-agent",
  ].map((from) => ({ name: from, from })),
];

const isThere = ({ from }) =>
  from.startsWith("file:") ||
  [here("node_modules"), here("../node_modules")].some((folder) =>
    existsSync(`${folder}/${from.replace(/^(@[^/]+\/[^/]+|[^/@]+).*$/, "$1")}`),
  );

/** { ms: clock, cpu, megabytes: more heap than before } of one import in a process of its own. */
function importOnce({ from, after = "" }) {
  const code = `
    gc();
    const heap = process.memoryUsage().heapUsed;
    const cpu = process.cpuUsage();
    const started = performance.now();
    const module = await import(${JSON.stringify(from)});
    ${after};
    const ms = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    gc();
    const megabytes = (process.memoryUsage().heapUsed - heap) / 1e6;
    console.log(JSON.stringify({ ms, cpu: (user + system) / 1000, megabytes }));
    process.exit(0);`;
  const args = ["--expose-gc", "--input-type=module", "--eval", code];
  const said = execFileSync(process.execPath, args, { cwd: here("."), encoding: "utf8" });
  return JSON.parse(said.trim().split("\n").at(-1));
}

async function run({ quick }) {
  const contestants = IMPORTS.filter(isThere).slice(0, quick ? 2 : undefined);
  const samples = await inTurns(contestants, quick ? 1 : ROUNDS, importOnce);
  return {
    rows: contestants.map(({ name }) => {
      const of = (key) => spread(samples.get(name).map((sample) => sample[key]));
      return { name, ms: of("ms"), cpu: of("cpu"), megabytes: of("megabytes").median };
    }),
  };
}

export const bench = {
  title: "Loading the package",
  run,
  headline: ({ rows: [own] }) =>
    `the root loads in ${digits(own.cpu.median)} ms of the processor and ${digits(own.megabytes)} MB of heap`,
  section({ rows }) {
    const [own] = rows;
    return [
      "Fresh processes in turns; the heap is what is held after the import and a collection. Libraries differ in what they are for.",
      table(
        ["import", "ms (least – most)", "by our root", "ms of the clock", "heap, MB"],
        rows.map(({ name, ms, cpu, megabytes }) => [
          name.startsWith(OURS) ? `**${name}**` : name,
          `${digits(cpu.median)} (${digits(cpu.least)} – ${digits(cpu.most)})`,
          name === OURS ? "" : `${(cpu.median / own.cpu.median).toFixed(1)} x`,
          digits(ms.median),
          digits(megabytes),
        ]),
      ),
    ].join("\n\n");
  },
};
