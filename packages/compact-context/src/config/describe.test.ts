import { expect, it } from "vitest";
import { toSnakeCase } from "./schema.ts";
import { defaultConfig } from "./settings.ts";
import { configTable, describeConfig } from "./sources.ts";

it("every default is described, with path, variable, values and meaning", () => {
  const rows = describeConfig();
  const described = new Set(rows.map((row) => row.path));
  for (const [name, section] of Object.entries(defaultConfig)) {
    if (name === "models") continue;
    for (const field of Object.keys(section)) {
      expect(described).toContain(`${toSnakeCase(name)}.${toSnakeCase(field)}`);
    }
  }
  for (const row of rows) {
    expect(row.env).toMatch(/^COMPACT_[A-Z_]+$/);
    expect(row.meaning).toMatch(/\.$/);
    expect(row.values).not.toBe("");
  }
  expect(new Set(rows.map((row) => row.env)).size).toBe(rows.length);
  expect(rows.find((row) => row.path === "policy.trigger_pct")).toEqual({
    path: "policy.trigger_pct",
    env: "COMPACT_TRIGGER_PCT",
    default: "0.85",
    values: "0.0-1.0",
    meaning: "Share of the window at which a compaction starts, as a ratio: 0.85 is 85 %.",
  });
});

it("the table has one row a setting and no cell broken by a bar", () => {
  const lines = configTable().split("\n");
  expect(lines).toHaveLength(describeConfig().length + 2);
  for (const line of lines) expect(line.split("|")).toHaveLength(6);
});
