// Generated histories of every format through up to five compactions each, held to what compaction promises.
// `npm run soak -- --histories 100000 --format anthropic --seed 0 --seconds 600`; exits with 1 on any violation.
// `--json FILE` also writes the figures there; `--seed S --histories 1 --format F` runs one history again.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { FORMATS } from "../dist/messages/codecs.js";
import { soakHistory } from "../dist/testing/soak.js";

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "100000" },
    format: { type: "string" },
    seed: { type: "string", default: "0" },
    seconds: { type: "string" },
    json: { type: "string" },
  },
});

/** A whole number of the command line. */
function count(name) {
  const number = values[name] === undefined ? Number.POSITIVE_INFINITY : Number(values[name]);
  if (number >= 0 && (Number.isSafeInteger(number) || values[name] === undefined)) return number;
  console.error(`--${name} takes a whole number, not "${values[name]}"`);
  process.exit(2);
}

const [histories, first, limit] = [count("histories"), count("seed"), count("seconds")];
const formats = FORMATS.filter((format) => values.format === undefined || format === values.format);
if (formats.length === 0) {
  console.error(`--format takes one of ${FORMATS.join(", ")}`);
  process.exit(2);
}

const MOST_SHOWN = 20;
const started = performance.now();
const elapsed = () => (performance.now() - started) / 1000;
const rows = formats.map((format) => ({
  format,
  histories: 0,
  entries: 0,
  compactions: 0,
  untouched: 0,
  violations: 0,
  errors: {},
  seconds: 0,
}));
let shown = 0;
let told = 0;

async function run(row, seed) {
  const begun = performance.now();
  const { history, compactions, untouched, refusals, violations } = await soakHistory(row.format, seed);
  row.seconds += (performance.now() - begun) / 1000;
  row.histories += 1;
  row.entries += history.list.length;
  row.compactions += compactions;
  row.untouched += untouched;
  row.violations += violations.length;
  for (const code of refusals) row.errors[code] = (row.errors[code] ?? 0) + 1;
  for (const violation of violations) {
    shown += 1;
    if (shown > MOST_SHOWN) continue;
    console.error(JSON.stringify({ ...violation, options: history.options, rounds: history.rounds }));
  }
}

// Formats take turns, so that a run cut short by --seconds has seen all of them alike.
for (let seed = first; seed < first + histories && elapsed() < limit; seed += 1) {
  for (const row of rows) await run(row, seed);
  if (elapsed() - told < 10) continue;
  told = elapsed();
  const found = rows.reduce((sum, { violations }) => sum + violations, 0);
  const done = (seed - first + 1) * rows.length;
  console.log(`${told.toFixed(0)} s: ${done} histories, ${(done / told).toFixed(0)}/s, ${found} violations`);
}

const total = rows.reduce(
  (sum, row) => ({
    format: "all",
    histories: sum.histories + row.histories,
    entries: sum.entries + row.entries,
    compactions: sum.compactions + row.compactions,
    untouched: sum.untouched + row.untouched,
    violations: sum.violations + row.violations,
    errors: Object.fromEntries(
      [...new Set([...Object.keys(sum.errors), ...Object.keys(row.errors)])].map((code) => [
        code,
        (sum.errors[code] ?? 0) + (row.errors[code] ?? 0),
      ]),
    ),
    seconds: sum.seconds + row.seconds,
  }),
  { histories: 0, entries: 0, compactions: 0, untouched: 0, violations: 0, errors: {}, seconds: 0 },
);
const head = [
  "format",
  "histories",
  "entries",
  "compactions",
  "untouched",
  "violations",
  "errors",
  "seconds",
];
console.log(
  `| ${head.join(" | ")} |\n|${head.map((name) => (name === "format" ? " --- |" : " ---: |")).join("")}`,
);
for (const row of [...rows, total]) {
  const errors = Object.entries(row.errors).map(([code, times]) => `${code} ${times}`);
  const cells = { ...row, errors: errors.join(", ") || "none", seconds: row.seconds.toFixed(0) };
  console.log(`| ${head.map((name) => cells[name]).join(" | ")} |`);
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ rows, total }, null, 2)}\n`);
if (total.violations > 0) {
  console.error("again: npm run soak -- --histories 1 --format <format> --seed <seed>");
  process.exit(1);
}
