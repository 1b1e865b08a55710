// npm run bench [-- NAMES] measures all benchmarks, or those named, and writes docs/benchmarks.md with what belongs to it.
//   --quick   a look that takes seconds and writes nothing: the sections go to standard output
//   --page    measures nothing: the pages anew from the stored figures; --out FOLDER writes them elsewhere
import { execFileSync, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { BENCHES, loadBench } from "./benches.mjs";
import { readResults, sectionOf, writePages, writeResults } from "./page.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean" }, page: { type: "boolean" }, out: { type: "string" } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  console.error(
    `No benchmark is called ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}.`,
  );
  process.exit(2);
}

/** The figures of a benchmark, measured by a process of its own. */
function figuresOf(name) {
  return new Promise((resolve, reject) => {
    const child = fork(here("child.mjs"), [name, ...(values.quick ? ["quick"] : [])], {
      execArgv: ["--expose-gc", "--max-old-space-size=6000"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    child.on("message", resolve);
    child.on("exit", (code) => reject(new Error(`it ended with ${code} and without figures`)));
  });
}

const load = loadavg()[0];

async function measured(name) {
  const started = performance.now();
  const figures = await figuresOf(name);
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus()[0].model.trim()}, ${cpus().length} cores`,
    node: process.versions.node,
    load: Number(load.toFixed(1)),
    seconds: Math.round((performance.now() - started) / 1000),
    figures,
  };
}

/** Measures a benchmark and keeps its figures; one that fails leaves its section as it was. */
async function keep(name) {
  try {
    const result = await measured(name);
    console.error(`${name}: ${result.seconds} s`);
    if (values.quick) console.log(sectionOf(await loadBench(name), result));
    else {
      writeResults({ ...readResults(), [name]: result });
      await writePages();
    }
  } catch (error) {
    console.error(`${name} failed, its section stays as it was: ${error.message}`);
    process.exitCode = 1;
  }
}

/** One after the other what a clock measures, then on all cores what it does not. */
async function measureAll(names) {
  const untimed = [];
  for (const name of names) {
    if ((await loadBench(name)).timed === false) untimed.push(name);
    else await keep(name);
  }
  const next = async () => {
    for (let name = untimed.shift(); name !== undefined; name = untimed.shift()) await keep(name);
  };
  await Promise.all(cpus().map(next));
}

if (values.page) await writePages(values.out);
else {
  if (!values.quick && !existsSync(here("node_modules"))) installPeers();
  await measureAll(positionals.length > 0 ? positionals : Object.keys(BENCHES));
}

function installPeers() {
  console.error("The libraries beside Compact are installed once, into bench/node_modules.");
  const flags = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
  execFileSync("npm", ["install", "--prefix", here("."), ...flags], { stdio: "inherit" });
}
