// Runs tests for scripts/mutants.mjs in one vitest that stays alive, so that only what changed is loaded again.
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";
import { sourceAliases } from "./source-aliases.mjs";

const [root, marked] = process.argv.slice(2);
/** Tests of servers, browsers, packages and processes that run what was built: they would not meet the changed source. */
const ELSEWHERE =
  "browser,compat,consumer,docs,house,kill,pins,postgres,retention,s3,sessions,soak,transcripts,workers";

const vitest = await createVitest(
  "test",
  {
    root,
    config: false,
    watch: false,
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", `test/{${ELSEWHERE}}/**`],
    setupFiles: marked === "marked" ? [fileURLToPath(new URL("mutants-marks.mjs", import.meta.url))] : [],
    testTimeout: 30_000,
    pool: "forks",
    isolate: marked === "marked",
    // One worker loads what the tests share once.
    maxWorkers: 1,
    reporters: [{}],
  },
  { resolve: { alias: sourceAliases(root) } },
);
const specifications = await vitest.globTestSpecifications();

const answers = {
  /** The tests that load one of these files. */
  async related({ files }) {
    vitest.config.related = files;
    const found = await vitest.getRelevantTestSpecifications();
    vitest.config.related = undefined;
    return found.map(({ moduleId }) => moduleId);
  },
  /** What became of these tests after these files were changed; with `bail` the first failure ends it. */
  async run({ tests, changed, bail }) {
    for (const path of changed) vitest.invalidateFile(path);
    for (const { config } of [vitest, ...vitest.projects]) config.bail = bail ? 1 : 0;
    const wanted = specifications.filter(({ moduleId }) => tests.includes(moduleId));
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted);
    process.exitCode = 0;
    return {
      failures: testModules
        .filter(({ moduleId }) => tests.includes(moduleId))
        .map((module) => ({ test: module.moduleId, name: failureOf(module) }))
        .filter(({ name }) => name !== undefined),
      unhandled: unhandledErrors.length,
    };
  },
};

/** The name of the first test of a file that failed, or what kept the file from running. */
function failureOf(module) {
  for (const test of module.children.allTests("failed")) return test.fullName;
  return module.state() === "failed" ? "the file could not be run" : undefined;
}

process.on("message", async ({ kind, ...question }) => {
  process.send({ answer: await answers[kind](question) });
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });
