// What a channel's memory adds to the check before each model call: two sessions of the same turns go side by side, one
// with a memory (its ports in the manager, `afterTurn` after each turn) and one without, on disk, many compactions
// among them. Wall clock and processor time of `preflight` alone; between turns both wait, as for a model, until the work
// beside the run is done.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager, decode } from "../packages/compact-context/dist/index.js";
import { createChannelMemory } from "../packages/compact-context/dist/memory/index.js";
import { digits, number, table } from "./markdown.mjs";
import { quantile, seeded } from "./measure.mjs";

const TURNS = 400;
/** Turns that warm up. */
const FIRST = 40;
const THINKING_MS = 5;
const WINDOW = 48_000;

const WORDS = "const|return|error|src/manager.ts|value|the|of|budget|=>".split("|");

function words(seed, count) {
  const random = seeded(seed);
  return Array.from(
    { length: count },
    () => WORDS[Math.floor(random() * 10)] ?? `n${Math.floor(random() * 10_000)}`,
  ).join(" ");
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

function side(withMemory) {
  const root = mkdtempSync(join(tmpdir(), "compact-bench-"));
  const memory = withMemory
    ? createChannelMemory({ workspaceDir: join(root, "work"), channelDir: join(root, "work", "team") })
    : undefined;
  const config = {
    maxContextTokens: WINDOW,
    policy: { keepRecentTurns: 4 },
    storage: { kind: "fs", root: join(root, "archive") },
  };
  const manager = new CompactManager(config, { onWarning: () => {}, ...memory?.ports });
  return { root, memory, manager, list: [], passed: [], compacted: [] };
}

async function step(one, number, measured) {
  one.list.push(...turn(number));
  const started = performance.now();
  const before = process.cpuUsage();
  const { report } = await one.manager.preflight("session", one.list);
  const { user, system } = process.cpuUsage(before);
  const spent = { wall: performance.now() - started, cpu: (user + system) / 1000 };
  if (measured) (report.compacted ? one.compacted : one.passed).push(spent);
  one.memory?.afterTurn(decode(one.list, "openai-chat"));
}

const figuresOf = (spent) => {
  const of = (kind, part) =>
    quantile(
      spent.map((one) => one[kind]),
      part,
    );
  return { count: spent.length, p50: of("wall", 0.5), p99: of("wall", 0.99), cpu: of("cpu", 0.5) };
};

async function run({ quick }) {
  const sides = [side(false), side(true)];
  for (let number = 0; number < (quick ? 60 : TURNS); number += 1) {
    // Who goes first changes from turn to turn.
    for (const one of number % 2 === 0 ? sides : sides.toReversed()) {
      await step(one, number, quick || number > FIRST);
      await pause(THINKING_MS);
      await one.memory?.settled();
    }
  }
  for (const one of sides) {
    await one.manager.flush();
    await one.memory?.close();
    rmSync(one.root, { recursive: true, force: true });
  }
  const both = (kind) => sides.map((one) => figuresOf(one[kind]));
  return { window: WINDOW, passed: both("passed"), compacted: both("compacted") };
}

const ratio = ([without, with_], of) => with_[of] / without[of];

function memoryTable(label, [without, with_]) {
  const row = (name, { count, p50, p99, cpu }) => [name, count, digits(p50), digits(p99), digits(cpu)];
  const ratios = ["p50", "p99", "cpu"].map((of) => ratio([without, with_], of).toFixed(2));
  return table(
    [label, "checks", "p50, clock", "p99, clock", "p50, processor"],
    [row("without a memory", without), row("with a memory", with_), ["ratio", "", ...ratios]],
  );
}

const section = ({ window, passed, compacted }) =>
  [
    `Two sessions of the same turns side by side, with and without a memory, on disk, in a window of ${number(window)} tokens; milliseconds.`,
    memoryTable("checks that pass", passed),
    memoryTable("checks that compact", compacted),
    `At a compaction with a memory, what leaves is queued, \`SESSION.md\` is refreshed and what leaves is taken in. No model is
asked.`,
  ].join("\n\n");

export const bench = {
  title: "What a memory adds to the check",
  run,
  headline: ({ passed, compacted }) =>
    `${ratio(passed, "cpu").toFixed(2)} x a check without one, ${ratio(compacted, "cpu").toFixed(2)} x one that compacts`,
  section,
  pages: [{ path: "docs/memory.md", mark: "cost", render: section }],
};
