import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    setupFiles: ["test/property-seed.ts"],
    // What is slow on a busy machine has not failed; only what never comes has.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // One more than there are cores: many tests wait for processes, servers and a browser.
    maxWorkers: availableParallelism() + 1,
    reporters: ["default", "./test/plain-reporter.ts"],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts", "src/**/*.generated.ts"],
      thresholds: { lines: 85 },
      reporter: ["text-summary", "json-summary"],
    },
  },
});
