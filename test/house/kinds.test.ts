import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import config from "../../vitest.config.ts";
import { command, library, root } from "./cruise.ts";

/** Names of all test files of a folder, from the repository's root; installed packages are passed over. */
function testFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFiles(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

it("TST-1 coverage below 85 % of the lines fails, in CI too, and there are tests of every kind", () => {
  const coverage: unknown = config.test?.coverage;
  const { include, exclude, thresholds } = coverage as {
    include: string[];
    exclude: string[];
    thresholds: { lines: number };
  };
  expect(thresholds.lines).toBeGreaterThanOrEqual(85);
  expect(include).toEqual(["packages/*/src/**/*.ts"]);
  expect(exclude).toEqual(["packages/*/src/**/*.test.ts", "packages/*/src/**/*.generated.ts"]);
  expect(readFileSync(join(root, ".ci/run"), "utf8")).toMatch(
    /^check env COMPACT_TESTS=whole npm test -- --coverage$/m,
  );
  const files = [library, command, "test"].flatMap(testFiles);
  const kinds = {
    unit: /^packages\/.*\.test\.ts$/,
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
