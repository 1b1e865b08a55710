import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./scripts/source-aliases.mjs";
import { whole } from "./test/whole.ts";

// Not what was built: tests share each module with the sources that they test.
const ignored = ["**/node_modules/**", "**/dist/**"];

/** Tests that measure their own process, or count its timers. */
const measuring = [
  "packages/compact-context/src/summarizers/extractive/builtin.test.ts",
  "packages/compact-context/src/tokens/encodings/encodings.test.ts",
  "test/summaries/time-limits.test.ts",
  "test/tracing/hostile.test.ts",
];

/** Tests of which several load a package of one name in different versions: a process resolves a name once. */
const versioned = ["test/compat/**/*.test.ts"];

/** Tests that replace modules by others. */
function mocking(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return /^(?:node_modules|dist)$/.test(entry.name) ? [] : mocking(path);
    return path.endsWith(".test.ts") && readFileSync(path, "utf8").includes("vi.mock(") ? [path] : [];
  });
}

// These have a process each. All others share some, into which a source file is loaded once: to load the sources for
// each file anew took longer than most tests. Where the whole is tried, each file has its own.
const apart = [...measuring, ...versioned, ...mocking("packages"), ...mocking("test")];

export default defineConfig({
  resolve: { alias: sourceAliases(import.meta.dirname) },
  test: {
    setupFiles: ["test/property-seed.ts"],
    // What is slow on a busy machine has not failed; only what never comes has.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // One more than there are cores: many tests wait for processes, servers and a browser.
    maxWorkers: availableParallelism() + 1,
    reporters: ["default", "./test/plain-reporter.ts"],
    projects: [
      { extends: true, test: { name: "apart", include: apart, exclude: ignored } },
      {
        extends: true,
        test: {
          name: "together",
          include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...apart, ...ignored],
          isolate: whole,
        },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts"],
      exclude: ["packages/*/src/**/*.test.ts", "packages/*/src/**/*.generated.ts"],
      thresholds: { lines: 85 },
      reporter: ["text-summary", "json-summary"],
    },
  },
});
