import type { Node, Pair, Scalar } from "yaml";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { type ConfigProblem, formatPath, type SettingPath, type Source } from "./layer.ts";

/** Maximum length of a configuration in characters; parsing time grows superlinearly. */
const MAX_CONFIG_LENGTH = 65_536;

/** Maximum nesting depth; the deepest setting is at level four. */
const MAX_DEPTH = 16;

interface Reading {
  readonly name: string;
  readonly lines: LineCounter;
  readonly problems: ConfigProblem[];
  readonly keys: Map<string, number>;
  readonly values: Map<string, number>;
}

/**
 * Reads YAML or JSON as plain data without aliases, tags or prototype keys, with the position of each value. Problems
 * are reported, never thrown. `name` is the file name for messages.
 */
export function readDocument(text: string, name: string): Source {
  const reading: Reading = {
    name,
    lines: new LineCounter(),
    problems: [],
    keys: new Map(),
    values: new Map(),
  };
  const value = text.length > MAX_CONFIG_LENGTH ? tooLong(text, reading) : parse(text, reading);
  return {
    value,
    problems: reading.problems,
    problemAt: (path, at, message) => problemAt(reading, path, { at, message }),
  };
}

function tooLong(text: string, reading: Reading): undefined {
  const size = `${text.length} characters, more than the ${MAX_CONFIG_LENGTH} that a configuration may hold`;
  report(reading, 0, [], `holds ${size}`);
}

function parse(text: string, reading: Reading): unknown {
  const document = parseDocument(text, {
    lineCounter: reading.lines,
    prettyErrors: false,
    merge: false,
    schema: "core",
  });
  for (const fault of [...document.errors, ...document.warnings]) {
    report(reading, fault.pos[0], [], `is not valid YAML: ${firstLine(fault.message)}`);
  }
  if (reading.problems.length > 0) return undefined;
  return plain(document.contents, [], reading);
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}

function report(reading: Reading, offset: number, path: SettingPath, message: string): void {
  reading.problems.push(placed(reading, offset, path, message));
}

function placed(reading: Reading, offset: number, path: SettingPath, message: string): ConfigProblem {
  // A text that was not parsed has no line starts: report its problem at the beginning.
  const found = reading.lines.linePos(offset);
  const [line, column] = [Math.max(1, found.line), Math.max(1, found.col)];
  return {
    place: `${reading.name}:${line}:${column}`,
    line,
    column,
    path: formatPath(path),
    message,
  };
}

function problemAt(
  reading: Reading,
  path: SettingPath,
  { at, message }: { at: "key" | "value"; message: string },
): ConfigProblem {
  const places = at === "key" ? reading.keys : reading.values;
  for (let length = path.length; length >= 0; length -= 1) {
    const offset = places.get(formatPath(path.slice(0, length)));
    if (offset !== undefined) return placed(reading, offset, path, message);
  }
  return placed(reading, 0, path, message);
}

/**
 * Converts a node to plain data. Hand-written, as the parser's own conversion expands aliases and stringifies
 * any key.
 */
function plain(node: unknown, path: SettingPath, reading: Reading): unknown {
  const offset = (node as Node | null)?.range?.[0] ?? 0;
  reading.values.set(formatPath(path), offset);
  if (path.length > MAX_DEPTH) {
    report(reading, offset, path, `nests deeper than ${MAX_DEPTH} levels`);
    return undefined;
  }
  if (isAlias(node)) {
    report(
      reading,
      offset,
      path,
      "is an alias (*name), which a configuration cannot use; write the value out",
    );
    return undefined;
  }
  if (isScalar(node)) return scalarOf(node);
  if (isSeq(node)) return node.items.map((item, index) => plain(item, [...path, index], reading));
  if (isMap(node)) return plainMap(node.items, path, reading);
  return null;
}

/** Reads `128_000` as a number, as specification 001 does; YAML 1.2 reads it as text. */
function scalarOf({ value, type }: Scalar): unknown {
  const isNumber = type === "PLAIN" && typeof value === "string" && /^\d{1,3}(?:_\d{3})+$/.test(value);
  return isNumber ? Number(value.replaceAll("_", "")) : value;
}

function plainMap(pairs: readonly Pair[], path: SettingPath, reading: Reading): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (const { key, value } of pairs) {
    const offset = (key as Node | null)?.range?.[0] ?? 0;
    const name = isScalar(key) ? String(key.value) : "";
    if (!isScalar(key) || name === "__proto__") {
      report(
        reading,
        offset,
        path,
        name === "" ? "has a key that is no plain text" : `cannot hold \`${name}\``,
      );
      continue;
    }
    const below = [...path, name];
    reading.keys.set(formatPath(below), offset);
    map[name] = plain(value, below, reading);
  }
  return map;
}
