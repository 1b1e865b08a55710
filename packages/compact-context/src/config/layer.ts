import type { z } from "zod";
import { didYouMean } from "./did-you-mean.ts";
import { isGroup, renameKeys, toCamelCase, toSnakeCase } from "./names.ts";
import { type ConfigProblem, formatPath, type SettingPath } from "./problem.ts";
import { configSchema, namesBelow, settings } from "./schema.ts";

/** Settings from one source, in file names, and how to point at them there. */
export interface Layer {
  readonly value: unknown;
  /** What was wrong before any setting could be looked at. */
  readonly problems: readonly ConfigProblem[];
  /** A problem with the value at a path, or with its key. */
  problemAt(path: SettingPath, at: "key" | "value", message: string): ConfigProblem;
}

/** Settings given in code, under camelCase names. */
export function codeLayer(overrides: unknown): Layer {
  const problems: ConfigProblem[] = [];
  const problemAt = (path: SettingPath, _at: "key" | "value", message: string): ConfigProblem => ({
    place: "code",
    path: formatPath(path.map((step, index) => (isOwnName(path, index) ? step : toCamelCase(String(step))))),
    message,
  });
  const value = renameKeys(overrides, (key, path) => {
    const name = toSnakeCase(key);
    if (key === toCamelCase(name)) return name;
    const message = `is not a setting${suggestion(path.slice(0, -1).map(toSnakeCase), key, problemAt)}`;
    problems.push({ place: "code", path: formatPath(path), message });
    return name;
  });
  // A record schema passes over this key in silence.
  if (Object.hasOwn(Object(valueAt(value, ["models"])), "__proto__")) {
    problems.push({ place: "code", path: "models", message: "cannot hold `__proto__`" });
  }
  return { value, problems, problemAt };
}

/** Everything wrong in one layer, in the order of its text. */
export function checkLayer(layer: Layer): ConfigProblem[] {
  const problems: ConfigProblem[] = [...layer.problems];
  const seen = new Set(problems.map((problem) => problem.path));
  const result = configSchema.safeParse(withoutEmptyGroups(layer.value));
  const issues = result.success ? [] : result.error.issues;
  for (const problem of issues.flatMap((issue) => problemsOf(issue, layer))) {
    if (!seen.has(problem.path)) problems.push(problem);
    seen.add(problem.path);
  }
  return problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** What a file says that it may not say unless somebody asked for that file by name. */
export function checkGuards(layer: Layer): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const { path, guard } of settings) {
    const value = guard === undefined ? undefined : valueAt(layer.value, path);
    if (value === undefined || (guard === "inside" && !(typeof value === "string" && leavesFolder(value))))
      continue;
    const what = guard === "inside" ? "leads outside the working directory" : "may not be set here";
    const message = `${what}, and this file was found there, not asked for: name it with --config or COMPACT_CONFIG if you trust it`;
    problems.push(layer.problemAt(path, "value", message));
  }
  return problems;
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
export function withoutEmptyGroups(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (!isGroup(value)) return value;
  const isEmptyGroup = ([key, inner]: [string, unknown]): boolean =>
    inner === null && (key === "models" || namesBelow([key]).length > 0);
  return Object.fromEntries(Object.entries(value).filter((entry) => !isEmptyGroup(entry)));
}

function problemsOf(issue: z.core.$ZodIssue, layer: Layer): ConfigProblem[] {
  const path = issue.path.filter((step) => typeof step !== "symbol");
  if (issue.code !== "unrecognized_keys") return [layer.problemAt(path, "value", issue.message)];
  return issue.keys.map((key) => {
    const problem = layer.problemAt([...path, key], "key", "");
    return { ...problem, message: `is not a setting${suggestion(path, key, layer.problemAt)}` };
  });
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
