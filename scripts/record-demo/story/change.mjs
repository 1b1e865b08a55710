import { edit, failing, list, read, run, search, showing, todos, write } from "../calls.mjs";
import { headroomSource, headroomTest } from "./sources.mjs";

const typeCheck = () => run("npx tsc --noEmit -p tsconfig.json");
const policyTests = () => run("npx vitest run src/policy");
const source = "src/policy/headroom.ts";
const test = "src/policy/headroom.test.ts";

async function dataInsteadOfText({ user, act, answer, place }) {
  user(
    `I have changed my mind. A sentence is the wrong thing to return from src/policy: everybody will parse it. Return data instead, \`{ reason, tokens }\`, and call it \`triggerHeadroom(input, policy): TriggerHeadroom\` in src/policy/headroom.ts. tokens is what is missing to the nearest threshold, 0 once it is reached, and reason must be the one that decideTrigger would give. The name explainTrigger is gone: no file, no alias, no mention of it from now on.`,
  );
  const steps = [
    "Rename the files",
    "triggerHeadroom returns data, same reasons as decideTrigger",
    "No trace of the old name",
    "Tests, types, lint",
  ];
  await act(
    "Data it is. I move the files first, so that their history stays one.",
    todos({ in_progress: [steps[0]], pending: steps.slice(1) }),
    failing(
      run(
        "git mv src/policy/explain.ts src/policy/headroom.ts && git mv src/policy/explain.test.ts src/policy/headroom.test.ts",
      ),
      "not under version control",
    ),
  );
  await act(
    "Git does not know them yet, so there is no history to keep: a plain move.",
    run(
      "mv src/policy/explain.ts src/policy/headroom.ts && mv src/policy/explain.test.ts src/policy/headroom.test.ts",
    ),
    read(test),
  );
  await act(
    "The name in the test first.",
    failing(edit(test, "explainTrigger(", "triggerHeadroom("), "must be unique"),
  );
  await act(
    "It stands there many times, and every expectation changes with the return value anyway. I write both files anew, with one more test for what you said about the reason.",
    write(source, headroomSource),
    write(test, headroomTest),
    todos({ completed: [steps[0]], in_progress: [steps[1]], pending: steps.slice(2) }),
  );
  await act(
    "Tests and types.",
    failing(policyTests(), "hard_cap", "max_tokens", "triggerPct 1", "16 passed, 1 failed"),
    showing(typeCheck(), /^\(no output\)$/),
  );
  await act(
    "The new test found something: with several thresholds reached all are 0, the first of the list wins, and I list `hard_cap` before `max_tokens`. decideTrigger asks for it last. The order of the list has to be the same.",
    edit(
      source,
      `    { reason: "trigger_pct", tokens: tokensAtShare(policy.triggerPct, maxContextTokens) - tokens },
    { reason: "hard_cap", tokens: budgetOf(maxContextTokens, policy) + 1 - tokens },
`,
      `    { reason: "trigger_pct", tokens: tokensAtShare(policy.triggerPct, maxContextTokens) - tokens },
`,
    ),
    edit(
      source,
      "  return thresholds\n",
      `  // In the order of \`decideTrigger\`: of several that are reached the first one counts.
  thresholds.push({ reason: "hard_cap", tokens: budgetOf(maxContextTokens, policy) + 1 - tokens });
  return thresholds
`,
    ),
  );
  await act(
    "All checks, and a search for the old name everywhere.",
    showing(policyTests(), "0 failed"),
    showing(typeCheck(), /^\(no output\)$/),
    run("npx biome check --write src/policy"),
    showing(search("explainTrigger|policy/explain|\\./explain"), /^No matches\.$/),
    list("src/policy"),
  );
  await act(
    "The formatter may have changed the files: I look at the result once more.",
    read(source),
    showing(run("npx biome check src/policy"), "No fixes applied"),
    showing(run("git status --short"), source, test),
    todos({ completed: steps }),
  );
  answer(`Done. \`triggerHeadroom\` (${place(source, "export function triggerHeadroom")}) returns \`{ reason, tokens }\`; tokens is 0 exactly when decideTrigger fires, held by the same table of percentages and windows as before, and the reason is that of decideTrigger. A new test for the last point failed at first: \`hard_cap\` stood before \`max_tokens\` in my list.

The former name occurs nowhere in the repository any more, and I will not use it again. Tests, types and lint of src/policy pass.`);
}

async function whereItShows({ user, act, answer, place }) {
  user(
    "Where would a host or a person see this number? Only look, change nothing: the manager's state, the events, the inspect command.",
  );
  await act(
    "I look for everything that shows how full the window is.",
    showing(search("usage_?[pP]ct|totalTokens|maxContextTokens", "src"), "src/tracing/events.ts"),
    read("src/compaction/ports.ts"),
    read("src/tracing/events.ts"),
    read("src/compaction/announce.ts"),
  );
  await act(
    "How the manager's state comes to be, and who listens.",
    read("src/compaction/telling.ts"),
    read("src/compaction/session.ts"),
    read("src/compaction/state.ts"),
    read("src/compaction/next-state.ts"),
    read("src/compaction/report.ts"),
  );
  await act(
    "And the command line.",
    list("src/cli"),
    search("decideTrigger|TriggerDecision", "src/cli"),
    read("src/cli/inspection.ts"),
  );
  answer(`Three places, none changed:
- **Manager state.** \`getState\` gives \`ManagerState\` (${place("src/compaction/ports.ts", "export interface ManagerState")}) with \`totalTokens\` and \`maxContextTokens\`. The number fits there best; the manager would have to keep the message tokens of its last look too: today it gives the total alone (${place("src/compaction/manager.ts", "totalTokens: this.#tokens.get(sessionId) ?? 0")}).
- **Event.** \`compact.token_estimate\` (${place("src/tracing/events.ts", "export function tokenEstimate")}) is sent at every look and has the breakdown. \`headroom\` and its reason could be two more properties.
- **Inspect.** \`inspect\` (${place("src/cli/inspection.ts", "export function inspect(")}) calls decideTrigger with just the input that triggerHeadroom takes; one line more there.

I would begin with inspect: it is pure, the input is at hand, and nothing that is stored changes.`);
}

export const changeChapters = [dataInsteadOfText, whereItShows];
