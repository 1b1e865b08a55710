import { CompactError } from "../errors.ts";

/** One thing wrong with a configuration. */
export interface ConfigProblem {
  /** `compact.yaml:3:17`, an environment variable's name, or `code`. */
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
  const place = problems[0]?.place;
  const inFile = problems.some(({ line }) => line !== undefined);
  const next = inFile
    ? "`compact config check FILE` checks a file without running anything"
    : "docs/configuration.md lists the settings and their ranges";
  return new CompactError("InvalidConfig", message, {
    hint: `Correct the settings named above; ${next}.`,
    place,
  });
}
