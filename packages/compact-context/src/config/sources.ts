import type { Node, Pair, Scalar } from "yaml";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { didYouMean } from "../errors.ts";
import {
  type ConfigProblem,
  formatPath,
  type Layer,
  readLayer,
  type SettingPath,
  type Source,
  valueAt,
} from "./layer.ts";
import { KEEP_SYSTEM_PROMPT, type Setting, settings, specifiedNames, toCamelCase } from "./schema.ts";
import { defaultConfig } from "./settings.ts";

// What settings are written in: YAML or JSON, and environment variables.

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
  const value = parse(text, reading);
  return {
    value,
    problems: reading.problems,
    problemAt(path, at, message) {
      const places = at === "key" ? reading.keys : reading.values;
      for (let length = path.length; length >= 0; length -= 1) {
        const offset = places.get(formatPath(path.slice(0, length)));
        if (offset !== undefined) return placed(reading, offset, path, message);
      }
      return placed(reading, 0, path, message);
    },
  };
}

function parse(text: string, reading: Reading): unknown {
  if (text.length > MAX_CONFIG_LENGTH) {
    const size = `${text.length} characters, more than the ${MAX_CONFIG_LENGTH} that a configuration may hold`;
    report(reading, 0, [], `holds ${size}`);
    return undefined;
  }
  const document = parseDocument(text, {
    lineCounter: reading.lines,
    prettyErrors: false,
    merge: false,
    schema: "core",
  });
  for (const fault of [...document.errors, ...document.warnings]) {
    report(reading, fault.pos[0], [], `is not valid YAML: ${fault.message.split("\n", 1)[0]}`);
  }
  if (reading.problems.length > 0) return undefined;
  return plain(document.contents, [], reading);
}

function report(reading: Reading, offset: number, path: SettingPath, message: string): undefined {
  reading.problems.push(placed(reading, offset, path, message));
}

function placed(reading: Reading, offset: number, path: SettingPath, message: string): ConfigProblem {
  // A text that was not parsed has no line starts: report its problem at the beginning.
  const found = reading.lines.linePos(offset);
  const [line, column] = [Math.max(1, found.line), Math.max(1, found.col)];
  return { place: `${reading.name}:${line}:${column}`, line, column, path: formatPath(path), message };
}

/**
 * Converts a node to plain data. Hand-written, as the parser's own conversion expands aliases and stringifies
 * any key.
 */
function plain(node: unknown, path: SettingPath, reading: Reading): unknown {
  const offset = (node as Node | null)?.range?.[0] ?? 0;
  reading.values.set(formatPath(path), offset);
  const refuse = (message: string): undefined => report(reading, offset, path, message);
  if (path.length > MAX_DEPTH) return refuse(`nests deeper than ${MAX_DEPTH} levels`);
  if (isAlias(node))
    return refuse("is an alias (*name), which a configuration cannot use; write the value out");
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
      const message = name === "" ? "has a key that is no plain text" : `cannot hold \`${name}\``;
      report(reading, offset, path, message);
      continue;
    }
    const below = [...path, name];
    reading.keys.set(formatPath(below), offset);
    map[name] = plain(value, below, reading);
  }
  return map;
}

// ---- the environment

/** Environment variables, in the shape of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Path of the configuration file. */
export const CONFIG_VARIABLE = "COMPACT_CONFIG";

/** The Postgres URL, password included. Read by the driver and not a setting, so that no file can contain it. */
const POSTGRES_VARIABLE = "COMPACT_POSTGRES_URL";

const PREFIX = "COMPACT_";

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

export interface EnvironmentLayer extends Layer {
  /** Variables with the prefix that match no setting; other programs may use the prefix too. */
  readonly warnings: readonly string[];
}

/** A setting that a variable sets. */
interface Given {
  readonly setting: Setting;
  /** The variable. */
  readonly name: string;
  readonly value: unknown;
}

const variables: ReadonlyMap<string, Setting> = nameVariables();

/** The variables of one setting, preferred name first. */
export function variablesOf(setting: Setting): readonly string[] {
  return [...variables].flatMap(([name, owner]) => (owner === setting ? [name] : []));
}

/** Reads settings from the environment. Only own, known names are read, so no name can reach a prototype. */
export function environmentLayer(env: Environment): EnvironmentLayer {
  const problems: ConfigProblem[] = [];
  const given = new Map<string, Given>();
  for (const [name, setting] of variables) {
    const text = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    if (text === undefined) continue;
    const path = formatPath(setting.path);
    const refuse = (message: string): void => void problems.push({ place: name, path, message });
    if (text === "") {
      refuse("is set to nothing; unset the variable, or give a value");
      continue;
    }
    const { value, problems: found } = readValue(setting, name, text);
    problems.push(
      ...found.map((problem) => ({ place: problem.place, path: problem.path, message: problem.message })),
    );
    const earlier = given.get(path);
    if (earlier === undefined) given.set(path, { setting, name, value });
    else if (JSON.stringify(value) !== JSON.stringify(earlier.value))
      refuse(`says something else than ${earlier.name}; unset one of the two`);
  }
  const layer = readLayer({
    value: treeOf(given.values()),
    problems,
    problemAt: (path, _at, message) => ({ place: variableOf(path, given), path: formatPath(path), message }),
  });
  return { ...layer, warnings: unknownVariables(env) };
}

/** The settings as a file would hold them. */
function treeOf(given: Iterable<Given>): object {
  const tree: Record<string, unknown> = {};
  for (const { setting, value } of given) {
    const [first = "", second] = setting.path;
    tree[first] = second === undefined ? value : { ...(tree[first] as object), [second]: value };
  }
  return tree;
}

/** The variable that set the value at a path. */
function variableOf(path: SettingPath, given: ReadonlyMap<string, Given>): string {
  for (let length = path.length; length > 0; length -= 1) {
    const found = given.get(formatPath(path.slice(0, length)));
    if (found !== undefined) return found.name;
  }
  return "environment";
}

/** A comma between entries: not that of a repetition in a pattern, such as `\d{1,3}`. */
const LIST_COMMA = /,(?!\d{0,9}\})|(?<!\{\d{1,9}),/;

/** A variable's text as a value of the setting's type; text that does not parse is left for the schema to reject. */
function readValue(
  { schema: { type } }: Setting,
  name: string,
  text: string,
): Pick<Source, "value" | "problems"> {
  const found = (value: unknown) => ({ value, problems: [] });
  if (type === "number" || type === "integer")
    return found(/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text);
  if (type === "boolean") return found(BOOLEANS.get(text.toLowerCase()) ?? text);
  if (type === "object" || (type === "array" && text.startsWith("["))) return readDocument(text, name);
  return found(type === "array" ? text.split(LIST_COMMA).map((entry) => entry.trim()) : text);
}

function unknownVariables(env: Environment): string[] {
  const known = [CONFIG_VARIABLE, POSTGRES_VARIABLE, ...variables.keys()];
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !known.includes(name));
  return unknown.map((name) => `${name} is not a setting of Compact${didYouMean(name, known)}`);
}

/** Full names for all settings; short names for the policy unless taken. The short name is preferred. */
function nameVariables(): Map<string, Setting> {
  const nameOf = (words: readonly string[]): string => PREFIX + words.join("_").toUpperCase();
  const full = new Map(settings.map((setting) => [nameOf(setting.path), setting]));
  const names = new Map<string, Setting>();
  for (const setting of settings) {
    const short = nameOf(setting.path.slice(1));
    if (setting.path[0] === "policy" && !full.has(short)) names.set(short, setting);
    names.set(nameOf(setting.path), setting);
  }
  for (const { path, setting } of specifiedNames) {
    if (path[0] === KEEP_SYSTEM_PROMPT) continue;
    const meant = full.get(nameOf(setting));
    if (meant !== undefined && !names.has(nameOf(path))) names.set(nameOf(path), meant);
  }
  return names;
}

// ---- documentation

/** One setting, as documented. */
export interface SettingDescription {
  /** Path in a file: `policy.trigger_pct`. */
  readonly path: string;
  /** The preferred environment variable. */
  readonly env: string;
  /** As JSON; empty if there is no default. */
  readonly default: string;
  /** The values allowed. */
  readonly values: string;
  readonly meaning: string;
}

/** All settings, in documentation order. */
export function describeConfig(): readonly SettingDescription[] {
  return settings.map((setting) => {
    const value = valueAt(defaultConfig, setting.path.map(toCamelCase));
    return {
      path: setting.path.join("."),
      env: variablesOf(setting)[0] ?? "",
      default: value === undefined ? "" : JSON.stringify(value),
      values: setting.values,
      meaning: setting.description,
    };
  });
}

/** All settings as a Markdown table. */
export function configTable(): string {
  const rows = describeConfig().map((row) => {
    const preset = row.default === "" ? "" : `\`${row.default}\``;
    return `| \`${row.path}\` | \`${row.env}\` | ${preset} | ${row.meaning} (${row.values}) |`;
  });
  return ["| setting | environment | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
}
