// Changes one thing at a time in the source and asks the tests whether they notice: `node scripts/mutants.mjs core,memory 40`.
// Works on a copy of the checkout, draws by seed, writes what survived. The page docs/mutants.md holds the figures.
//   --in <folder>     where the copy and the answers are kept; a run that was cut short goes on there
//   --within <s>      most seconds of tests for one change, the nearest first; all that reach it when left out.
//                     What survives so is asked again by a run in the same folder that allows more
//   --again <file>    tries again, on today's source and tests, the changes that such a file of answers says survived
import { fork } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { changesOfFile, markedFile, typeChecker } from "./mutants-changes.mjs";

const { placeOf } = createRequire(import.meta.url)("./layers.cjs");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    in: { type: "string" },
    again: { type: "string" },
    within: { type: "string", default: "Infinity" },
    seed: { type: "string", default: "1" },
  },
});
const within = Number(values.within);
const [named = "core", wanted = "40"] = positionals;
const areas = named.split(",");
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = values.in ?? mkdtempSync(join(tmpdir(), "compact-mutants-"));
if (values.in === undefined) process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const copy = join(folder, "copy");
const reachedPath = join(folder, `reached-${[...areas].sort().join("-")}.jsonl`);

const sameChange = (a, b) => ["file", "from", "to", "text", "column"].every((field) => a[field] === b[field]);
const answersOf = (path) =>
  existsSync(path)
    ? readFileSync(path, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];

/** The checkout as the tests need it, made once for a folder; another seed or area works on the same one. */
function copyCheckout() {
  if (answersOf(reachedPath).some(({ done }) => done)) return;
  for (const path of [copy, reachedPath]) rmSync(path, { recursive: true, force: true });
  const taken = ["packages", "test", "docs", "scripts", "bench", "examples"];
  for (const name of [...taken, ...readdirSync(root).filter((entry) => /\.(?:json|md)$/.test(entry))])
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !/node_modules/.test(path.slice(root.length - 1)),
    });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
}

/** All of them, each order as likely as another, the same for the same seed. */
function shuffled(list) {
  let state = Number(values.seed) >>> 0;
  const left = [...list];
  for (let at = 0; at < left.length; at++) {
    state = (state * 1664525 + 1013904223) >>> 0;
    const other = at + Math.floor((state / 4294967296) * (left.length - at));
    [left[at], left[other]] = [left[other], left[at]];
  }
  return left;
}

const host = { child: undefined };

function startHost(marked) {
  const path = fileURLToPath(new URL("./mutants-host.mjs", import.meta.url));
  const child = fork(path, [copy, marked ? "marked" : "plain"], {
    cwd: copy,
    detached: true,
    stdio: "ignore",
    env: { ...process.env, MUTANTS_REACHED: reachedPath },
  });
  host.child = child;
  return new Promise((resolve) => child.once("message", () => resolve(child)));
}

/** Ends the process that runs the tests and the workers it started. */
function stopHost() {
  const { child } = host;
  host.child = undefined;
  if (child === undefined) return;
  child.removeAllListeners();
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
/** Undoes the change that is being tried. */
let putBack = () => undefined;
process.on("exit", () => {
  stopHost();
  putBack();
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** Puts a question to the process that runs the tests; undefined when it gave no answer in time and was ended. */
async function ask(question, limitMs, marked = false) {
  const child = host.child ?? (await startHost(marked));
  return new Promise((resolve) => {
    const end = (answer) => {
      clearTimeout(timer);
      child.removeAllListeners();
      if (answer === undefined) stopHost();
      resolve(answer);
    };
    const timer = setTimeout(end, limitMs);
    child.once("message", ({ answer }) => end(answer));
    child.once("exit", () => end());
    child.send(question);
  });
}

/** A test file that takes longer than this in a marked copy, or fails there twice, is not asked about any change. */
const SLOWEST_MS = 60_000;

/** Which places each test file reaches and how long it takes, found once in a marked copy: it takes minutes. */
async function reachedPlaces() {
  if (!existsSync(reachedPath)) {
    const texts = files.map((file) => [join(copy, file), readFileSync(join(copy, file), "utf8")]);
    for (const [n, [path]] of texts.entries()) writeFileSync(path, markedFile(copy, files[n]));
    const loading = texts.map(([path]) => path);
    for (const test of await ask({ kind: "related", files: loading }, 300_000, true)) await askMarked(test);
    for (const [path, text] of texts) writeFileSync(path, text);
    stopHost();
    appendFileSync(reachedPath, `${JSON.stringify({ done: true })}\n`);
  }
  const entries = answersOf(reachedPath);
  const left = new Set(entries.filter((entry) => entry.left).map(({ test }) => test));
  return entries
    .filter(({ test, places }) => places !== undefined && !left.has(test))
    .map(({ test, ms, places }) => ({ test, ms, places: new Set(places) }));
}

/** Twice where it fails: a busy machine makes some tests late. */
async function askMarked(test) {
  const question = { kind: "run", tests: [test], changed: [], bail: false };
  for (let attempt = 0; attempt < 2; attempt++) {
    const outcome = await ask(question, SLOWEST_MS, true);
    if (outcome?.unhandled === 0 && outcome.failures.length === 0) return;
  }
  console.log(`not asked: ${relative(copy, test)} (fails in the copy, or is not done in a minute)`);
  appendFileSync(reachedPath, `${JSON.stringify({ test, left: true })}\n`);
}

/** Batches of the tests that reach a place: the file's own, those of its folder, then the quick ones before the slow ones. */
function batchesFor({ file, start }, reached) {
  const nearness = ({ test }) => {
    const path = relative(copy, test);
    if (path === file.replace(/\.ts$/, ".test.ts")) return 0;
    return dirname(path) === dirname(file) ? 1 : 2;
  };
  const order = reached
    .filter(({ places }) => places.has(`${file}:${start}`))
    .sort((a, b) => nearness(a) - nearness(b) || a.ms - b.ms);
  const batches = [];
  let room = 0;
  let total = 0;
  for (const entry of order) {
    total += entry.ms;
    if (total > 1000 * within && batches.length > 0) break;
    if (entry.ms > room) {
      batches.push([]);
      room = 4_000 * 2 ** batches.length;
    }
    batches.at(-1).push(entry);
    room -= entry.ms;
  }
  return batches;
}

const touched = new Set();
const runTests = (tests, bail, limitMs) => {
  const changed = [...touched];
  touched.clear();
  return ask({ kind: "run", tests, changed, bail }, limitMs);
};

/** What the tests say of the copy as it stands: {result, by}. */
async function verdict(change, reached) {
  for (const batch of batchesFor(change, reached)) {
    const tests = batch.map(({ test }) => test);
    const limit = 60_000 + 10 * batch.reduce((total, { ms }) => total + ms, 0);
    const outcome = await runTests(tests, true, limit);
    if (outcome === undefined) return { result: "timed out", by: tests.map((test) => relative(copy, test)) };
    const [failure] = outcome.failures;
    if (failure !== undefined)
      return {
        result: "noticed",
        by: [`${relative(copy, failure.test)}: ${failure.name}`],
        test: failure.test,
      };
    if (outcome.unhandled > 0)
      return { result: "noticed", by: ["an error that nothing caught"], test: tests[0] };
  }
  return { result: "survived", by: [], within: String(within) };
}

/** Tries one change. A failure far from the source counts when it comes again with the change and not without it. */
async function tried(change, reached) {
  const path = join(copy, change.file);
  const text = readFileSync(path, "utf8");
  const mutant = text.slice(0, change.start) + change.to + text.slice(change.start + change.from.length);
  if (!typeChecks(change.file, mutant)) return { result: "does not type-check", by: [] };
  const near = `${change.file.split("/").slice(0, 4).join("/")}/`;
  const write = (content) => {
    writeFileSync(path, content);
    touched.add(path);
  };
  putBack = () => write(text);
  const passes = async (test) => (await runTests([test], false, SLOWEST_MS))?.failures.length === 0;
  try {
    for (let asked = reached; ; ) {
      write(mutant);
      const { test, ...answer } = await verdict(change, asked);
      if (answer.result !== "noticed" || relative(copy, test).startsWith(near)) return answer;
      const again = !(await passes(test));
      write(text);
      if (again && (await passes(test))) return answer;
      asked = asked.filter((entry) => entry.test !== test);
    }
  } finally {
    putBack();
    putBack = () => undefined;
  }
}

/** What survived the nearest tests alone is asked again when more are allowed. */
const isOpen = ({ result, within: asked }) => result === "survived" && Number(asked) < within;

copyCheckout();
const files = areas.flatMap((area) =>
  readdirSync(join(copy, placeOf(area)), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/\.test\.ts$|generated|index\.ts$/.test(name))
    .map((name) => `${placeOf(area)}/${name}`)
    .sort(),
);
const typeChecks = typeChecker(copy);
const reached = await reachedPlaces();
for (const area of areas) await tryArea(area);
stopHost();

/** What is to be tried: all that can be changed in the order of the draw, or what survived before. */
function wantedOf(all, area) {
  if (values.again === undefined) return { changes: shuffled(all), most: Number(wanted) };
  const told = answersOf(values.again).filter(({ file }) => file.startsWith(`${placeOf(area)}/`));
  const survived = told.filter(
    (answer, at) =>
      answer.result === "survived" && told.findLastIndex((other) => sameChange(other, answer)) === at,
  );
  const changes = survived.map(
    (old) => all.find((change) => sameChange(old, change)) ?? { ...old, gone: true },
  );
  return { changes, most: changes.length };
}

/** Draws changes of a folder and tries them until so many have a verdict. */
async function tryArea(area) {
  const all = files
    .filter((file) => file.startsWith(`${placeOf(area)}/`))
    .flatMap((file) => changesOfFile(copy, file));
  const { changes, most } = wantedOf(all, area);
  const kept = join(folder, `${area}-${values.seed}${values.again === undefined ? "" : "-again"}.jsonl`);
  const known = answersOf(kept);
  const count = { noticed: 0, "timed out": 0, survived: 0, "does not type-check": 0, gone: 0 };
  const judged = () => count.noticed + count["timed out"] + count.survived;
  for (const change of changes) {
    if (judged() >= most) break;
    const before = known.findLast((answer) => sameChange(answer, change) && !isOpen(answer));
    const answer = before ?? (change.gone ? { result: "gone", by: [] } : await tried(change, reached));
    count[answer.result] += 1;
    if (before === undefined) tell(change, answer, { kept, progress: `${judged()}/${most}` });
  }
  const hits = count.noticed + count["timed out"];
  console.log(`${area}: drawn from ${all.length}: ${JSON.stringify(count)}; ${share(hits, judged())}`);
}

function tell({ file, line, column, from, to, text }, answer, { kept, progress }) {
  appendFileSync(kept, `${JSON.stringify({ file, line, column, from, to, text, ...answer })}\n`);
  const words = `${from.slice(0, 60)} → ${to.slice(0, 60)} ${answer.by.join(" ").slice(0, 100)}`;
  console.log(`${progress} ${answer.result} ${file}:${line} ${words}`);
}

/** The share that was noticed with its 95 % interval after Wilson. */
function share(hits, of) {
  if (of === 0) return "nothing tried";
  const z = 1.96;
  const rate = hits / of;
  const middle = (rate + (z * z) / (2 * of)) / (1 + (z * z) / of);
  const half = (z / (1 + (z * z) / of)) * Math.sqrt((rate * (1 - rate)) / of + (z * z) / (4 * of * of));
  const percent = (value) => `${(100 * value).toFixed(0)} %`;
  return `${hits} of ${of} noticed: ${percent(rate)} (${percent(middle - half)} to ${percent(middle + half)})`;
}
