import { variablesOf } from "./environment.ts";
import { valueAt } from "./layer.ts";
import { toCamelCase } from "./names.ts";
import { settings } from "./schema.ts";
import { defaultConfig } from "./settings.ts";

/** One setting for people to read. */
export interface SettingDescription {
  /** In a file: `policy.trigger_pct`. */
  readonly path: string;
  /** The preferred environment variable. */
  readonly env: string;
  /** As JSON; empty when there is none. */
  readonly default: string;
  /** What a value must be. */
  readonly values: string;
  readonly meaning: string;
}

/** Every setting, in the order of the documentation. */
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

/** The same as a Markdown table. */
export function configTable(): string {
  const rows = describeConfig().map((row) => {
    const preset = row.default === "" ? "" : `\`${row.default}\``;
    return `| \`${row.path}\` | \`${row.env}\` | ${preset} | ${row.meaning} (${row.values}) |`;
  });
  return ["| setting | environment | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
}
