// The measures, what is recorded of them in test/house/measures.json, and how a tree compares with its record.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

/**
 * Every measure with its title. `hold` says where its record may not be passed: "folder" in every folder and in total,
 * "total" in total only (a ratio of a folder also changes when something good is removed), undefined nowhere.
 * `enough`: a value this good never fails. `slack`: the share by which a value may pass its record, which stays where it is.
 */
export const measures = {
  lines: { title: "lines of source, tests aside", hold: "folder", target: 45_000, slack: 0.005 },
  files: { title: "files", hold: "folder", target: 320 },
  medianLines: { title: "median lines of a file", hold: "total", target: 120, enough: 120, higher: true },
  filesUnder60: { title: "files under 60 lines", hold: "folder" },
  shareUnder60: { title: "files under 60 lines, %", hold: "total", target: 15, enough: 15 },
  longestFile: { title: "longest file, lines", hold: "folder", target: 500, enough: 500 },
  commentShare: { title: "lines of comment, %" },
  functionP90: { title: "function length, 90th percentile", hold: "total", enough: 30 },
  longestFunction: { title: "longest function, lines", hold: "folder", target: 80, enough: 80 },
  oneStatementFunctions: { title: "top-level functions of one statement" },
  exportedNames: { title: "exported names", hold: "folder" },
  namesPerThousandLines: { title: "exported names per 1,000 lines", hold: "total" },
  singleImporter: { title: "files with one importer" },
  smallSingleImporter: { title: "files with one importer under 60 lines", hold: "folder" },
  literalSpreads: { title: "literal-into-literal spreads", hold: "folder", target: 0 },
  conditionalSpreads: { title: "conditional spreads", hold: "folder", target: 0 },
  portsInterfaces: { title: "`*Ports` interfaces", hold: "folder" },
  namedTypes: { title: "interfaces and type aliases", hold: "folder" },
  errorTexts: { title: "copies of error → text", hold: "folder", target: 1 },
  objectChecks: { title: "copies of `isObject`", hold: "folder" },
  crcTables: { title: "copies of CRC-32", hold: "folder", target: 1 },
  publicEntries: { title: "public entries" },
  publicValues: { title: "public values, all entries", hold: "total", target: 70 },
  publicTypes: { title: "public types, all entries", hold: "total", target: 170 },
  rootValues: { title: "public values of the root", hold: "total", target: 15 },
  rootTypes: { title: "public types of the root", hold: "total", target: 40 },
  internalModules: { title: "internal modules that other packages import", hold: "total" },
  rootImportFiles: { title: "files loaded by the root import", hold: "total", target: 90 },
  belowTriggerFiles: { title: "files a call below the trigger runs through", hold: "total", target: 28 },
  belowTriggerFunctions: { title: "functions a call below the trigger runs through" },
  compactionFiles: { title: "files a built-in compaction runs through", hold: "total", target: 55 },
  compactionFunctions: { title: "functions a built-in compaction runs through" },
};

/** The row of the totals, beside those of the folders. */
export const TOTAL = "total";
const ALL = "all";

/** Whether a value is worse than another, and not good enough anyway. */
function isWorse(name, value, than) {
  const { higher, enough, slack = 0 } = measures[name];
  if (higher) return value < Math.min(than, enough ?? than);
  return value > Math.max(than * (1 + slack), enough ?? than);
}

const isHeld = (folder, name) =>
  measures[name].hold === "folder" || (folder === TOTAL && measures[name].hold);

/** Pairs of rows that differ in a held measure: `{ folder, measure, from, to }`. A row that is missing is all zeros. */
function differences(before, after, differs) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((folder) =>
    Object.keys(measures)
      .filter((measure) => isHeld(folder, measure))
      .map((measure) => ({
        folder,
        measure,
        from: before[folder]?.[measure] ?? 0,
        to: after[folder]?.[measure] ?? 0,
      }))
      .filter(({ measure, from, to }) => differs(measure, from, to)),
  );
}

/** Values above their record. */
export const rises = (record, rows) =>
  differences(record.now, rows, (measure, from, to) => isWorse(measure, to, from));

/** Values that the record could be lowered to. */
export const falls = (record, rows) =>
  differences(record.now, rows, (measure, from, to) => (measures[measure].higher ? to > from : to < from));

/** Recorded values that are above where they started while no note says why. */
export function unexplained({ start, now, notes }) {
  const noted = ({ folder, measure, to }) =>
    notes.some(
      (note) =>
        note.folder === folder &&
        /^\d{4}-\d\d-\d\d$/.test(note.date) &&
        note.why?.trim() &&
        ((note.measure === measure && !isWorse(measure, to, note.to)) ||
          (note.measure === ALL && !isWorse(measure, to, note.to[measure] ?? 0))),
    );
  return differences(start, now, (measure, from, to) => isWorse(measure, to, from)).filter(
    (rise) => !noted(rise),
  );
}

/** One note for every rise; a folder that is new gets one for all its measures. */
function notesOn(record, rows, { date, why }) {
  const risen = rises(record, rows);
  const isNew = (folder) => record.now[folder] === undefined;
  const folders = [...new Set(risen.map(({ folder }) => folder).filter(isNew))];
  return [
    ...risen.filter(({ folder }) => !isNew(folder)).map((rise) => ({ date, ...rise, why })),
    ...folders.map((folder) => ({ date, folder, measure: ALL, from: 0, to: rows[folder], why })),
  ];
}

/** The record after a tree was measured; `why` explains what rose. The first record is where everything starts. */
export function updated(record, rows, { date, why }) {
  if (record === undefined) return { start: rows, now: rows, notes: [] };
  return {
    start: record.start,
    now: rows,
    notes: [...record.notes, ...notesOn(record, rows, { date, why })],
  };
}

export const readRecord = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined);

/** One line for a folder or note, so that a change of the record can be read. */
export function writeRecord(path, { start, now, notes }) {
  const table = (rows) => {
    const lines = Object.entries(rows).map(
      ([name, row]) => `    ${JSON.stringify(name)}: ${JSON.stringify(row)}`,
    );
    return `{\n${lines.join(",\n")}\n  }`;
  };
  const list = notes.map((note) => `\n    ${JSON.stringify(note)}`).join(",");
  const text = `{\n  "start": ${table(start)},\n  "now": ${table(now)},\n  "notes": [${list}${list && "\n  "}]\n}\n`;
  writeFileSync(path, text);
}
