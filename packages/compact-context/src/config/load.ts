import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CompactError, requireOptions, requireText } from "../errors.ts";
import { readDocument } from "./document.ts";
import { CONFIG_VARIABLE, type Environment, environmentLayer } from "./environment.ts";
import {
  type ConfigProblem,
  checkGuards,
  codeLayer,
  configError,
  type Layer,
  mergeLayers,
  originsOf,
  problemsOf,
  settleTarget,
} from "./layer.ts";
import type { CompactConfig, CompactConfigInput } from "./settings.ts";

export interface LoadConfigOptions {
  /** YAML or JSON; wins over reading `path`, which then only names it in errors. */
  readonly text?: string;
  /** The file to read; when left out, the one that `COMPACT_CONFIG` names. */
  readonly path?: string;
  /** True when nobody asked for this file: it may then not lead outside the working directory, and yields to `COMPACT_CONFIG`. */
  readonly found?: boolean;
  readonly env: Environment;
  readonly overrides?: CompactConfigInput;
}

export interface LoadedConfig {
  readonly config: CompactConfig;
  /** Things that look wrong and change nothing, one sentence each. */
  readonly warnings: readonly string[];
  /**
   * Where each setting comes from, by its path in a file: `compact.yaml:3:17`, the name of a variable, or `code`.
   * Settings that have their default are not in it.
   */
  readonly origins: Readonly<Record<string, string>>;
}

/** Defaults, then file, then environment, then code, the later winning; throws InvalidConfig with every problem of every layer. */
export function loadConfig(options: LoadConfigOptions): LoadedConfig {
  requireOptions(options, "options", "Pass at least the environment: { env: process.env }.");
  requireOptions(options.env, "options.env", "Pass process.env, or {} for no environment.");
  const file = fileLayer(options);
  const environment = environmentLayer(options.env);
  const code = codeLayer(options.overrides ?? {});
  const layers = file === undefined ? [environment, code] : [file, environment, code];
  const config = mergeLayers(layers);
  const { maxContextTokens: window, policy } = config;
  const settled = window === undefined ? undefined : settleTarget(policy, window);
  const warnings = settled?.warning === undefined ? [] : [settled.warning];
  return { config, warnings: [...environment.warnings, ...warnings], origins: originsOf(layers) };
}

/**
 * What is wrong with a file's text, and with the environment over it, as data; empty when nothing is. `name` is the file
 * as the reader knows it.
 */
export function checkConfig(text: string, name: string, env: Environment = {}): readonly ConfigProblem[] {
  requireText(text, "text", "Pass the file's text, and its name beside it.");
  requireText(name, "name", "Name the file as its reader knows it, such as compact.yaml.");
  requireOptions(env, "env", "Pass process.env, or leave it out.");
  return problemsOf([readDocument(text, name), environmentLayer(env)]);
}

/** The file that counts: one asked for by name or by `COMPACT_CONFIG` before one that was merely found. */
function fileLayer(options: LoadConfigOptions): Layer | undefined {
  const found = options.found === true;
  const named = options.env[CONFIG_VARIABLE];
  if (named?.trim() === "") {
    const message = "is set to nothing; unset the variable, or name a file";
    throw configError([{ place: CONFIG_VARIABLE, path: "", message }]);
  }
  if (found && named !== undefined) return readDocument(readConfigFile(named), named);
  const path = options.path ?? named;
  if (path === undefined && options.text === undefined) return undefined;
  const name = path ?? "compact.yaml";
  const layer = readDocument(options.text ?? readConfigFile(name), name);
  if (!found) return layer;
  return { ...layer, problems: [...layer.problems, ...checkGuards(layer)] };
}

// ---- files

/** Names under which a configuration is looked for. */
const CONFIG_FILES: readonly string[] = ["compact.yaml", "compact.yml", "compact.json"];

/** Bytes above which a file is refused unread; far more than any configuration has. */
const MAX_BYTES = 1_048_576;

/** The configuration in a folder, not in its parents; throws InvalidConfig when there is more than one. */
export function findConfig(folder: string): string | undefined {
  requireText(folder, "folder", "Pass the path of the folder to look into.");
  const present = CONFIG_FILES.map((name) => join(folder, name)).filter((path) => existsSync(path));
  if (present.length > 1) {
    throw new CompactError("InvalidConfig", `${present.join(" and ")} are both there`, {
      hint: "Keep one of them, or name the one to use with --config.",
      place: present[0],
    });
  }
  return present[0];
}

/** A configuration file's text; throws NotFound, or InvalidConfig when it is no file or far too large. */
export function readConfigFile(path: string): string {
  requireText(path, "path", "Pass the path of a configuration file, such as compact.yaml.");
  try {
    const facts = statSync(path);
    if (facts.isFile() && facts.size <= MAX_BYTES) return readFileSync(path, "utf8");
    const fault = facts.isFile() ? `holds ${facts.size} bytes, more than ${MAX_BYTES}` : "is no file";
    throw new CompactError("InvalidConfig", `${path} ${fault}`, {
      place: path,
      hint: "Name the configuration file itself, such as compact.yaml.",
    });
  } catch (error) {
    if (CompactError.isInstance(error)) throw error;
    throw new CompactError("NotFound", `the configuration ${path} cannot be read`, {
      place: path,
      hint: "Check the path and that the file may be read.",
      cause: error,
    });
  }
}
