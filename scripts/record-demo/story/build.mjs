import { edit, failing, read, run, search, showing, todos, write } from "../calls.mjs";
import { explainSource, explainTest, percentageTest } from "./sources.mjs";

const typeCheck = () => run("npx tsc --noEmit -p tsconfig.json");
const policyTests = () => run("npx vitest run src/policy");
const source = "src/policy/explain.ts";
const test = "src/policy/explain.test.ts";

async function explainTrigger({ user, act, answer }) {
  user(
    `Good, let us build something. People ask "how far am I from the next compaction?". Add \`explainTrigger(input, policy)\` in src/policy that answers in one sentence, such as "12800 tokens below trigger_pct", and says so when a threshold is reached already. The nearest threshold counts. Do not change what decideTrigger does.`,
  );
  const steps = [
    "See tests, types and lint pass before the change",
    "Write explainTrigger with tests beside it",
    "Tests, types and lint of src/policy",
  ];
  await act(
    "I note the steps, and look at how things stand before I change anything.",
    todos({ in_progress: [steps[0]], pending: steps.slice(1) }),
    showing(policyTests(), "0 failed"),
    failing(typeCheck(), "TS2307", "generated"),
    showing(run("npx biome check src/policy"), "No fixes applied"),
  );
  await act(
    "Tests and lint pass. The type check misses generated files; I look for what makes them.",
    showing(search("generated", ".gitignore"), "*.generated.ts"),
    read("scripts/build.mjs"),
    read("tsconfig.json"),
  );
  await act(
    "scripts/build.mjs packs the vocabularies before it compiles, and a fresh checkout has none. I run that step alone.",
    run("node scripts/build-vocabulary.mjs"),
  );
  await act(
    "Now the type check again, and that this left nothing for git to see.",
    showing(typeCheck(), /^\(no output\)$/),
    showing(run("git status --short"), /^\(no output\)$/),
  );
  await act(
    "All is well before the change. I write the function and its tests.",
    todos({ completed: [steps[0]], in_progress: [steps[1]], pending: [steps[2]] }),
    write(source, explainSource),
    write(test, explainTest),
  );
  await act(
    "Tests and types.",
    failing(policyTests(), "10000 tokens below hard_cap", "126500 tokens", "13 passed, 2 failed"),
    failing(typeCheck(), "TS1484", "TS18048"),
  );
  await act(
    "All mine. The two failing tests have one cause: `hard_cap` is reached only *above* the budget, as I said myself earlier, so that threshold lies one token higher. Without that, 126,500 tokens are called over; and with `maxTokens` set the budget is `maxTokens` too, so the two tie and `hard_cap` comes first. The types: `TriggerInput` is a type and must be imported as one, and the first of a sorted list may be undefined.",
    edit(
      source,
      "budgetOf, TriggerInput, type TriggerReason",
      "budgetOf, type TriggerInput, type TriggerReason",
    ),
    edit(
      source,
      "budgetOf(input.maxContextTokens, policy) - input.tokens",
      "budgetOf(input.maxContextTokens, policy) + 1 - input.tokens",
    ),
    edit(
      source,
      "distances.sort((a, b) => a.tokens - b.tokens)[0];",
      "distances.sort((a, b) => a.tokens - b.tokens)[0]!;",
    ),
  );
  await act(
    "All three checks.",
    showing(policyTests(), "0 failed"),
    showing(typeCheck(), /^\(no output\)$/),
    failing(run("npx biome check src/policy"), "noNonNullAssertion", "Formatter would have printed"),
  );
  await act(
    "Tests and types pass; the linter forbids the `!`, rightly. The least of a list that is never empty needs no sorting: reduce gives it without an undefined. The formatting I leave to the formatter.",
    edit(
      source,
      "distances.sort((a, b) => a.tokens - b.tokens)[0]!;",
      "distances.reduce((least, each) => (each.tokens < least.tokens ? each : least));",
    ),
    showing(run("npx biome check --write src/policy"), "Fixed"),
  );
  await act(
    "Once more, all of it.",
    showing(policyTests(), "0 failed"),
    showing(typeCheck(), /^\(no output\)$/),
    showing(run("npx biome check src/policy"), "No fixes applied"),
    showing(run("git status --short"), source, test),
    todos({ completed: steps }),
  );
  answer(`\`explainTrigger\` is in ${source}, its tests are in ${test}. It says "12800 tokens below trigger_pct", or "over hard_cap: the next request is compacted". Tests, types and lint of src/policy pass; nothing else was changed.

Worth knowing: \`hard_cap\` lies at budget + 1, because a request that fills the budget exactly is not compacted. My first version had that wrong, and both tests found it.`);
}

async function everyPercentage({ user, act, answer }) {
  user(
    "Does it agree with decideTrigger for every whole percentage, not only 85? Prove it for the usual windows, 8,192 to 1,000,000. I do not trust ceil() on a product of floats.",
  );
  await act(
    "I add a test that compares the two around each threshold: 100 percentages, five windows, three sizes.",
    edit(
      test,
      `  it("is over a threshold exactly when`,
      `${percentageTest}\n  it("is over a threshold exactly when`,
    ),
  );
  await act("And run it.", failing(policyTests(), "14000 of 200000 at 7 %", "15 passed, 1 failed"));
  await act(
    "You were right to doubt it. I look at the numbers themselves.",
    showing(
      run('node -p "[0.07 * 200000, Math.ceil(0.07 * 200000), 14000 / 200000 >= 0.07]"'),
      "14000.000000000002",
      "14001",
      "true",
    ),
  );
  await act(
    "The product is a hair too large, so ceil gives 14,001, while decideTrigger divides and fires at 14,000. I let the division decide.",
    failing(
      edit(
        source,
        `[{ reason: "trigger_pct", tokens: Math.ceil(policy.triggerPct * input.maxContextTokens) - input.tokens }`,
        `[{ reason: "trigger_pct", tokens: tokensAtShare(policy.triggerPct, input.maxContextTokens) - input.tokens }`,
      ),
      "not found",
    ),
  );
  await act(
    "The formatter has rewrapped that line since I wrote it. I read the file as it is now.",
    read(source),
  );
  await act(
    "Now with the text that stands there.",
    edit(
      source,
      "Math.ceil(policy.triggerPct * input.maxContextTokens)",
      "tokensAtShare(policy.triggerPct, input.maxContextTokens)",
    ),
    edit(
      source,
      "/** How far a request is",
      `/** Least tokens whose share of the window reaches the given one, by the division that \`decideTrigger\` makes. */
function tokensAtShare(share: number, maxContextTokens: number): number {
  const tokens = Math.ceil(share * maxContextTokens);
  return (tokens - 1) / maxContextTokens >= share ? tokens - 1 : tokens;
}

/** How far a request is`,
    ),
  );
  await act(
    "All checks again.",
    showing(policyTests(), "0 failed"),
    showing(typeCheck(), /^\(no output\)$/),
    showing(run("npx biome check --write src/policy"), /Checked \d+ files/),
  );
  answer(
    "Now it does, and a test holds it: 100 percentages, windows of 8,192, 32,000, 128,000, 200,000 and 1,000,000 tokens, each at the threshold and one token to either side. Before the fix it failed first at 7 % of 200,000: 0.07 * 200000 is 14000.000000000002, ceil made 14,001 of it, and decideTrigger fires at 14,000. `tokensAtShare` now asks the same division.",
  );
}

export const buildChapters = [explainTrigger, everyPercentage];
