// Generated histories of every format through up to five compactions each, held to what compaction promises.
// `npm run soak -- --histories 100000 --format anthropic --seed 0 --seconds 600`; exits with 1 on any violation.
// `--state DIR` keeps what is done there: the same command goes on where it stopped, and `--page` writes docs/soak.md
// from it without running anything. `--broken` mends that many broken lists of each format instead; `--objects` counts live
// objects instead, with `--page` into that page. `--seed S --histories 1 --format F` runs one history again.
import { execFileSync, fork } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FORMATS } from "../packages/compact-context/dist/codecs/formats.js";
import {
  countObjects,
  isFlat,
  KINDS,
  leftOf,
  objectsIn,
  objectsSection,
  withObjects,
} from "./soak-objects.mjs";
import { addBlocks, renderBroken, renderPage, renderTable } from "./soak-page.mjs";

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "100000" },
    format: { type: "string" },
    seed: { type: "string", default: "0" },
    seconds: { type: "string" },
    workers: { type: "string", default: "2" },
    state: { type: "string" },
    page: { type: "boolean" },
    objects: { type: "boolean" },
    broken: { type: "boolean" },
  },
});

/** A whole number of the command line. */
function count(name) {
  const number = values[name] === undefined ? Number.POSITIVE_INFINITY : Number(values[name]);
  if (number >= 0 && (Number.isSafeInteger(number) || values[name] === undefined)) return number;
  console.error(`--${name} takes a whole number, not "${values[name]}"`);
  process.exit(2);
}

const [histories, first, limit, workers] = ["histories", "seed", "seconds", "workers"].map(count);
const formats = FORMATS.filter((format) => values.format === undefined || format === values.format);
if (formats.length === 0) {
  console.error(`--format takes one of ${FORMATS.join(", ")}`);
  process.exit(2);
}

const root = fileURLToPath(new URL("..", import.meta.url));
const logged = values.state === undefined ? undefined : join(values.state, "blocks.jsonl");
const blocks =
  logged !== undefined && existsSync(logged)
    ? readFileSync(logged, "utf8")
        .trim()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];

if (values.broken && values.page) {
  console.error("docs/soak.md is about histories: run --broken without --page, and read its table");
  process.exit(2);
}
const page = join(root, "docs", "soak.md");
if (values.page && !values.objects) {
  const section = objectsIn(readFileSync(page, "utf8"));
  writeFileSync(page, section === undefined ? renderPage(blocks) : withObjects(renderPage(blocks), section));
  process.exit(0);
}
if (values.state !== undefined) mkdirSync(values.state, { recursive: true });

/** The commit whose build is run; a build outside of a checkout is told by SOAK_COMMIT. */
function commit() {
  if (process.env.SOAK_COMMIT) return process.env.SOAK_COMMIT;
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", "packages") !== "";
  return git("rev-parse", "--short", "HEAD") + (changed ? " with changes" : "");
}

const about = { commit: commit(), day: new Date().toISOString().slice(0, 10), node: process.version };

if (values.objects) {
  const reports = [];
  for (const order of KINDS) {
    const report = await countObjects(order);
    console.log(`${isFlat(report) ? "flat" : "GROWS"} ${order.measured} ${order.kind}`, leftOf(report));
    reports.push(report);
  }
  if (values.page)
    writeFileSync(page, withObjects(readFileSync(page, "utf8"), objectsSection(reports, about)));
  process.exit(reports.every(isFlat) ? 0 : 1);
}

const BLOCK = Math.min(250, histories);
const done = new Set(blocks.map((block) => block.seed));
const todo = [];
for (let seed = first; seed < first + histories; seed += BLOCK) if (!done.has(seed)) todo.push(seed);
const started = performance.now();
const elapsed = () => (performance.now() - started) / 1000;
const MOST_SHOWN = 20;
let shown = 0;
let told = 0;
let fresh = 0;

function keep(block) {
  const line = { ...block, ...about };
  blocks.push(line);
  if (logged !== undefined) appendFileSync(logged, `${JSON.stringify(line)}\n`);
  fresh += block.rows.reduce((sum, row) => sum + row.histories, 0);
  for (const violation of block.violations) {
    shown += 1;
    if (shown <= MOST_SHOWN) console.error(JSON.stringify(violation));
  }
  if (elapsed() - told < 10) return;
  told = elapsed();
  const { violations } = addBlocks(blocks).total;
  console.log(
    `${told.toFixed(0)} s: ${fresh} histories, ${(fresh / told).toFixed(0)}/s, ${violations} violations`,
  );
}

/** One process that takes block after block until there is none left or the time is up. */
function work() {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("soak-worker.mjs", import.meta.url)));
    const next = () => {
      const seed = elapsed() < limit ? todo.shift() : undefined;
      if (seed === undefined) child.disconnect();
      else
        child.send({
          seed,
          histories: Math.min(BLOCK, first + histories - seed),
          formats,
          broken: values.broken,
        });
    };
    child.on("message", (message) => {
      if (message !== "ready") keep(message);
      next();
    });
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
  });
}

await Promise.all(Array.from({ length: Math.max(1, Math.min(workers, todo.length)) }, work));
const sum = addBlocks(blocks);
console.log(values.broken ? renderBroken(sum) : renderTable(sum));
if (sum.total.violations > 0) {
  console.error("again: npm run soak -- --histories 1 --format <format> --seed <seed>");
  process.exit(1);
}
