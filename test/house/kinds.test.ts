import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import config from "../../vitest.config.ts";
import { root } from "./cruise.ts";

/** Names of all test files, from the repository's root. */
function testFiles(): string[] {
  return ["src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
      .map((name) => `${folder}/${name}`),
  );
}

it("TST-1 coverage below 85 % of the lines fails, in CI too, and there are tests of every kind", () => {
  const coverage: unknown = config.test?.coverage;
  const { include, exclude, thresholds } = coverage as {
    include: string[];
    exclude: string[];
    thresholds: { lines: number };
  };
  expect(thresholds.lines).toBeGreaterThanOrEqual(85);
  expect(include).toEqual(["src/**/*.ts"]);
  expect(exclude).toEqual(["src/**/*.test.ts", "src/**/*.generated.ts"]);
  expect(readFileSync(join(root, ".ci/run"), "utf8")).toMatch(/^check npm test -- --coverage$/m);
  const files = testFiles();
  const kinds = {
    unit: /^src\/.*\.test\.ts$/,
    integration: /^test\/(?:compat|e2e|postgres|workers|sessions)\//,
    golden: /^test\/golden\//,
    property: /^test\/property\//,
    soak: /^test\/soak\//,
    security: /^test\/(?:faults\/attacks|tracing\/hostile|browser\/view-attacks)\.test\.ts$/,
  };
  for (const [kind, pattern] of Object.entries(kinds)) {
    expect(files.filter((file) => pattern.test(file)).length, kind).toBeGreaterThan(0);
  }
});
