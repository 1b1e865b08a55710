import { read, search, showing } from "../calls.mjs";

async function exactness({ user, act, answer, place }) {
  user(
    "The trigger compares tokens. How far off can that number be for a Claude model, and does it get better while a session runs?",
  );
  await act(
    "I read how a request is counted, the profile of each family of models, and the calibration.",
    read("src/tokens/counter.ts"),
    read("src/tokens/count-tokens.ts"),
    read("src/tokens/profiles.ts"),
    read("src/tokens/calibration.ts"),
  );
  await act(
    "And how the counter uses the profile, with the model table's lines for Claude.",
    read("src/tokens/token-counter.ts"),
    showing(search("claude-(sonnet|opus|haiku)", "src/tokens/models-table.ts"), "claude-sonnet-4-5"),
    read("src/tokens/usage.ts"),
    read("src/tokens/calibration.test.ts"),
  );
  answer(`For Claude the encoding is not public, so the count is an estimate: cl100k tokens times 1.26 (${place("src/tokens/profiles.ts", "ratio: 1.26,")}), and the true total may lie between 0.89 and 1.14 of it (${place("src/tokens/profiles.ts", "low: 0.89,")}). For OpenAI models the range is 1 to 1: exact.

It gets better once the host passes the provider's usage along. \`learn\` (${place("src/compaction/look.ts", "function learn(")}) makes the reported figure an anchor; later estimates are that anchor plus what was added since, at a running ratio that stays between 0.5 and 2 (${place("src/tokens/calibration.ts", "export function calibrated")}). After a compaction the anchor is forgotten and the ratio carries over with little weight (${place("src/tokens/calibration.ts", "export function afterCompaction")}). The trigger sees the calibrated number; the breakdown stays our own count.`);
}

async function settingsToPolicy({ user, act, answer, place }) {
  user(
    "Last question before we build. If somebody writes trigger_pct in a config file, how does that get into the policy, and who complains about a typo?",
  );
  await act(
    "I look for both spellings and read the schema.",
    showing(search("triggerPct|trigger_pct", "src"), "src/config/"),
    read("src/config/schema.ts"),
    read("src/config/names.ts"),
    read("src/config/layer.ts"),
  );
  await act(
    "The order of the sources is decided where they are loaded; the check for settings passed in code is in src/compaction.",
    read("src/config/load.ts"),
    read("src/config/environment.ts"),
    read("src/config/load.test.ts"),
    read("src/compaction/config.ts"),
    read("src/compaction/check-policy.ts"),
  );
  answer(`- Files say \`trigger_pct\`, code says \`triggerPct\`; \`renameKeys\` (${place("src/config/names.ts", "export function renameKeys")}) turns one into the other and leaves names of models alone.
- Each source becomes a layer; \`checkLayer\` (${place("src/config/layer.ts", "export function checkLayer")}) holds it to the schema and says what is wrong at its place. For an unknown key it adds "did you mean": \`closest\` (${place("src/compaction/near-name.ts", "export function closest")}) takes the nearest name that differs in at most a third of its letters.
- What is passed to the manager in code is checked by \`checkConfigObject\` (${place("src/compaction/check-policy.ts", "export function checkConfigObject")}): \`policy.triggerPct\` must be above 0 and at most 1, and a policy key at the top level is answered with "Did you mean policy.…?".`);
}

export const questionChapters = [exactness, settingsToPolicy];
