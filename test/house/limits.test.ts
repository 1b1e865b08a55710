import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "./cruise.ts";

const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome");
const branch = (depth: number): string =>
  depth === 0 ? "" : `if (value > ${depth}) { ${branch(depth - 1)} }`;

/** Code that goes beyond one limit, and the rule that holds it. */
const beyond: readonly (readonly [rule: string, code: string])[] = [
  ["noExcessiveLinesPerFile", "export const line: number = 1;\n".repeat(701)],
  [
    "noExcessiveLinesPerFunction",
    `export function long(): void {\n${"  JSON.stringify(1);\n".repeat(81)}}\n`,
  ],
  [
    "useMaxParams",
    "export function wide(a: 1, b: 1, c: 1, d: 1, e: 1, f: 1): void { JSON.stringify([a, b, c, d, e, f]); }\n",
  ],
  ["noExcessiveCognitiveComplexity", `export function deep(value: number): void { ${branch(6)} }\n`],
  ["noDefaultExport", "export default 1;\n"],
  ["noReExportAll", 'export * from "./fine.ts";\n'],
  ["noExplicitAny", "export const anything: any = 1;\n"],
  ["noNonNullAssertion", "export const sure: number = [1][0]!;\n"],
  ["noImportCycles", 'import "./other.ts";\n'],
  [
    "noFloatingPromises",
    "async function later(): Promise<void> {}\nexport function now(): void {\n  later();\n}\n",
  ],
  ["useImportType", 'import { fine } from "./fine.ts";\nexport type Fine = typeof fine;\n'],
];

const fine = "export function fine(value: number): number {\n  return value + 1;\n}\n";

interface Report {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly location: { readonly path: string };
  }[];
}

describe("the linter", () => {
  const folder = mkdtempSync(join(tmpdir(), "compact-limits-"));
  let broken: Map<string, string[]>;
  beforeAll(() => {
    mkdirSync(join(folder, "src"));
    copyFileSync(join(root, "biome.json"), join(folder, "biome.json"));
    for (const [rule, code] of [
      ...beyond,
      ["fine", fine] as const,
      ["other", 'import "./noImportCycles.ts";\n'] as const,
    ]) {
      writeFileSync(join(folder, "src", `${rule}.ts`), code);
    }
    const args = [biome, "lint", "--vcs-enabled=false", "--max-diagnostics=none", "--reporter=json", "src"];
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    const { diagnostics } = JSON.parse(stdout) as Report;
    broken = new Map();
    for (const { category, location } of diagnostics) {
      const rule = category.slice(category.lastIndexOf("/") + 1);
      broken.set(location.path, [...(broken.get(location.path) ?? []), rule]);
    }
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(beyond.map(([rule]) => rule))("holds %s", (rule) => {
    expect(broken.get(`src/${rule}.ts`)).toContain(rule);
  });

  it("has nothing against code within the limits", () => {
    expect(broken.get("src/fine.ts")).toBeUndefined();
  });
});
