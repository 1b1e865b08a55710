// Two recordings side by side: what differs, by kind.
import { existsSync, readFileSync } from "node:fs";
import { groupBy } from "./measure.mjs";

const EXAMPLES = 3;
const LONGEST_VALUE = 60;

export function readRows(file) {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Entries `{ what, promise }`; none where there is no file. */
export function readAllowed(file) {
  if (!existsSync(file)) return [];
  const entries = JSON.parse(readFileSync(file, "utf8"));
  for (const { what, promise } of entries) {
    if (typeof what === "string" && typeof promise === "string" && promise !== "") continue;
    throw new Error(`${file}: every entry needs { what, promise }`);
  }
  return entries;
}

/** One difference for each value that differs; rows that only one side has are told unless the new side is a part. */
export function compareRows(before, after, { partial = false } = {}) {
  const known = new Map(before.map((row) => [row.id, row]));
  const differences = [];
  for (const row of after) {
    const old = known.get(row.id);
    known.delete(row.id);
    if (old === undefined) differences.push({ id: row.id, kind: "run.new", detail: "" });
    else differences.push(...compareRow(old, row));
  }
  if (!partial) for (const id of known.keys()) differences.push({ id, kind: "run.missing", detail: "" });
  return differences;
}

/** A list that is not the same beforehand says nothing about what came of it. */
function compareRow(old, row) {
  const { id, entry } = row;
  if (old.in !== row.in) return [{ id, kind: "input", detail: `${old.in} → ${row.in}` }];
  const [one, other] = [flatten(old), flatten(row)];
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names]
    .filter((name) => one.get(name) !== other.get(name))
    .map((name) => ({ id, kind: `${entry}.${name}`, ...told(one.get(name), other.get(name)) }));
}

function flatten(row) {
  const { id: _id, entry: _entry, in: _in, ...groups } = row;
  const values = new Map();
  const walk = (value, path) => {
    if (typeof value !== "object" || value === null) values.set(path, value);
    else for (const [key, item] of Object.entries(value)) walk(item, path === "" ? key : `${path}.${key}`);
  };
  walk(groups, "");
  return values;
}

function told(old, now) {
  if (typeof old === "number" && typeof now === "number") {
    return { detail: `${old} → ${now}`, change: now - old };
  }
  const [one, other] = [wordsOf(old), wordsOf(now)];
  if (one.length > 1 && one.length === other.length) {
    const places = one.flatMap((word, index) => (word === other[index] ? [] : [index]));
    const [first] = places;
    return { detail: `${places.length} of ${one.length}, first #${first}: ${one[first]} → ${other[first]}` };
  }
  return { detail: `${short(old)} → ${short(now)}` };
}

/** The words of a value, one a call where it tells of calls; `word*times` stands for as many. */
function wordsOf(value) {
  return String(value ?? "none")
    .split(" ")
    .flatMap((word) => {
      const [, once, times] = /^(.+)\*(\d+)$/.exec(word) ?? [];
      return once === undefined ? [word] : Array(Number(times)).fill(once);
    });
}

function short(value) {
  const text = String(value ?? "none");
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE)}…`;
}

/** Prints every kind with its count and first examples; true where each is listed in `allowed`. */
export function printDifferences(differences, allowed) {
  const kinds = [...groupBy(differences, ({ kind }) => kind)].sort(
    ([, one], [, other]) => other.length - one.length,
  );
  const used = new Set();
  let open = 0;
  for (const [kind, all] of kinds) {
    const left = all.filter((difference) => {
      const entry = allowed.find(({ what }) => covers(what, difference));
      if (entry !== undefined) used.add(entry);
      return entry === undefined;
    });
    open += left.length;
    printKind(kind, all, left);
  }
  for (const entry of allowed) if (!used.has(entry)) console.log(`not seen: ${entry.what}`);
  console.log(`${differences.length} differences of ${kinds.length} kinds, ${open} not listed`);
  return open === 0;
}

function printKind(kind, all, left) {
  const changes = all.flatMap(({ change }) => change ?? []);
  const range = changes.length === 0 ? "" : `, by ${Math.min(...changes)} to ${Math.max(...changes)}`;
  const runs = new Set(all.map(({ id }) => id)).size;
  console.log(`${left.length === 0 ? "listed    " : "NOT LISTED"} ${kind}: ${runs} runs${range}`);
  for (const { id, detail } of (left.length === 0 ? all : left).slice(0, EXAMPLES))
    console.log(`    ${id}  ${detail}`);
}

/**
 * `what` is a kind such as `compact.plan.reasons`; `*` stands for any text, and behind ` @ ` stands what the ids of the
 * runs must hold: `*.archive.stored.* @ anthropic`.
 */
function covers(what, { kind, id }) {
  const [pattern, inId = ""] = what.split(" @ ");
  const expression = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${expression.join(".*")}$`).test(kind) && id.includes(inId);
}
