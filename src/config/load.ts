import { CompactError } from "../errors.ts";
import type { CompactConfig } from "./compact-config.ts";
import { defaultConfig } from "./compact-config.ts";
import { readDocument } from "./document.ts";
import type { Environment } from "./environment.ts";
import { CONFIG_VARIABLE, environmentLayer } from "./environment.ts";
import type { Layer } from "./layer.ts";
import { checkGuards, checkLayer, codeLayer, valueAt, withoutEmptyGroups } from "./layer.ts";
import { isGroup, renameKeys, toCamelCase } from "./names.ts";
import type { ConfigProblem } from "./problem.ts";
import { configError } from "./problem.ts";

/** Part of a configuration, as given in code. */
export type ConfigOverrides = {
  readonly [K in keyof CompactConfig]?: CompactConfig[K] extends string | number | undefined
    ? CompactConfig[K]
    : Partial<CompactConfig[K]>;
};

export interface LoadConfigOptions {
  /** YAML or JSON; wins over reading `path`, which then only names it in errors. */
  readonly text?: string;
  /** The file to read; when left out, the one that `COMPACT_CONFIG` names. */
  readonly path?: string;
  /** True when nobody asked for this file: it may then not lead outside the working directory, and yields to `COMPACT_CONFIG`. */
  readonly found?: boolean;
  readonly env: Environment;
  readonly overrides?: ConfigOverrides;
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
  const less = (path: readonly string[], value: number | undefined, limit: Limit): ConfigProblem[] => {
    if (value === undefined || limit.value === undefined || value < limit.value) return [];
    const layer = layers.findLast((each) => valueAt(each.value, path) !== undefined);
    const message = `must be less than ${limit.name}, which is ${limit.value}`;
    return [layer?.problemAt(path, "value", message) ?? { place: "defaults", path: path.join("."), message }];
  };
  const trigger = window === undefined ? undefined : Math.floor(window * policy.triggerPct);
  const ceiling = { name: "policy.max_tokens", value: policy.maxTokens };
  return [
    ...less(["policy", "hard_cap_buffer"], policy.hardCapBuffer, {
      name: "max_context_tokens",
      value: window,
    }),
    ...less(["policy", "target_context_tokens"], policy.targetContextTokens, ceiling),
    ...less(["policy", "target_context_tokens"], policy.targetContextTokens, {
      name: "the trigger",
      value: trigger,
    }),
    ...less(["summarizer", "max_summary_tokens"], summarizer.maxSummaryTokens, ceiling),
  ];
}

interface Limit {
  readonly name: string;
  readonly value: number | undefined;
}
