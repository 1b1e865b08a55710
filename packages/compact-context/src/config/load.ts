import { CompactError, requireOptions, requireText } from "../errors.ts";
import { readDocument } from "./document.ts";
import { CONFIG_VARIABLE, type Environment, environmentLayer } from "./environment.ts";
import { checkGuards, checkLayer, codeLayer, type Layer, valueAt, withoutEmptyGroups } from "./layer.ts";
import { isGroup, renameKeys, toCamelCase } from "./names.ts";
import { type ConfigProblem, configError } from "./problem.ts";
import { type CompactConfig, type CompactConfigInput, defaultConfig } from "./settings.ts";

export interface LoadConfigOptions {
  /** YAML or JSON; wins over reading `path`, which then only names it in errors. */
  readonly text?: string;
  /** The file to read; when left out, the one that `COMPACT_CONFIG` names. */
  readonly path?: string;
  /** True when nobody asked for this file: it may then not lead outside the working directory, and yields to `COMPACT_CONFIG`. */
  readonly found?: boolean;
  readonly env: Environment;
  readonly overrides?: CompactConfigInput;
  /** Reads a file's text; throws when it cannot. */
  readonly read?: (path: string) => string;
}

export interface LoadedConfig {
  readonly config: CompactConfig;
  /** Things that look wrong and change nothing, one sentence each. */
  readonly warnings: readonly string[];
}

/** Defaults, then file, then environment, then code, the later winning; throws InvalidConfig with every problem of every layer. */
export function loadConfig(options: LoadConfigOptions): LoadedConfig {
  requireOptions(options, "options", "Pass at least the environment: { env: process.env }.");
  requireOptions(options.env, "options.env", "Pass process.env, or {} for no environment.");
  const file = fileLayer(options);
  const environment = environmentLayer(options.env);
  const layers = [...(file === undefined ? [] : [file]), environment, codeLayer(options.overrides ?? {})];
  const problems = layers.flatMap(checkLayer);
  if (problems.length > 0) throw configError(problems);
  const config = layers.reduce<unknown>(
    (merged, layer) => merge(merged, renameKeys(withoutEmptyGroups(layer.value), toCamelCase)),
    defaultConfig,
  ) as CompactConfig;
  const contradictions = checkTogether(config, layers);
  if (contradictions.length > 0) throw configError(contradictions);
  return { config, warnings: environment.warnings };
}

/** What is wrong with a file's text, as data; empty when nothing is. `name` is the file as the reader knows it. */
export function checkConfig(text: string, name: string): readonly ConfigProblem[] {
  requireText(text, "text", "Pass the file's text, and its name beside it.");
  const layer = readDocument(text, name);
  const problems = checkLayer(layer);
  if (problems.length > 0) return problems;
  const config = merge(defaultConfig, renameKeys(withoutEmptyGroups(layer.value), toCamelCase));
  return checkTogether(config as CompactConfig, [layer]);
}

/** The file that counts: one asked for by name or by `COMPACT_CONFIG` before one that was merely found. */
function fileLayer(options: LoadConfigOptions): Layer | undefined {
  const found = options.found === true;
  const named = options.env[CONFIG_VARIABLE];
  if (named?.trim() === "") {
    const message = "is set to nothing; unset the variable, or name a file";
    throw configError([{ place: CONFIG_VARIABLE, path: "", message }]);
  }
  if (found && named !== undefined) return readDocument(readFile(options, named), named);
  const path = options.path ?? named;
  if (path === undefined && options.text === undefined) return undefined;
  const name = path ?? "compact.yaml";
  const layer = readDocument(options.text ?? readFile(options, name), name);
  if (!found) return layer;
  return { ...layer, problems: [...layer.problems, ...checkGuards(layer)] };
}

function readFile({ read }: LoadConfigOptions, path: string): string {
  if (read !== undefined) return read(path);
  throw new CompactError(
    "InvalidArgument",
    `the configuration ${path} is named, but nothing here can read files`,
    {
      place: path,
      hint: "Give its content as `text`, or a `read` function.",
    },
  );
}

/** Groups are merged entry by entry; lists and bare values replace. */
function merge(below: unknown, above: unknown): unknown {
  if (!isGroup(below) || !isGroup(above)) return above;
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) {
    merged[key] = Object.hasOwn(merged, key) ? merge(merged[key], value) : value;
  }
  return merged;
}

/** Settings that are fine one by one and cannot hold together. */
function checkTogether(config: CompactConfig, layers: readonly Layer[]): ConfigProblem[] {
  const { maxContextTokens: window, policy, summarizer } = config;
  const windowAt = { path: ["max_context_tokens"], value: window };
  const buffer = { path: ["policy", "hard_cap_buffer"], value: policy.hardCapBuffer };
  const target = { path: ["policy", "target_context_tokens"], value: policy.targetContextTokens };
  const ceiling = { path: ["policy", "max_tokens"], value: policy.maxTokens };
  const summary = { path: ["summarizer", "max_summary_tokens"], value: summarizer.maxSummaryTokens };
  const share = window === undefined ? undefined : Math.floor(window * policy.triggerPct);
  const trigger = { ...windowAt, name: "the trigger", value: share };
  const pairs: [Bound, Bound][] = [
    [buffer, windowAt],
    [target, ceiling],
    [target, trigger],
    [summary, ceiling],
  ];
  return pairs.flatMap(([small, large]) => {
    if (small.value === undefined || large.value === undefined || small.value < large.value) return [];
    return [contradiction(small, large, layers)];
  });
}

interface Bound {
  readonly path: readonly string[];
  readonly value: number | undefined;
  /** How to call it; the path when left out. */
  readonly name?: string;
}

/** The problem of two bounds the wrong way round, at the one that somebody set. */
function contradiction(small: Bound, large: Bound, layers: readonly Layer[]): ConfigProblem {
  const owner = (bound: Bound): Layer | undefined =>
    layers.findLast((layer) => valueAt(layer.value, bound.path) !== undefined);
  const words = ({ name, path, value }: Bound): string => `${name ?? path.join(".")}, which is ${value}`;
  const smallOwner = owner(small);
  const message = `must be less than ${words(large)}`;
  return (
    smallOwner?.problemAt(small.path, "value", message) ??
    owner(large)?.problemAt(large.path, "value", `must be more than ${words(small)}`) ?? {
      place: "defaults",
      path: small.path.join("."),
      message,
    }
  );
}
