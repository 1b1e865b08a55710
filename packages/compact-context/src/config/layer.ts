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

// Settings from a file, the environment or code: held to the one schema, and laid over one another.

/** One thing wrong with a configuration. */
export interface ConfigProblem {
  /** `compact.yaml:3:17`, an environment variable's name, or `code`; empty where only one place is possible. */
  readonly place: string;
  /** From 1; absent outside files. */
  readonly line?: number;
  /** From 1; absent outside files. */
  readonly column?: number;
  /** Dotted path of the setting, such as `policy.trigger_pct`; empty for the whole. */
  readonly path: string;
  /** What is wrong, such as `must be 0.0-1.0`. */
  readonly message: string;
}

/** Names and indexes that lead to a value. */
export type SettingPath = readonly (string | number)[];

/** Settings from one source, in file names, and how to point at them there. */
export interface Layer {
  readonly value: unknown;
  /** What was wrong before any setting could be looked at. */
  readonly problems: readonly ConfigProblem[];
  /** A problem with the value at a path, or with its key. */
  problemAt(path: SettingPath, at: "key" | "value", message: string): ConfigProblem;
}

/** More than this many problems are counted, not listed. */
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

/** The error that lists every problem; `place` is the first one's. */
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

/** Settings given in code, under camelCase names; `place` is what problems call that source. */
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

/** What a getter or a proxy of the caller throws is told like any other fault. */
function readGiven(read: () => unknown): unknown {
  try {
    return read();
  } catch (cause) {
    const hint = "Pass a plain object with the settings.";
    throw new CompactError("InvalidConfig", "config cannot be read", { place: "config", hint, cause });
  }
}

/** The layer's settings under their own names, where it calls them as the specifications do. */
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

/** Puts the flag's meaning in place of the flag; false where it is no flag. */
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

/** Sets, or with undefined removes, what is at a path of one step or two. */
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
  // A group that is no group stays for the schema to refuse.
  if (group === undefined || group === null) value[first] = { [second]: given };
  else if (isGroup(group)) value[first] = { ...group, [second]: given };
}

/** Everything wrong in one layer, in the order of its text. */
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

/** Patterns that cannot be read are told of elsewhere. */
function isBroad(patterns: unknown): boolean {
  try {
    return Array.isArray(patterns) && takesOrdinaryText(patterns.map(String));
  } catch {
    return false;
  }
}

/** What a file says that it may not say unless somebody asked for that file by name. */
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

/** The window of a configuration that does not say it itself; undefined where that is not known. */
export type WindowOf = (config: CompactConfig) => number | undefined;

/** The defaults with what code says laid over them. Throws `InvalidConfig` with everything that is wrong. */
export function mergeConfig(input: CompactConfigInput, windowOf?: WindowOf): CompactConfig {
  requireOptions(input, "config");
  return mergeLayers([codeLayer(input, "")], windowOf);
}

/** The default policy with the given values laid over it. Throws `InvalidConfig`. */
export function mergePolicy(given: CompactConfigInput["policy"]): Policy {
  return mergeConfig({ policy: given }).policy;
}

/** The defaults with the layers laid over them, the later winning. Throws `InvalidConfig` with the problems of all. */
export function mergeLayers(layers: readonly Layer[], windowOf?: WindowOf): CompactConfig {
  const { config, problems } = laidOver(layers, windowOf);
  if (config === undefined || problems.length > 0) throw configError(problems);
  return config;
}

/** Everything wrong in the layers and between them. */
export function problemsOf(layers: readonly Layer[], windowOf?: WindowOf): readonly ConfigProblem[] {
  return laidOver(layers, windowOf).problems;
}

/** Where each setting comes from that is not a default: its path, and the place in the last layer that says it. */
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
    // Where nothing is left, the buffer is what is wrong.
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
  /** How to call it; the path when left out. */
  readonly name?: string;
}

/** The problem of two bounds the wrong way round, at the one that somebody set. */
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

/** A policy with a target that can be aimed for, and what to tell where it had none. */
interface SettledTarget {
  readonly policy: Policy;
  readonly warning: string | undefined;
}

/**
 * A target at or over the trigger cannot be aimed for: what may leave would be kept until the next call compacts again.
 * Such a compaction keeps what the keep counts say, as specification 002 has it with 150,000 of 180,000 and 0.8.
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

/** The value at a path through own keys; undefined where there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const step of path) {
    if (!isGroup(current) || !Object.hasOwn(current, step)) return undefined;
    current = current[step];
  }
  return current;
}

/** A group whose entries are all commented out reads as null: that sets nothing. */
function withoutEmptyGroups(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (!isGroup(value)) return value;
  const isEmptyGroup = ([key, inner]: [string, unknown]): boolean =>
    inner === null && (key === "models" || namesBelow([key]).length > 0);
  return Object.fromEntries(Object.entries(value).filter((entry) => !isEmptyGroup(entry)));
}

/** True for list positions and for names of models, which are nobody's to respell. */
function isOwnName(path: SettingPath, index: number): boolean {
  return typeof path[index] === "number" || (index === 1 && path[0] === "models");
}

/** Names at this level, else in another group, as they are written where the layer comes from. */
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

/** True for absolute paths, URLs, home folders and paths with `..`, in the spelling of any system. */
function leavesFolder(path: string): boolean {
  return /^(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(path) || path.split(/[\\/]/).includes("..");
}
