// Records what the library does with recorded sessions: hashes and figures, no text of theirs. Later versions are held
// to it: `node scripts/record.mjs --compare test/recorded/base.jsonl` prints what differs and exits with 1 where
// `test/recorded/differences.json` does not list it. `--dist DIR` and `--reader DIR` name built folders, `--sessions`
// where the shared sessions are; `--only TEXT` takes the runs whose id holds it, `--limit N` N runs of all kinds.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { compareRows, printDifferences, readAllowed, readRows } from "./record/compare.mjs";
import { loadLibrary, PATHS } from "./record/library.mjs";
import { hash } from "./record/measure.mjs";
import { runsOf } from "./record/runs.mjs";
import { readSessions } from "./record/sessions.mjs";

const { values } = parseArgs({
  options: {
    dist: { type: "string" },
    reader: { type: "string" },
    sessions: { type: "string", default: PATHS.sessions },
    out: { type: "string" },
    compare: { type: "string" },
    allowed: { type: "string", default: PATHS.allowed },
    only: { type: "string" },
    limit: { type: "string" },
    slow: { type: "boolean" },
  },
});

// Searches for secrets stop at a deadline by this clock: a slow machine must not change a recording.
performance.now = () => 0;

const library = await loadLibrary(values);
const runs = chosen(
  (await readSessions(library, values.sessions)).flatMap((session) => runsOf(session, library)),
);
const rows = [];
const times = [];
for (const { id, run } of runs) {
  const started = process.cpuUsage();
  rows.push({ id, ...(await run()) });
  const { user, system } = process.cpuUsage(started);
  times.push({ id, ms: Math.round((user + system) / 1000) });
}
if (values.out !== undefined) {
  writeFileSync(values.out, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}
const { user, system } = process.cpuUsage();
console.error(`${rows.length} runs, ${Math.round((user + system) / 1e6)} s of processor`);
if (values.slow) printSlow();
if (values.compare !== undefined) {
  const partial = values.only !== undefined || values.limit !== undefined;
  const differences = compareRows(readRows(values.compare), rows, { partial });
  process.exitCode = printDifferences(differences, readAllowed(values.allowed)) ? 0 : 1;
}

/** The runs that are asked for; a limit takes those with the lowest hash, the same ones each time. */
function chosen(all) {
  const { only, limit } = values;
  const named = only === undefined ? all : all.filter(({ id }) => id.includes(only));
  if (limit === undefined) return named;
  const first = named.map(({ id }) => hash(id)).sort()[Number(limit)];
  return first === undefined ? named : named.filter(({ id }) => hash(id) < first);
}

function printSlow() {
  for (const { id, ms } of times.sort((one, other) => other.ms - one.ms).slice(0, 30))
    console.error(`${ms} ms  ${id}`);
}
