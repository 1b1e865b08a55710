import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "compact-benchmarks-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const bench = (...args: string[]): string =>
  execFileSync(process.execPath, ["bench/run.mjs", ...args], { cwd: root, encoding: "utf8", stdio: "pipe" });

const page = readFileSync(join(root, "docs/benchmarks.md"), "utf8");

it("every page and picture of the benchmarks is what the stored figures make", { timeout: 120_000 }, () => {
  bench("--page", "--out", scratch);
  const files = readdirSync(scratch, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(scratch.length + 1));
  expect(files).toContain("docs/benchmarks.md");
  expect(files.filter((file) => file.endsWith(".svg")).length).toBeGreaterThan(3);
  for (const file of files)
    expect(readFileSync(join(root, file), "utf8"), file).toBe(readFileSync(join(scratch, file), "utf8"));
});

it("the page has a section for each benchmark, and says when and on what it was measured", () => {
  const names = [...page.matchAll(/^\| \[.+\]\(#.+\) \| `(\w+)` \|/gm)].map(([, name]) => name);
  const source = readFileSync(join(root, "bench/benches.mjs"), "utf8");
  expect(names).toEqual([...source.matchAll(/^ {2}(\w+): \(\) => import/gm)].map(([, name]) => name));
  expect(page.match(/^## /gm)).toHaveLength(names.length);
  const made = page.match(
    /^<sub>\d{4}-\d\d-\d\d, .+, \d+ cores, Node \d+.+, load \d+\.\d before the run\.<\/sub>$/gm,
  );
  expect(made).toHaveLength(names.length);
});

it("a benchmark runs from its command to its section, and writes nothing when it is only a look", {
  timeout: 120_000,
}, () => {
  const section = bench("--quick", "summary");
  expect(section).toMatch(/^## The built-in summary\n/);
  const row = /^\| ([\d,]+) \| \*\*([\d.]+)\*\* \(([\d.]+) – ([\d.]+)\) \| ([\d.]+) \(([\d.]+) x\) \|$/gm;
  const rows = [...section.matchAll(row)].map((cells) => cells.slice(1).map(Number));
  expect(rows).toHaveLength(2);
  for (const [, ours = 0, least = 0, most = 0, theirs = 0, times = 0] of rows) {
    expect(least).toBeLessThanOrEqual(ours);
    expect(ours).toBeLessThanOrEqual(most);
    expect(theirs / ours / times).toBeCloseTo(1, 1);
  }
  expect(readFileSync(join(root, "docs/benchmarks.md"), "utf8")).toBe(page);
});

it("a name that no benchmark has is told with those that there are", () => {
  expect(() => bench("nonsense")).toThrow(/No benchmark is called nonsense; there are counting, preflight/);
});
