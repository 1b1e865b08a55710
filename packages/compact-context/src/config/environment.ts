import { didYouMean } from "../errors.ts";
import { readDocument } from "./document.ts";
import { type ConfigProblem, formatPath, type Layer, put, type SettingPath, valueAt } from "./layer.ts";
import { type Setting, settings, specifiedNames, toCamelCase } from "./schema.ts";
import { defaultConfig } from "./settings.ts";

/** Environment variables, in the shape of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Path of the configuration file. */
export const CONFIG_VARIABLE = "COMPACT_CONFIG";

/**
 * The Postgres URL, password included. Read by the driver and not a setting, so that no file can contain it.
 */
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

interface Reading {
  readonly value: Record<string, unknown>;
  readonly problems: ConfigProblem[];
  /** The variable that set each path. */
  readonly origins: Map<string, string>;
}

const variables: ReadonlyMap<string, Setting> = nameVariables();

/** The variables of one setting, preferred name first. */
export function variablesOf(setting: Setting): readonly string[] {
  return [...variables].flatMap(([name, owner]) => (owner === setting ? [name] : []));
}

/** Reads settings from the environment. Only own, known names are read, so no name can reach a prototype. */
export function environmentLayer(env: Environment): EnvironmentLayer {
  const reading: Reading = { value: {}, problems: [], origins: new Map() };
  for (const [name, setting] of variables) {
    const text = Object.hasOwn(env, name) ? env[name] : undefined;
    if (text !== undefined) take(reading, setting, { name, text });
  }
  return {
    value: reading.value,
    problems: reading.problems,
    warnings: unknownVariables(env),
    problemAt: (path, _at, message) => ({ place: originOf(path, reading), path: formatPath(path), message }),
  };
}

function take(reading: Reading, setting: Setting, { name, text }: { name: string; text: string }): void {
  const path = formatPath(setting.path);
  if (text.trim() === "") {
    const message = "is set to nothing; unset the variable, or give a value";
    reading.problems.push({ place: name, path, message });
    return;
  }
  const earlier = reading.origins.get(path);
  const value = readValue(setting, { name, text: text.trim() }, reading);
  if (earlier === undefined) {
    reading.origins.set(path, name);
    put(reading.value, setting.path, value);
  } else if (JSON.stringify(value) !== JSON.stringify(valueAt(reading.value, setting.path))) {
    const message = `says something else than ${earlier}; unset one of the two`;
    reading.problems.push({ place: name, path, message });
  }
}

/**
 * Parses a variable's text by the setting's kind; text that does not parse is left for the schema to reject.
 */
function readValue(
  setting: Setting,
  { name, text }: { name: string; text: string },
  reading: Reading,
): unknown {
  switch (setting.kind) {
    case "number":
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
    case "boolean":
      return BOOLEANS.get(text.toLowerCase()) ?? text;
    case "list":
      return text.startsWith("[")
        ? jsonOf(name, text, reading)
        : text.split(",").map((entry) => entry.trim());
    case "json":
      return jsonOf(name, text, reading);
    case "text":
      return text;
  }
}

function jsonOf(name: string, text: string, reading: Reading): unknown {
  const document = readDocument(text, name);
  reading.problems.push(...document.problems.map(({ place, path, message }) => ({ place, path, message })));
  return document.value;
}

function originOf(path: SettingPath, reading: Reading): string {
  for (let length = path.length; length > 0; length -= 1) {
    const name = reading.origins.get(formatPath(path.slice(0, length)));
    if (name !== undefined) return name;
  }
  return "environment";
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
