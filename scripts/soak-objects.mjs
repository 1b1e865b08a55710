// Makes and ends managers, sessions and agents and counts what of them is still alive: `npm run soak -- --objects`.
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What is made, and how many: first until caches are full, then between two counts. */
export const KINDS = [
  { kind: "managers", warm: 20, measured: 300 },
  { kind: "sessions", warm: 280, measured: 300 },
  { kind: "ended sessions", warm: 20, measured: 300 },
  { kind: "given up", warm: 20, measured: 300 },
  { kind: "agents", warm: 10, measured: 100 },
  { kind: "new sessions", warm: 40, measured: 100 },
  { kind: "interrupted", warm: 20, measured: 300 },
  { kind: "texts", warm: 50, measured: 300 },
];

/** Counts of one kind before and after, taken in a process of its own. */
export function countObjects(order) {
  const folder = mkdtempSync(join(tmpdir(), "compact-objects-"));
  return new Promise((resolve, reject) => {
    const path = fileURLToPath(new URL("soak-objects-worker.mjs", import.meta.url));
    const execArgv = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
    const child = fork(path, [JSON.stringify({ ...order, folder })], { execArgv });
    let report;
    child.on("message", (message) => {
      report = message;
    });
    child.on("exit", (code) => {
      rmSync(folder, { recursive: true, force: true });
      if (code === 0 && report !== undefined) resolve(report);
      else reject(new Error(`${order.kind}: the worker ended with ${code}`));
    });
  });
}

/** What is left of those that were made between the counts. */
export function leftOf({ before, after }) {
  const left = (name) => after[name] - before[name];
  return {
    objects: left("objects"),
    managers: left("managers"),
    files: left("files"),
    timers: left("timers"),
    heap: left("heap"),
  };
}

/** Objects and bytes that come once, with code that became hot. */
const ONCE = { objects: 20, heap: 4_000_000 };

/** True where less than an object and 5 kB for each, no manager and no handle stayed behind. */
export function isFlat(report) {
  const { objects, managers, files, timers, heap } = leftOf(report);
  const { measured } = report;
  const handles = [managers, files, timers].every((left) => left <= 0);
  return handles && objects < ONCE.objects + measured && heap < ONCE.heap + 5000 * measured;
}

const START = "<!-- objects -->";
const END = "<!-- /objects -->";

/** The section of the page; `about` names commit, day and Node. */
export function objectsSection(reports, { commit, day, node }) {
  const rows = reports.map((report) => {
    const { objects, managers, files, timers, heap } = leftOf(report);
    const kilobytes = (heap / 1000 / report.measured).toFixed(1);
    return `| ${report.kind} | ${report.measured} | ${report.after.objects.toLocaleString("en")} | ${objects} | ${managers} | ${files} | ${timers} | ${kilobytes} |`;
  });
  return `${START}
## Live objects, ${day}

Each row is one process. It creates objects of the kind, uses them through a compaction and ends them, then counts every JavaScript
object alive after a collection (\`queryObjects\` of \`node:v8\`), creates the next ones and counts again. Agents have a memory, a skill
and sub-agents. "Sessions" are those of one manager; "ended" ones were released. "Given up" and
"interrupted" are calls aborted while their model hung. "Texts" have 100,000 characters; pieces of them are counted and words looked
up. Commit ${commit}, Node ${node}.

| kind | made | objects alive | more than before | managers more | files more | timers more | kB of heap for each |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
${rows.join("\n")}

The remaining objects and heap do not grow with the number created: they are code that became hot meanwhile. \`test/soak\` creates fewer
of each kind and allows 20 objects, and one more for each.
${END}`;
}

/** The page with another section of objects, or with the one that the page before had. */
export function withObjects(page, section) {
  const start = page.indexOf(START);
  if (start >= 0) return page.slice(0, start) + section + page.slice(page.indexOf(END) + END.length);
  return page.replace("\n## Run it\n", () => `\n${section}\n\n## Run it\n`);
}

/** That section of a page; undefined where it has none. */
export function objectsIn(page) {
  const start = page.indexOf(START);
  return start < 0 ? undefined : page.slice(start, page.indexOf(END) + END.length);
}
