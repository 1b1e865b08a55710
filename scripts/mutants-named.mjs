// `npm run mutants [-- ID ...]` makes each change of scripts/mutants-table.mjs, or those of the ids, and expects its test
// to fail. The source stays as it is: a change is made while vitest loads the file. Exits with 1 when a change goes
// unnoticed, or when a test does not pass without it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { MUTANTS } from "./mutants-table.mjs";
import { sourceAliases } from "./source-aliases.mjs";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const wanted = process.argv.slice(2);
const mutants = MUTANTS.filter(({ id }) => wanted.length === 0 || wanted.includes(id));
if (mutants.length === 0) {
  console.error(`no change breaks ${wanted.join(", ")}`);
  process.exit(2);
}

const pathOf = ({ file }) => join(root, [file].flat().find((name) => existsSync(join(root, name))) ?? "");

/** Changes the file of a mutant while it is loaded. */
function plugin(mutant, made) {
  const path = pathOf(mutant);
  return {
    name: "mutant",
    enforce: "pre",
    load(id) {
      if (id.split("?")[0] !== path) return undefined;
      const text = readFileSync(path, "utf8");
      if (text.split(mutant.find).length !== 2)
        throw new Error(`the text to change is not once in ${mutant.file}`);
      made.count += 1;
      return text.replace(mutant.find, () => mutant.replace);
    },
  };
}

/** The tests of a file whose names have a text in them: how many passed, and the failures' words. */
async function run({ test, name }, plugins) {
  const vitest = await startVitest(
    "test",
    [test],
    {
      root,
      config: false,
      watch: false,
      include: [test],
      setupFiles: ["test/property-seed.ts"],
      testNamePattern: new RegExp(name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")),
      testTimeout: 60_000,
      reporters: [{}],
    },
    { plugins, resolve: { alias: sourceAliases(root) } },
  );
  const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  const broken = vitest.state.getTestModules().flatMap((module) => module.errors());
  await vitest.close();
  process.exitCode = 0;
  const failed = tests.filter((one) => one.result().state === "failed");
  return {
    passed: tests.filter((one) => one.result().state === "passed").length,
    failed: failed.length,
    words: String(failed[0]?.result().errors?.[0]?.message ?? broken[0]?.message ?? "").split("\n")[0],
    broken: broken.length > 0,
  };
}

/** What became of a mutant, in a word and a reason. */
async function tried(mutant) {
  const before = await run(mutant, []);
  if (before.passed === 0 || before.failed > 0 || before.broken)
    return ["does not pass", `${before.words || "no test has this name"}`];
  const made = { count: 0 };
  const after = await run(mutant, [plugin(mutant, made)]);
  if (made.count === 0) return ["not loaded", "the test does not load the file"];
  if (after.failed === 0) return ["unnoticed", after.words];
  return ["noticed", after.words];
}

let open = 0;
for (const mutant of mutants) {
  const [result, words] = await tried(mutant);
  if (result !== "noticed") open += 1;
  console.log(
    `${result.padEnd(9)} ${mutant.id.padEnd(6)} ${mutant.what}: ${mutant.test}: ${mutant.name}: ${words}`,
  );
}
console.log(`${mutants.length - open} of ${mutants.length} noticed`);
process.exit(open === 0 ? 0 : 1);
