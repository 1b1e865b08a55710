import { describe, expect, it } from "vitest";
import { valueAt } from "./layer.ts";
import { loadConfig } from "./load.ts";
import { type Setting, settings, toCamelCase } from "./schema.ts";
import { variablesOf } from "./sources.ts";

/** A value other than the default, as environment text and as the configuration stores it. */
function sample({ path, schema: { type }, values }: Setting): [string, unknown] {
  if (values === "0.0-1.0") return ["0.5", 0.5];
  if (values === "0.0-2.0") return ["0.5", 0.5];
  if (type === "integer") return ["90000", 90000];
  if (type === "boolean")
    return valueAt(presets, path.map(toCamelCase)) === true ? ["0", false] : ["1", true];
  if (type === "object") return ['{"own": {"max_context_tokens": 5}}', { own: { maxContextTokens: 5 } }];
  if (path.at(-1) === "patterns") return ['["a,b", "c"]', ["a,b", "c"]];
  if (type === "array") return ["user, tool", ["user", "tool"]];
  const last = /^one of .*?([\w-]+)$/.exec(values)?.[1] ?? "some/text";
  return [last, last];
}

const presets = loadConfig({ env: {} }).config;
const message = (env: Record<string, string>): string => {
  try {
    loadConfig({ env });
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
};

describe("environment", () => {
  it.each(settings.flatMap((setting) => variablesOf(setting).map((name) => [name, setting] as const)))(
    "CFG-2 %s sets its field",
    (name, setting) => {
      const [text, value] = sample(setting);
      const { config, warnings } = loadConfig({ env: { [name]: text } });
      expect(valueAt(config, setting.path.map(toCamelCase))).toEqual(value);
      expect(warnings).toEqual([]);
    },
  );

  it("policy settings have a short name and a full one, others only the full one", () => {
    const names = new Map(settings.map((setting) => [setting.path.join("."), variablesOf(setting)]));
    expect(names.get("policy.trigger_pct")).toEqual([
      "COMPACT_TRIGGER_PCT",
      "COMPACT_POLICY_TRIGGER_PCT",
      "COMPACT_SUMMARY_TRIGGER_RATIO",
    ]);
    expect(names.get("storage.root")).toEqual(["COMPACT_STORAGE_ROOT"]);
    expect(names.get("model")).toEqual(["COMPACT_MODEL"]);
  });

  it("an error names the variable and the path", () => {
    expect(message({ COMPACT_TRIGGER_PCT: "2" })).toBe(
      "COMPACT_TRIGGER_PCT policy.trigger_pct must be 0.0-1.0",
    );
    expect(message({ COMPACT_ROLES_NEVER_PRUNE: "system,robot" })).toBe(
      "COMPACT_ROLES_NEVER_PRUNE policy.roles_never_prune[1] must be one of system, developer, user, assistant, tool",
    );
    expect(message({ COMPACT_MODELS: '{"a": ' })).toMatch(/^COMPACT_MODELS:1:\d+ is not valid YAML/);
    expect(message({ COMPACT_MODELS: '{"a": {"windw": 1}}' })).toBe(
      "COMPACT_MODELS models.a.windw is not a setting; did you mean window?",
    );
  });

  it.each(["", " ", "1e", "0x1", "0,9", "NaN", "Infinity", "ninety", "constructor"])(
    "refuses the number %j",
    (text) => {
      expect(message({ COMPACT_TRIGGER_PCT: text })).toMatch(
        /^COMPACT_TRIGGER_PCT policy.trigger_pct (must be 0.0-1.0|is set to nothing)/,
      );
    },
  );

  it.each(["yes", "constructor", "2"])("refuses the boolean %j", (text) => {
    expect(message({ COMPACT_CLEAR_TOOL_RESULTS: text })).toBe(
      "COMPACT_CLEAR_TOOL_RESULTS policy.clear_tool_results must be true or false",
    );
  });

  it("both names of a setting may agree and may not differ", () => {
    const both = (short: string, full: string) =>
      message({ COMPACT_TRIGGER_PCT: short, COMPACT_POLICY_TRIGGER_PCT: full });
    expect(both("0.9", "0.90")).toBe("accepted");
    expect(both("0.9", "0.8")).toBe(
      "COMPACT_POLICY_TRIGGER_PCT policy.trigger_pct says something else than COMPACT_TRIGGER_PCT; unset one of the two",
    );
  });

  it("the URL of Postgres is known, and in no setting", () => {
    const { config, warnings } = loadConfig({
      env: { COMPACT_POSTGRES_URL: "postgres://me:secret@host/db" },
    });
    expect({ config, warnings }).toEqual({ config: presets, warnings: [] });
  });

  it("unknown variables with the prefix warn and change nothing", () => {
    const { config, warnings } = loadConfig({
      env: { COMPACT_TRIGER_PCT: "0.5", COMPACT_OF_OTHERS: "x", PATH: "/bin", COMPACT_CONFIG: undefined },
    });
    expect(warnings).toEqual([
      "COMPACT_TRIGER_PCT is not a setting of Compact; did you mean COMPACT_TRIGGER_PCT?",
      "COMPACT_OF_OTHERS is not a setting of Compact",
    ]);
    expect(config).toEqual(presets);
  });
});
