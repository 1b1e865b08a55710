import { edit, failing, read, run, showing, todos } from "../calls.mjs";

const entry = "src/index.ts";
const pins = "test/pins/exports.json";

async function rootExport({ user, act, answer, read: textOf }) {
  user(
    "Leave the manager and the events alone for now. Export triggerHeadroom and its type from the root entry, so that hosts can call it themselves.",
  );
  const firstPolicyExport = textOf(entry)
    .split("\n")
    .find((line) => line.includes('from "./policy/'));
  if (firstPolicyExport === undefined) throw new Error(`${entry} exports nothing of src/policy`);
  await act(
    "I read the root entry and what holds it in place.",
    read(entry),
    read("test/pins/exports.test.ts"),
  );
  await act(
    "The exports are in the order of their files; ours comes first of src/policy.",
    edit(
      entry,
      firstPolicyExport,
      `export { type TriggerHeadroom, triggerHeadroom } from "./policy/headroom.ts";\n${firstPolicyExport}`,
    ),
  );
  await act(
    "Types, lint, and the test of the pinned names.",
    showing(run("npx biome check src/index.ts src/policy"), "No fixes applied"),
    failing(run("npx vitest run test/pins"), "triggerHeadroom", /\d+ passed, 1 failed/),
    read(pins),
  );
  const { text, next } = pinOf("triggerHeadroom", textOf(pins));
  await act(
    "As it should: a new name in the root is a change of the public contract, and that is what you asked for. I add it to the pins, in its place by the alphabet.",
    edit(pins, text, next),
    showing(run("npx vitest run test/pins src/policy"), "0 failed"),
    showing(run("npx tsc --noEmit -p tsconfig.json"), /^\(no output\)$/),
  );
  answer(
    "`triggerHeadroom` and `type TriggerHeadroom` are exported from src/index.ts. The test of the pinned exports failed as it is meant to, because the root gained a name; test/pins/exports.json now lists it. The type check and the tests of test/pins and src/policy pass.",
  );
}

/** The pin after which a new name of the root belongs, with what follows it, and the same with the new name. */
function pinOf(name, text) {
  const before = JSON.parse(text)["."].filter((pinned) => pinned < name);
  const last = before.at(-1);
  const root = text.indexOf('"."');
  const start = text.indexOf(`    "${last}"`, root);
  const end = text.indexOf("\n", text.indexOf("\n", start) + 1);
  const old = text.slice(start, end);
  return { text: old, next: old.replace(`"${last}"`, `"${last}",\n    "${name}"`) };
}

async function finalChecks({ user, act, answer }) {
  user(
    "Good. Run what a reviewer would run over all we touched, and show me that package.json and the lockfile are as they were.",
  );
  await act(
    "The tests of both folders and the layer rules, types, lint, and the state of the tree.",
    todos({
      in_progress: ["Review: tests, layers, types, lint, package files"],
      pending: ["Report to the user"],
    }),
    showing(
      run(
        "npx vitest run src/policy src/messages/turns.test.ts src/messages/exchanges.test.ts src/compaction/one-shot.test.ts test/pins",
      ),
      "0 failed",
    ),
    showing(run("npx biome check src/policy src/index.ts test/pins"), "No fixes applied"),
    showing(run("npx tsc --noEmit -p tsconfig.json"), /^\(no output\)$/),
    showing(
      run("npx depcruise src/policy --config .dependency-cruiser.cjs --output-type err"),
      "no dependency violations",
    ),
  );
  await act(
    "Now the difference itself.",
    showing(run("git status --short && git diff --stat"), " M src/index.ts", `M ${pins}`),
    showing(run("git diff --exit-code -- package.json package-lock.json && echo unchanged"), "unchanged"),
    run("git diff"),
    todos({ completed: ["Review: tests, layers, types, lint, package files", "Report to the user"] }),
  );
  answer(`All pass: the tests of src/policy, turns, exchanges, the one-shot compaction and the pinned exports, the type check, the linter, and the layer rules for src/policy. The tree has four changes:
- src/policy/headroom.ts and src/policy/headroom.test.ts, new
- src/index.ts, one export more
- test/pins/exports.json, one name more

package.json and package-lock.json are unchanged, and there is no new dependency. Nothing is committed.`);
}

function lastAsk({ user }) {
  user(
    'Then the last piece: let `compact inspect` show the headroom. One line under the trigger, such as "12,800 tokens to trigger_pct", and the two values in its --json as headroom_tokens and headroom_reason. Tests beside the source, and the ground rules from the beginning still hold. Tell me first which files you will touch.',
  );
}

export const closingChapters = [rootExport, finalChecks, lastAsk];
