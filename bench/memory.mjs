// What a channel's memory adds to the check before each model call: two sessions of the same turns go side by side, one
// with a memory (its ports in the manager, `afterTurn` after each turn) and one without, on disk, many compactions
// among them. Wall clock and processor time of `preflight` alone; between turns both wait, as for a model, until the work
// beside the run is done.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager } from "../dist/compaction/manager.js";
import { createChannelMemory } from "../dist/memory/index.js";
import { decode } from "../dist/messages/codecs.js";

const TURNS = Number(process.env.BENCH_TURNS ?? 400);
const THINKING_MS = 5;

function words(seed, count) {
  let state = seed * 2654435761 + 1;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return [
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
    ][state % 10];
  }).join(" ");
}

function turn(number) {
  const call = (name, args, content) => {
    const id = `call_${number}_${name}`;
    return [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
      },
      { role: "tool", tool_call_id: id, content },
    ];
  };
  return [
    {
      role: "user",
      content: `Step ${number}: change the parser for case ${number}. Always run npm test before you commit.`,
    },
    ...call("read_file", { path: `src/f${number % 40}.ts` }, words(number, number % 10 === 0 ? 3000 : 300)),
    ...call("edit_file", { path: `src/f${number % 40}.ts`, new_string: words(number + 1, 60) }, "ok"),
    ...call(
      "bash",
      { command: "npm test" },
      number % 7 === 0 ? "1 failed\nError: case is wrong" : "12 passed",
    ),
    { role: "assistant", content: `Case ${number} is done. ${words(number + 3, 60)}` },
  ];
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const share = (values, part) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];

function side(withMemory) {
  const root = mkdtempSync(join(tmpdir(), "compact-bench-"));
  const memory = withMemory
    ? createChannelMemory({ workspaceDir: join(root, "work"), channelDir: join(root, "work", "team") })
    : undefined;
  const config = {
    maxContextTokens: 48_000,
    policy: { keepRecentTurns: 4 },
    storage: { kind: "fs", root: join(root, "archive") },
  };
  const manager = new CompactManager(config, { onWarning: () => {}, ...memory?.ports });
  return { root, memory, manager, list: [], passed: [], compacted: [] };
}

async function step(one, number) {
  one.list.push(...turn(number));
  const started = performance.now();
  const before = process.cpuUsage();
  const { report } = await one.manager.preflight("session", one.list);
  const { user, system } = process.cpuUsage(before);
  const spent = { wall: performance.now() - started, cpu: (user + system) / 1000 };
  if (number > 40) (report.compacted ? one.compacted : one.passed).push(spent);
  one.memory?.afterTurn(decode(one.list, "openai-chat"));
}

const sides = [side(false), side(true)];
for (let number = 0; number < TURNS; number += 1) {
  // Who goes first changes from turn to turn.
  for (const one of number % 2 === 0 ? sides : sides.toReversed()) {
    await step(one, number);
    await pause(THINKING_MS);
    await one.memory?.settled();
  }
}
const figures = (spent) => {
  const of = (kind, part) =>
    share(
      spent.map((one) => one[kind]),
      part,
    );
  return { count: spent.length, p50: of("wall", 0.5), p99: of("wall", 0.99), cpu: of("cpu", 0.5) };
};
const report = {};
for (const kind of ["passed", "compacted"]) {
  const [without, with_] = sides.map((one) => figures(one[kind]));
  const ratio = Object.fromEntries(["p50", "p99", "cpu"].map((name) => [name, with_[name] / without[name]]));
  report[kind] = { without, with: with_, ratio };
}
for (const one of sides) {
  await one.manager.flush();
  await one.memory?.close();
  rmSync(one.root, { recursive: true, force: true });
}
const table = (kind, label) => {
  const { without, with: with_, ratio } = report[kind];
  const row = (name, { count = "", p50, p99, cpu }) =>
    `| ${name} | ${count} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${cpu.toFixed(2)} |`;
  return [
    `| ${label}, ms | checks | p50 | p99 | processor, p50 |`,
    "|---|---|---|---|---|",
    row("without a memory", without),
    row("with a memory", with_),
    row("ratio", ratio),
    "",
  ].join("\n");
};
console.log(`${table("passed", "checks that pass")}\n${table("compacted", "checks that compact")}`);
if (process.argv[2] !== undefined) writeFileSync(process.argv[2], `${JSON.stringify(report, null, 2)}\n`);
