import type { Policy } from "../core/policy.ts";
import { CompactError, didYouMean, isObject, requireOptions } from "../errors.ts";
import { takesOrdinaryText } from "./ordinary-text.ts";
import {
  allSettings,
  faultsOf,
  type Group,
  type Guard,
  isSetting,
  KEEP_SYSTEM_PROMPT,
  ofModel,
  type SettingNote,
  settings,
  specifiedNames,
  toCamelCase,
} from "./schema.ts";
import { type CompactConfig, type CompactConfigInput, defaultConfig } from "./settings.ts";

// Settings from a file, the environment or code: each checked by one table, then laid over the defaults.

/** One problem with a configuration. */
export interface ConfigProblem {
  /** `compact.yaml:3:17`, the name of an environment variable, or `code`; empty if only one place is possible. */
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

/** Where settings come from. */
export interface Source {
  readonly value: unknown;
  /** Problems found before any setting could be read. */
  readonly problems: readonly ConfigProblem[];
  /** A problem with the value at a path, or with its key, both as the source writes them. */
  problemAt(path: SettingPath, at: "key" | "value", message: string): ConfigProblem;
  /** How the source writes a name of a file. */
  spell?(name: string): string;
}

/** A value that a source sets. */
interface Assigned {
  /** Names in a file. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** A problem with the value, at its place. */
  problem(message: string): ConfigProblem;
}

/** The settings of one source, each checked by itself. */
export interface Layer {
  /** By path in a file, such as `policy.trigger_pct`; `models` has no value, those of each model have. */
  readonly values: ReadonlyMap<string, Assigned>;
  readonly problems: readonly ConfigProblem[];
  spell(name: string): string;
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
  const [only = "", ...others] = lines;
  const message =
    others.length === 0 ? only : `${problems.length} problems in the configuration:\n  ${lines.join("\n  ")}`;
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
export function codeLayer(value: unknown, place = "code"): Layer {
  const problemAt: Source["problemAt"] = (path, _at, message) => ({ place, path: formatPath(path), message });
  try {
    return readLayer({ value, problems: [], problemAt, spell: toCamelCase });
  } catch (cause) {
    // A getter or a proxy of the caller may throw anything.
    const hint = "Pass a plain object with the settings.";
    throw new CompactError("InvalidConfig", "config cannot be read", { place: "config", hint, cause });
  }
}

/** Reads the settings of a source. All are optional; unknown names and wrong values become problems. */
export function readLayer({ value, problems: found, problemAt, spell = (name) => name }: Source): Layer {
  const values = new Map<string, Assigned>();
  const problems = [...found];
  const seen = new Set(problems.map(({ path }) => path));
  const report = (problem: ConfigProblem): void => {
    if (!seen.has(problem.path)) problems.push(problem);
    seen.add(problem.path);
  };

  const entriesOf = (given: unknown, what: string, problem: Assigned["problem"]): [string, unknown][] => {
    // A group whose entries are all commented out is null.
    if (given === undefined || given === null) return [];
    if (isObject(given)) return Object.entries(given).filter(([, inner]) => inner !== undefined);
    report(problem(`must be a group of ${what}`));
    return [];
  };

  const read = (group: Group, given: unknown, path: readonly string[], written: SettingPath): void => {
    const specified = specifiedNames.filter((one) => one.path.slice(0, -1).join() === path.join());
    const all: Group = {
      ...Object.fromEntries(specified.map((one) => [one.path.at(-1), one.note])),
      ...group,
    };
    const names = new Map(Object.keys(all).map((name) => [spell(name), name]));
    const problem = (message: string): ConfigProblem => problemAt(written, "value", message);
    for (const [key, inner] of entriesOf(given, "settings", problem)) {
      const name = names.get(key) ?? "";
      const one = all[name];
      const place = [...written, key];
      if (one === undefined) report(problemAt(place, "key", `is not a setting${suggestion(key, group)}`));
      else if (isSetting(one)) take(one, inner, [...path, name], place);
      else read(one, inner, [...path, name], place);
    }
  };

  const take = (note: SettingNote, given: unknown, path: readonly string[], written: SettingPath): void => {
    const isModels = note.schema.type === "object";
    const problem = (message: string): ConfigProblem => problemAt(written, "value", message);
    values.set(path.join("."), { path, value: isModels ? undefined : given, problem });
    if (!isModels) {
      for (const fault of faultsOf(note, given))
        report(problemAt([...written, ...fault.path], "value", fault.message));
      return;
    }
    for (const [name, inner] of entriesOf(given, "names", problem)) {
      if (name === "__proto__") report(problem("cannot hold `__proto__`"));
      else read(ofModel, inner, [...path, name], [...path, name]);
    }
  };

  const suggestion = (key: string, group: Group): string =>
    didYouMean(
      key,
      Object.keys(group).map(spell),
      settings.map(({ path }) => path.map(spell)),
    );

  read(allSettings, value, [], []);
  useOwnNames(values, report);
  return { values, problems: inTextOrder(problems), spell };
}

function inTextOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** Moves what is set under the specifications' names to our own. */
function useOwnNames(values: Map<string, Assigned>, report: (problem: ConfigProblem) => void): void {
  for (const { path, setting } of specifiedNames) {
    const given = values.get(path.join("."));
    if (given === undefined) continue;
    values.delete(path.join("."));
    const own = values.get(setting.join("."));
    const isFlag = path[0] === KEEP_SYSTEM_PROMPT;
    const value = isFlag ? rolesKept(given.value, own?.value) : given.value;
    if (!isFlag && own !== undefined && own.value !== value)
      report(given.problem(`says something else than ${own.problem("").path}; keep one of the two`));
    values.set(setting.join("."), { ...(own ?? given), path: setting, value });
  }
}

/** The roles that are never pruned, with or without `system`; as they are if one of the values is wrong. */
function rolesKept(keepsSystem: unknown, roles: unknown = defaultConfig.policy.rolesNeverPrune): unknown {
  if (typeof keepsSystem !== "boolean" || !Array.isArray(roles)) return roles;
  const others = roles.filter((role: unknown) => role !== "system");
  return keepsSystem ? ["system", ...others] : others;
}

const REFUSALS: Readonly<Record<Guard, string>> = {
  inside: "leads outside the working directory",
  narrow: "takes out much of any text, which nobody could read any more",
  never: "may not be set here",
  default: "may not be set here",
};

/**
 * The layer of a file that the user did not name: settings that it may not contain are problems, whatever their
 * values.
 */
export function checkGuards(layer: Layer): Layer {
  const refused = settings.flatMap(({ path, guard }): ConfigProblem[] => {
    const given = layer.values.get(path.join("."));
    if (given === undefined || guard === undefined) return [];
    const { value, problem } = given;
    if (guard === "default" && value === valueAt(defaultConfig, path.map(toCamelCase))) return [];
    if (guard === "inside" && !(typeof value === "string" && leavesFolder(value))) return [];
    if (guard === "narrow" && !takesOrdinaryText(value)) return [];
    const named =
      "this file was found there, not asked for: name it with --config or COMPACT_CONFIG if you trust it";
    return [problem(`${REFUSALS[guard]}, and ${named}`)];
  });
  const others = layer.problems.filter(({ path }) => !refused.some((one) => one.path === path));
  return { ...layer, problems: inTextOrder([...refused, ...others]) };
}

/** The window for a configuration that does not set one; undefined if unknown. */
export type WindowOf = (config: CompactConfig) => number | undefined;

/** Merges code settings over the defaults. Throws `InvalidConfig` with all problems. */
export function mergeConfig(input: CompactConfigInput, windowOf?: WindowOf): CompactConfig {
  requireOptions(input, "config");
  return mergeLayers([codeLayer(input, "")], windowOf);
}

/** Merges the layers over the defaults; later layers win. Throws `InvalidConfig` with the problems of all layers. */
export function mergeLayers(layers: readonly Layer[], windowOf?: WindowOf): CompactConfig {
  const problems = problemsOf(layers, windowOf);
  if (problems.length > 0) throw configError(problems);
  return laidOver(layers);
}

/** All problems within and between the layers. */
export function problemsOf(layers: readonly Layer[], windowOf?: WindowOf): readonly ConfigProblem[] {
  const problems = layers.flatMap((layer) => layer.problems);
  return problems.length > 0 ? problems : checkTogether(laidOver(layers), layers, windowOf);
}

/** The origin of each setting that a layer sets: its path, and its place in the last layer that sets it. */
export function originsOf(layers: readonly Layer[]): Readonly<Record<string, string>> {
  const origins: Record<string, string> = {};
  for (const { values } of layers) {
    for (const { path } of settings) {
      const given = values.get(path.join("."));
      if (given !== undefined) origins[path.join(".")] = given.problem("").place;
    }
  }
  return origins;
}

/** The defaults with the values of the layers, which have no problems. */
function laidOver(layers: readonly Layer[]): CompactConfig {
  const config: Record<string, unknown> = { ...defaultConfig };
  for (const { path, value } of layers.flatMap(({ values }) => [...values.values()])) {
    if (value === undefined) continue;
    let group = config;
    path.slice(0, -1).forEach((step, depth) => {
      const isModelName = depth === 1 && path[0] === "models";
      const name = isModelName ? step : toCamelCase(step);
      const before = Object.hasOwn(group, name) ? group[name] : undefined;
      const inner = { ...(before as object | undefined) };
      group[name] = inner;
      group = inner;
    });
    group[toCamelCase(path.at(-1) ?? "")] = value;
  }
  return config as unknown as CompactConfig;
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
  const kind = layers.findLast(({ values }) => values.has("storage.kind"))?.values.get("storage.kind");
  if (kind === undefined || storage.kind !== "s3" || storage.bucket !== undefined) return contradictions;
  return [...contradictions, kind.problem(NO_BUCKET)];
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
  const setBy = ({ path }: Bound): Layer | undefined =>
    layers.findLast(({ values }) => values.has(path.join(".")));
  const [smallLayer, largeLayer] = [setBy(small), setBy(large)];
  const { spell } = smallLayer ?? largeLayer ?? { spell: (name: string) => name };
  const words = ({ name, path, value }: Bound): string =>
    `${name ?? path.map(spell).join(".")}, which is ${value}`;
  const message = `must be less than ${words(large)}`;
  return (
    smallLayer?.values.get(small.path.join("."))?.problem(message) ??
    largeLayer?.values.get(large.path.join("."))?.problem(`must be more than ${words(small)}`) ?? {
      place: "defaults",
      path: small.path.join("."),
      message,
    }
  );
}

/**
 * A policy with a reachable target, and what to report if it had none. A target at or above the trigger is unreachable:
 * what may be pruned would be kept until the next call compacts again. Such a compaction follows the keep counts, as
 * specification 002 does with 150,000 of 180,000 and 0.8.
 */
export function settleTarget(
  policy: Policy,
  window: number,
): { readonly policy: Policy; readonly warning: string | undefined } {
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
    if (!isObject(current) || !Object.hasOwn(current, step)) return undefined;
    current = current[step];
  }
  return current;
}

/** True for absolute paths, URLs, home folders and paths with `..`, in any system's spelling. */
function leavesFolder(path: string): boolean {
  return /^(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(path) || path.split(/[\\/]/).includes("..");
}
