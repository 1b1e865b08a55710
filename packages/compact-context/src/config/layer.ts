import type { Policy } from "../core/policy.ts";
import { CompactError, didYouMean, requireOptions } from "../errors.ts";
import {
  faultsOf,
  type Guard,
  isGroup,
  KEEP_SYSTEM_PROMPT,
  namesBelow,
  renameKeys,
  settings,
  specifiedNames,
  takesOrdinaryText,
  toCamelCase,
  toSnakeCase,
} from "./schema.ts";
import { type CompactConfig, type CompactConfigInput, defaultConfig } from "./settings.ts";

// Settings from a file, the environment or code: validated against one schema, then merged.

/** One problem with a configuration. */
export interface ConfigProblem {
  /**
   * `compact.yaml:3:17`, the name of an environment variable, or `code`; empty if only one place is possible.
   */
  readonly place: string;
  /** 1-based; only for files. */
  readonly line?: number;
  /** 1-based; only for files. */
  readonly column?: number;
  /** Dotted path of the setting, such as `policy.trigger_pct`; empty for the whole configuration. */
  readonly path: string;
  /** The problem, such as `must be 0.0-1.0`. */
  readonly message: string;
}

/** Names and indexes leading to a value. */
export type SettingPath = readonly (string | number)[];

/** Settings from one source, under their file names, and how to locate them there. */
export interface Layer {
  readonly value: unknown;
  /** Problems found before any setting could be read. */
  readonly problems: readonly ConfigProblem[];
  /** A problem with the value at a path, or with its key. */
  problemAt(path: SettingPath, at: "key" | "value", message: string): ConfigProblem;
}

/** Further problems are counted, not listed. */
const LISTED = 20;

/** `["policy", "roles_never_prune", 1]` as `policy.roles_never_prune[1]`. */
export function formatPath(path: SettingPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

/** One line: `compact.yaml:3:17 policy.trigger_pct must be 0.0-1.0`. */
export function formatProblem(problem: ConfigProblem): string {
  requireOptions(problem, "problem", "Pass one of the problems that checkConfig gives.");
  return [problem.place, problem.path, problem.message].filter((word) => word !== "").join(" ");
}

/** An error that lists every problem; `place` is that of the first. */
export function configError(problems: readonly ConfigProblem[]): CompactError {
  const lines = problems.slice(0, LISTED).map(formatProblem);
  if (problems.length > LISTED) lines.push(`and ${problems.length - LISTED} more`);
  const message =
    lines.length === 1
      ? (lines[0] ?? "")
      : `${problems.length} problems in the configuration:\n  ${lines.join("\n  ")}`;
  const place = problems[0]?.place || problems[0]?.path;
  const inFile = problems.some(({ line }) => line !== undefined);
  const next = inFile
    ? "`compact config check FILE` checks a file without running anything"
    : "docs/configuration.md lists the settings and their ranges";
  return new CompactError("InvalidConfig", message, {
    hint: `Correct the settings named above; ${next}.`,
    place,
  });
}

/** Settings given in code, with camelCase names; `place` names this source in problems. */
export function codeLayer(given: unknown, place = "code"): Layer {
  const problems: ConfigProblem[] = [];
  const problemAt = (path: SettingPath, _at: "key" | "value", message: string): ConfigProblem => ({
    place,
    path: formatPath(path.map((step, index) => (isOwnName(path, index) ? step : toCamelCase(String(step))))),
    message,
  });
  const ownName = (key: string, path: readonly string[]): string => {
    const name = toSnakeCase(key);
    if (key === toCamelCase(name)) return name;
    const message = `is not a setting${suggestion(path.slice(0, -1).map(toSnakeCase), key, problemAt)}`;
    problems.push({ place, path: formatPath(path), message });
    return name;
  };
  return { value: readGiven(() => renameKeys(given, ownName)), problems, problemAt };
}

/** Exceptions from the caller's getters or proxies are reported like any other problem. */
function readGiven(read: () => unknown): unknown {
  try {
    return read();
  } catch (cause) {
    const hint = "Pass a plain object with the settings.";
    throw new CompactError("InvalidConfig", "config cannot be read", { place: "config", hint, cause });
  }
}

/** The layer with the specifications' names replaced by our own. */
function withOwnNames(layer: Layer): Layer {
  if (!isGroup(layer.value)) return layer;
  const value = { ...layer.value };
  const problems = [...layer.problems];
  const written = new Map<string, SettingPath>();
  for (const { path, setting } of specifiedNames) {
    const given = valueAt(value, path);
    if (given === undefined) continue;
    put(value, path, undefined);
    const other = valueAt(value, setting);
    if (other === undefined) {
      put(value, setting, given);
      written.set(setting.join("."), path);
    } else if (other !== given) {
      const { path: name } = layer.problemAt(setting, "key", "");
      problems.push(layer.problemAt(path, "value", `says something else than ${name}; keep one of the two`));
    }
  }
  if (!takeKeepSystemPrompt(value)) {
    problems.push(layer.problemAt([KEEP_SYSTEM_PROMPT], "value", "must be true or false"));
  }
  return {
    value,
    problems,
    problemAt: (path, at, message) => layer.problemAt(written.get(path.join(".")) ?? path, at, message),
  };
}

/** Replaces the flag with its meaning; false if the value is not a boolean. */
function takeKeepSystemPrompt(value: Record<string, unknown>): boolean {
  const keeps = value[KEEP_SYSTEM_PROMPT];
  delete value[KEEP_SYSTEM_PROMPT];
  if (typeof keeps !== "boolean") return keeps === undefined;
  const path = ["policy", "roles_never_prune"];
  const roles = valueAt(value, path) ?? defaultConfig.policy.rolesNeverPrune;
  if (!Array.isArray(roles)) return true;
  const others = roles.filter((role: unknown) => role !== "system");
  put(value, path, keeps ? ["system", ...others] : others);
  return true;
}

/** Sets the value at a path of one or two segments; undefined removes it. */
export function put(
  value: Record<string, unknown>,
  [first = "", second]: readonly string[],
  given: unknown,
): void {
  if (second === undefined) {
    value[first] = given;
    return;
  }
  const group = value[first];
  // A group with a non-object value is left for the schema to reject.
  if (group === undefined || group === null) value[first] = { [second]: given };
  else if (isGroup(group)) value[first] = { ...group, [second]: given };
}

/** All problems of one layer, in text order. */
function checkLayer(layer: Layer): ConfigProblem[] {
  const problems: ConfigProblem[] = [...layer.problems];
  const seen = new Set(problems.map((problem) => problem.path));
  for (const { path, message, unknown } of faultsOf(withoutEmptyGroups(layer.value))) {
    const more = unknown === true ? suggestion(path.slice(0, -1), String(path.at(-1)), layer.problemAt) : "";
    const problem = layer.problemAt(path, unknown === true ? "key" : "value", message + more);
    if (!seen.has(problem.path)) problems.push(problem);
    seen.add(problem.path);
  }
  return problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

const REFUSALS: Readonly<Record<Guard, string>> = {
  inside: "leads outside the working directory",
  narrow: "takes out much of any text, which nobody could read any more",
  never: "may not be set here",
  default: "may not be set here",
};

/** Invalid patterns are reported elsewhere. */
function isBroad(patterns: unknown): boolean {
  try {
    return Array.isArray(patterns) && takesOrdinaryText(patterns.map(String));
  } catch {
    return false;
  }
}

/** Problems with settings that a file may only contain if the user named the file explicitly. */
export function checkGuards(given: Layer): ConfigProblem[] {
  const layer = withOwnNames(given);
  const problems: ConfigProblem[] = [];
  for (const { path, guard } of settings) {
    const value = guard === undefined ? undefined : valueAt(layer.value, path);
    if (value === undefined || (guard === "default" && value === valueAt(defaultConfig, path))) continue;
    const refused =
      guard === "inside"
        ? typeof value === "string" && leavesFolder(value)
        : guard !== "narrow" || isBroad(value);
    if (!refused) continue;
    const message = `${REFUSALS[guard ?? "never"]}, and this file was found there, not asked for: name it with --config or COMPACT_CONFIG if you trust it`;
    problems.push(layer.problemAt(path, "value", message));
  }
  return problems;
}

/** The window for a configuration that does not set one; undefined if unknown. */
export type WindowOf = (config: CompactConfig) => number | undefined;

/** Merges code settings over the defaults. Throws `InvalidConfig` with all problems. */
export function mergeConfig(input: CompactConfigInput, windowOf?: WindowOf): CompactConfig {
  requireOptions(input, "config");
  return mergeLayers([codeLayer(input, "")], windowOf);
}

/** Merges values over the default policy. Throws `InvalidConfig`. */
export function mergePolicy(given: CompactConfigInput["policy"]): Policy {
  return mergeConfig({ policy: given }).policy;
}

/**
 * Merges the layers over the defaults; later layers win. Throws `InvalidConfig` with the problems of all
 * layers.
 */
export function mergeLayers(layers: readonly Layer[], windowOf?: WindowOf): CompactConfig {
  const { config, problems } = laidOver(layers, windowOf);
  if (config === undefined || problems.length > 0) throw configError(problems);
  return config;
}

/** All problems within and between the layers. */
export function problemsOf(layers: readonly Layer[], windowOf?: WindowOf): readonly ConfigProblem[] {
  return laidOver(layers, windowOf).problems;
}

/** The origin of each setting that a layer sets: its path, and its place in the last layer that sets it. */
export function originsOf(layers: readonly Layer[]): Readonly<Record<string, string>> {
  const origins: Record<string, string> = {};
  for (const layer of layers.map(withOwnNames)) {
    for (const { path } of settings) {
      if (valueAt(layer.value, path) === undefined) continue;
      origins[path.join(".")] = layer.problemAt(path, "value", "").place;
    }
  }
  return origins;
}

function laidOver(
  given: readonly Layer[],
  windowOf: WindowOf | undefined,
): { readonly config?: CompactConfig; readonly problems: readonly ConfigProblem[] } {
  const layers = given.map(withOwnNames);
  const problems = layers.flatMap(checkLayer);
  if (problems.length > 0) return { problems };
  const config = layers.reduce<unknown>(
    (merged, layer) => merge(merged, renameKeys(withoutEmptyGroups(layer.value), toCamelCase)),
    defaultConfig,
  ) as CompactConfig;
  return { config, problems: checkTogether(config, layers, windowOf) };
}

/** Groups are merged key by key; lists and scalars replace. */
function merge(below: unknown, above: unknown): unknown {
  if (!isGroup(below) || !isGroup(above)) return above;
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) {
    merged[key] = Object.hasOwn(merged, key) ? merge(merged[key], value) : value;
  }
  return merged;
}

/** Checks settings that are valid one by one but contradict each other. */
function checkTogether(
  config: CompactConfig,
  layers: readonly Layer[],
  windowOf: WindowOf | undefined,
): ConfigProblem[] {
  const { policy, summarizer, storage } = config;
  const window = config.maxContextTokens ?? windowOf?.(config);
  const windowAt = { path: ["max_context_tokens"], value: window };
  const buffer = { path: ["policy", "hard_cap_buffer"], value: policy.hardCapBuffer };
  const target = { path: ["policy", "target_context_tokens"], value: policy.targetContextTokens };
  const ceiling = { path: ["policy", "max_tokens"], value: policy.maxTokens };
  const summary = { path: ["summarizer", "max_summary_tokens"], value: summarizer.maxSummaryTokens };
  const left = window === undefined ? undefined : window - policy.hardCapBuffer;
  const budget = { ...windowAt, name: "the window without its buffer" };
  const pairs: [Bound, Bound][] = [
    [buffer, windowAt],
    [target, ceiling],
    // If nothing is left, the buffer itself is at fault.
    [target, { ...budget, value: left !== undefined && left <= 0 ? undefined : left }],
    [summary, ceiling],
  ];
  const contradictions = pairs.flatMap(([small, large]) => {
    if (small.value === undefined || large.value === undefined || small.value < large.value) return [];
    return [contradiction(small, large, layers)];
  });
  const path = ["storage", "kind"];
  const asksForBucket = layers.findLast(({ value }) => valueAt(value, path) === "s3");
  if (asksForBucket === undefined || storage.kind !== "s3" || storage.bucket !== undefined)
    return contradictions;
  return [...contradictions, asksForBucket.problemAt(path, "value", NO_BUCKET)];
}

const NO_BUCKET = "is s3, and no bucket is named: set storage.bucket, or COMPACT_STORAGE_BUCKET";

interface Bound {
  readonly path: readonly string[];
  readonly value: number | undefined;
  /** Display name. Default: the path. */
  readonly name?: string;
}

/** The problem of two bounds in the wrong order, reported at one that a layer sets. */
function contradiction(small: Bound, large: Bound, layers: readonly Layer[]): ConfigProblem {
  const owner = (bound: Bound): Layer | undefined =>
    layers.findLast((layer) => valueAt(layer.value, bound.path) !== undefined);
  const smallOwner = owner(small);
  const largeOwner = owner(large);
  const speaker = smallOwner ?? largeOwner ?? layers[0];
  const words = ({ name, path, value }: Bound): string =>
    `${name ?? speaker?.problemAt(path, "key", "").path ?? path.join(".")}, which is ${value}`;
  const message = `must be less than ${words(large)}`;
  return (
    smallOwner?.problemAt(small.path, "value", message) ??
    largeOwner?.problemAt(large.path, "value", `must be more than ${words(small)}`) ?? {
      place: "defaults",
      path: small.path.join("."),
      message,
    }
  );
}

/** A policy with a reachable target, and what to report if it had none. */
interface SettledTarget {
  readonly policy: Policy;
  readonly warning: string | undefined;
}

/**
 * A target at or above the trigger is unreachable: what may be pruned would be kept until the next call
 * compacts again. Such a compaction follows the keep counts, as specification 002 does with 150,000 of
 * 180,000 and 0.8.
 */
export function settleTarget(policy: Policy, window: number): SettledTarget {
  const { targetContextTokens: target, triggerPct } = policy;
  const trigger = Math.floor(window * triggerPct);
  if (target === undefined || target < trigger) return { policy, warning: undefined };
  const warning =
    `the target of ${target} tokens is not below the trigger, which is ${trigger} (${triggerPct} of ${window}): ` +
    "a compaction keeps what the keep counts say, and does not fill up to the target; set targetContextTokens lower to keep more";
  return { policy: { ...policy, targetContextTokens: undefined }, warning };
}

/** The value at a path, own keys only; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (!isGroup(current) || !Object.hasOwn(current, step)) return undefined;
    current = current[step];
  }
  return current;
}

/** A group whose entries are all commented out parses as null and sets nothing. */
function withoutEmptyGroups(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (!isGroup(value)) return value;
  const isEmptyGroup = ([key, inner]: [string, unknown]): boolean =>
    inner === null && (key === "models" || namesBelow([key]).length > 0);
  return Object.fromEntries(Object.entries(value).filter((entry) => !isEmptyGroup(entry)));
}

/** True for list indexes and model names, which are never respelled. */
function isOwnName(path: SettingPath, index: number): boolean {
  return typeof path[index] === "number" || (index === 1 && path[0] === "models");
}

/** Suggests similar names at this level, then in other groups, spelled as in the layer's source. */
function suggestion(path: SettingPath, key: string, problemAt: Layer["problemAt"]): string {
  const written = (setting: SettingPath): string => problemAt(setting, "key", "").path;
  const here = namesBelow(path).map((name) => lastStep(written([...path, name])));
  return didYouMean(
    key,
    here,
    settings.map((setting) => written(setting.path).split(".")),
  );
}

function lastStep(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** True for absolute paths, URLs, home folders and paths with `..`, in any system's spelling. */
function leavesFolder(path: string): boolean {
  return /^(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(path) || path.split(/[\\/]/).includes("..");
}
