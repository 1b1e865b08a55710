import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { CompactError, requireOptions, requireText } from "../errors.ts";
import {
  type ConfigProblem,
  checkGuards,
  codeLayer,
  configError,
  type Layer,
  mergeLayers,
  originsOf,
  problemsOf,
  readLayer,
  settleTarget,
  type WindowOf,
} from "./layer.ts";
import type { CompactConfig, CompactConfigInput } from "./settings.ts";
import { CONFIG_VARIABLE, type Environment, environmentLayer, readDocument } from "./sources.ts";

export interface LoadConfigOptions {
  /** YAML or JSON; used instead of reading `path`, which then only names it in errors. */
  readonly text?: string;
  /** The file to read. Default: the one that `COMPACT_CONFIG` names. */
  readonly path?: string;
  /**
   * True if the file was discovered, not named by the user: it must then stay inside the working directory,
   * and `COMPACT_CONFIG` takes precedence.
   */
  readonly found?: boolean;
  readonly env: Environment;
  readonly overrides?: CompactConfigInput;
}

export interface LoadedConfig {
  readonly config: CompactConfig;
  /** Suspicious settings without effect, one sentence each. */
  readonly warnings: readonly string[];
  /**
   * The origin of each setting by its path in a file: `compact.yaml:3:17`, the name of a variable, or `code`.
   * Omits settings that have their default.
   */
  readonly origins: Readonly<Record<string, string>>;
}

/**
 * Merges defaults, file, environment and code; later ones win. Throws `InvalidConfig` with every problem of
 * every layer.
 */
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
 * Problems of a file's text, with the environment merged over it, as data; empty if there are none. `name` is
 * the file name for messages; `found` as in `LoadConfigOptions`.
 */
export function checkConfig(
  text: string,
  name: string,
  options: Partial<Pick<LoadConfigOptions, "env" | "found">> & { windowOf?: WindowOf } = {},
): readonly ConfigProblem[] {
  const { env = {}, found, windowOf } = options;
  requireText(text, "text", "Pass the file's text, and its name beside it.");
  requireText(name, "name", "Name the file as its reader knows it, such as compact.yaml.");
  requireOptions(env, "env", "Pass process.env, or leave it out.");
  const layer = readLayer(readDocument(text, name));
  return problemsOf([found === true ? checkGuards(layer) : layer, environmentLayer(env)], windowOf);
}

/** The effective file: one named by the caller or by `COMPACT_CONFIG` takes precedence over a discovered one. */
function fileLayer(options: LoadConfigOptions): Layer | undefined {
  const found = options.found === true;
  const named = options.env[CONFIG_VARIABLE];
  if (named?.trim() === "") {
    const message = "is set to nothing; unset the variable, or name a file";
    throw configError([{ place: CONFIG_VARIABLE, path: "", message }]);
  }
  if (found && named !== undefined) return readLayer(readDocument(readConfigFile(named), named));
  const path = options.path ?? named;
  if (path === undefined && options.text === undefined) return undefined;
  const name = path ?? "compact.yaml";
  const layer = readLayer(readDocument(options.text ?? readConfigFile(name), name));
  return found ? checkGuards(layer) : layer;
}

// ---- files

/** Configuration file names, in the order they are looked for. */
const CONFIG_FILES: readonly string[] = ["compact.yaml", "compact.yml", "compact.json"];

/** Larger files are rejected unread; far above any real configuration. */
const MAX_BYTES = 1_048_576;

/** Finds the configuration in a folder, ignoring its parents; throws `InvalidConfig` if there is more than one. */
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

/** Reads a configuration file; throws `NotFound`, or `InvalidConfig` if it is not a file or far too large. */
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
