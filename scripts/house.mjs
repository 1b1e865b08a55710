// The measures of the code, by first-level folder of each package's src and in total: `npm run house`.
// `--check` fails when a value is above its record in test/house/measures.json; `--write` records what fell, and with
// `--why "…"` also what rose, each with a dated note. `--list literalSpreads` prints the places behind a number,
// `--markdown` the totals as a table, `--root <folder>` measures another tree. It needs a build.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import {
  builtFile,
  createProgram,
  entryFiles,
  findPackages,
  folderOf,
  importedFile,
  publicNames,
} from "./house/packages.mjs";
import {
  falls,
  measures,
  readRecord,
  rises,
  TOTAL,
  unexplained,
  updated,
  writeRecord,
} from "./house/record.mjs";
import { fileFacts, max, measureFiles, sum } from "./house/syntax.mjs";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean" },
    write: { type: "boolean" },
    why: { type: "string" },
    list: { type: "string" },
    markdown: { type: "boolean" },
    root: { type: "string", default: fileURLToPath(new URL("..", import.meta.url)) },
  },
});
const root = resolve(options.root);
const recordPath = join(root, "test", "house", "measures.json");

/** The source files of all packages, each with its folder and what it holds. */
function readFiles(packages, program) {
  const files = packages.flatMap((pack) =>
    pack.files.map((path) => ({
      path,
      folder: folderOf(pack, path),
      package: pack.name,
      ...fileFacts(program.getSourceFile(path)),
    })),
  );
  const importers = new Map(files.map(({ path }) => [path, new Set()]));
  for (const { path, imports } of files) {
    for (const specifier of imports) importers.get(importedFile(packages, path, specifier))?.add(path);
  }
  // A public entry has importers that are not seen here.
  const entries = new Set(packages.flatMap((pack) => [...entryFiles(pack).values()]));
  for (const { path, lines, places } of files) {
    const isSmall = lines < 60;
    const hasOneImporter = importers.get(path).size === 1 && !entries.has(path);
    if (isSmall) places.filesUnder60 = [1];
    if (hasOneImporter) places.singleImporter = [1];
    if (isSmall && hasOneImporter) places.smallSingleImporter = [1];
  }
  return files;
}

/** What the public entries export, and what other packages import beside them. */
function measurePublic(packages, program, files) {
  const entries = publicNames(packages, program);
  const rootEntry = entries.find(({ subpath }) => subpath === ".");
  const internal = files.flatMap((file) =>
    file.imports.filter((specifier) =>
      packages.some(({ name }) => name !== file.package && specifier.startsWith(`${name}/internal/`)),
    ),
  );
  return {
    publicEntries: entries.length,
    publicValues: sum(entries.map(({ values }) => values)),
    publicTypes: sum(entries.map(({ types }) => types)),
    rootValues: rootEntry.values,
    rootTypes: rootEntry.types,
    internalModules: new Set(internal).size,
  };
}

/** What the built library loads and runs. */
async function measureRuns(packages) {
  const library = packages.find(({ exports }) => exports["."] !== undefined);
  const paths = [builtFile(library, "."), builtFile(library, "./storage/memory")];
  const missing = paths.find((path) => path === undefined || !existsSync(path));
  if (missing !== undefined) throw new Error(`${missing} is not built: node scripts/build.mjs`);
  const script = fileURLToPath(new URL("house/workload.mjs", import.meta.url));
  const run = async (name, folder) => {
    const own = paths.map((path) => join(folder, relative(dirname(paths[0]), path)));
    const { stdout } = await promisify(execFile)(process.execPath, [script, name, folder, ...own]);
    return JSON.parse(stdout);
  };
  // What is imported is the bundle; what a call runs through is counted in the files as they are written.
  const compiled = join(library.folder, "dist");
  const [published, below, compaction] = await Promise.all([
    run("belowTrigger", dirname(paths[0])),
    run("belowTrigger", compiled),
    run("compaction", compiled),
  ]);
  return {
    rootImportFiles: published.loaded,
    belowTriggerFiles: below.files,
    belowTriggerFunctions: below.functions,
    compactionFiles: compaction.files,
    compactionFunctions: compaction.functions,
  };
}

const withoutZeros = (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== 0));

/** One row for each folder, then the totals. */
async function measure() {
  const packages = findPackages(root);
  const runs = measureRuns(packages);
  const program = createProgram(packages);
  const files = readFiles(packages, program);
  const folders = [...new Set(files.map(({ folder }) => folder))].sort();
  const rows = Object.fromEntries(
    folders.map((name) => [name, withoutZeros(measureFiles(files.filter(({ folder }) => folder === name)))]),
  );
  const totals = { ...measureFiles(files), ...measurePublic(packages, program, files), ...(await runs) };
  return { files, rows: { ...rows, [TOTAL]: withoutZeros(totals) } };
}

/** `path:line` of everything that a measure counts in a folder; nothing for one that is no count of places. */
function placesOf(files, folder, name) {
  return files
    .filter((file) => folder === TOTAL || file.folder === folder)
    .flatMap(({ path, places }) => (places[name] ?? []).map((line) => `${relative(root, path)}:${line}`));
}

const format = (value) => value.toLocaleString("en-US");

/** Columns of the table of folders. */
const columns = {
  files: "files",
  lines: "lines",
  medianLines: "median",
  longestFile: "max",
  filesUnder60: "<60",
  shareUnder60: "<60 %",
  singleImporter: "1 imp",
  smallSingleImporter: "& <60",
  functionP90: "fn p90",
  longestFunction: "fn max",
  oneStatementFunctions: "1 stmt",
  exportedNames: "names",
  namesPerThousandLines: "/kloc",
  commentShare: "com %",
  literalSpreads: "lit",
  conditionalSpreads: "cond",
  portsInterfaces: "Ports",
  namedTypes: "types",
  errorTexts: "err",
  objectChecks: "isObj",
  crcTables: "crc",
};

function printFolders(rows) {
  const width = max(Object.keys(rows).map((name) => name.length));
  const line = (name, cells) => [name.padEnd(width), ...cells.map((cell) => cell.padStart(6))].join(" ");
  console.log(line("folder", Object.values(columns)));
  for (const [name, row] of Object.entries(rows)) {
    console.log(
      line(
        name,
        Object.keys(columns).map((measure) => format(row[measure] ?? 0)),
      ),
    );
  }
}

/** Every measure in total: where it started, now, and its target. */
function totalsTable(rows, record) {
  return Object.entries(measures).map(([name, { title, target, higher }]) => [
    title,
    format((record?.start ?? rows)[TOTAL][name] ?? 0),
    format(rows[TOTAL][name] ?? 0),
    target === undefined ? "" : `${higher ? "≥" : "≤"} ${format(target)}`,
  ]);
}

function printTotals(rows, record) {
  const [first, ...others] = totalsTable(rows, record);
  const width = max([first, ...others].map(([title]) => title.length));
  for (const [title, ...cells] of [["total", "start", "now", "target"], first, ...others]) {
    console.log([title.padEnd(width), ...cells.map((cell) => cell.padStart(9))].join(" "));
  }
}

function printMarkdown(rows, record) {
  console.log("| measure | before | now | target |\n| --- | ---: | ---: | ---: |");
  for (const cells of totalsTable(rows, record)) console.log(`| ${cells.join(" | ")} |`);
}

const describe = ({ folder, measure, from, to }) =>
  `${folder}: ${measure} ${format(to)}, recorded ${format(from)} (${to > from ? "+" : ""}${format(to - from)})`;

const LISTED_PLACES = 10;

/** The rise of a value and, in a folder, the first places behind it. */
function describeRise(files, rise) {
  const { folder, measure } = rise;
  const places = folder === TOTAL ? [] : placesOf(files, folder, measure);
  const more = `… all: npm run house -- --list ${measure}`;
  const listed = places.length > LISTED_PLACES ? [...places.slice(0, LISTED_PLACES), more] : places;
  return [describe(rise), ...listed.map((place) => `    ${place}`)].join("\n");
}

/** Prints what is wrong; true when nothing is. */
function check({ files, rows }, record) {
  if (record === undefined) {
    console.error(`${relative(root, recordPath)} is missing: npm run house -- --write`);
    return false;
  }
  const risen = rises(record, rows);
  for (const rise of risen) console.error(describeRise(files, rise));
  if (risen.length > 0) console.error('\nBring them down, or say why: npm run house -- --write --why "…"');
  const silent = unexplained(record);
  for (const { folder, measure, from, to } of silent) {
    console.error(
      `${folder}: the record of ${measure} rose from ${format(from)} to ${format(to)} without a note`,
    );
  }
  const fallen = falls(record, rows).length;
  if (fallen > 0) console.log(`better than their record: ${fallen} values; npm run house -- --write`);
  const holds = risen.length === 0 && silent.length === 0;
  if (holds) console.log("no measure of the code is above its record");
  return holds;
}

/** Records what was measured; false when something rose and nobody says why. */
function write({ files, rows }, record) {
  const risen = record === undefined ? [] : rises(record, rows);
  const why = options.why?.trim();
  if (risen.length > 0 && !why) {
    for (const rise of risen) console.error(describeRise(files, rise));
    console.error('\nThese rose. Say why: npm run house -- --write --why "…"');
    return false;
  }
  const date = new Date().toISOString().slice(0, 10);
  const next = updated(record, rows, { date, why });
  writeRecord(recordPath, next);
  const added = next.notes.length - (record?.notes.length ?? 0);
  console.log(`${relative(root, recordPath)} written${added > 0 ? `, notes added: ${added}` : ""}`);
  return true;
}

function print({ files, rows }, record) {
  if (options.list !== undefined) {
    const places = placesOf(files, TOTAL, options.list);
    console.log([...places, `${places.length} places of ${options.list}`].join("\n"));
  } else if (options.markdown) {
    printMarkdown(rows, record);
  } else {
    printFolders(rows);
    console.log("");
    printTotals(rows, record);
  }
  return true;
}

const measured = await measure();
const task = [options.write && write, options.check && check, print].find(Boolean);
if (!task(measured, readRecord(recordPath))) process.exit(1);
