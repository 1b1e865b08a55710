// Every benchmark in turn, and the page of their results, docs/benchmarks.md. Needs dist/ (npm run build).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "compact-bench-"));
const load = loadavg()[0].toFixed(1);

function run(script, ...args) {
  const out = join(scratch, "out.json");
  execFileSync(process.execPath, [join(here, script), ...args, "--json", out], { stdio: "inherit" });
  return JSON.parse(readFileSync(out, "utf8"));
}

const encodings = ["o200k_base", "cl100k_base"].map((name) => run("tokens.mjs", "--encoding", name));
// Other work on the machine only ever adds: the quietest of five runs says what the check itself costs.
const preflight = Array.from({ length: 5 }, () => run("preflight.mjs")).toSorted(
  (one, other) => one.steady.median - other.steady.median,
)[0];
rmSync(scratch, { recursive: true });
writeFileSync(fileURLToPath(new URL("../docs/benchmarks.md", import.meta.url)), page());

/** MB/s of each library by kind of text, and how many times slower than ours. */
function tokenTable({ encoding, results, init_cpu_ms: init }) {
  const libraries = Object.keys(init);
  const rows = Object.entries(results).map(([text, figures]) => {
    const cells = libraries.map((library) => {
      const { mbPerSecond, timesSlower } = figures[library];
      return library === libraries[0]
        ? `**${mbPerSecond.toFixed(1)}**`
        : `${mbPerSecond.toFixed(1)} (${timesSlower.toFixed(1)} x)`;
    });
    return `| ${text} | ${cells.join(" | ")} |`;
  });
  return [
    `| ${encoding}, MB/s | ${libraries.join(" | ")} |`,
    `|---${"|---".repeat(libraries.length)}|`,
    ...rows,
    `| load and first count, ms | ${libraries.map((library) => init[library].toFixed(0)).join(" | ")} |`,
  ].join("\n");
}

function page() {
  const { steady, cold, coldCompacted, naive } = preflight;
  const number = (value) => value.toLocaleString("en");
  return `# Benchmarks

Made by \`npm run bench\`: ${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}, load ${load} at the start.
The machine is shared and noisy: read the ratios, which come from one run each.

## Counting tokens

Text that no library has seen before, process CPU time, medians over rounds; in brackets how many times slower than
ours. All libraries give the same counts.

${encodings.map(tokenTable).join("\n\n")}

## The check before a model call

A session of 1,000 turns and ${number(steady.tokens)} tokens. One new turn is a question, a call, its result and an
answer; everything before it is known. Most results are short, a tenth of them hold most of the text: the median is a turn
of some 230 tokens, the 95th percentile one of some 3,700. The quietest of five runs is shown.

| | median | 95th percentile | largest |
|---|---|---|---|
| one new turn (least: ${steady.min.toFixed(0)} µs) | ${steady.median.toFixed(0)} µs | ${steady.p95.toFixed(0)} µs | ${(steady.max / 1000).toFixed(1)} ms |
| resumed by a new manager from stored counts | ${cold.median.toFixed(1)} ms | | ${cold.max.toFixed(1)} ms |
| the same for a session that was compacted | ${coldCompacted.median.toFixed(1)} ms | | ${coldCompacted.max.toFixed(1)} ms |
| the whole list counted anew with tiktoken | ${naive.tiktoken.toFixed(0)} ms | | |
| the whole list counted anew with gpt-tokenizer, its cache warm | ${naive.gptTokenizer.toFixed(0)} ms | | |

The check is ${number(Math.round((naive.tiktoken * 1000) / steady.median))} times quicker than counting anew with tiktoken, ${number(Math.round((naive.gptTokenizer * 1000) / steady.median))} times quicker than with gpt-tokenizer.
`;
}
