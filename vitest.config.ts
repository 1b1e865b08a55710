import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 30_000,
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
