import { failing, list, read, search, showing } from "../calls.mjs";

async function triggerAndPartition({ user, act, answer, place }) {
  user(`I am taking over the part of this repository that decides when a conversation is compacted and what stays in it. Before we change anything, find out how the trigger and the partition work, and name the places.

Ground rules for all we do here, please keep to them until I say otherwise:
- Never touch package.json or package-lock.json, and add no dependency.
- Always name things by the words that the code uses already (trigger, threshold, budget, turn, exchange, tool pair), without abbreviations.
- Always put tests beside the source, as src/policy/policy.test.ts is.`);
  await act(
    "I begin with the layout and the linter's limits.",
    list("src"),
    list("docs"),
    read("biome.json"),
  );
  await act(
    "The decisions should be in src/policy. I read the whole folder.",
    failing(read("src/policy/index.ts"), "no such file"),
    read("src/policy/policy.ts"),
    read("src/policy/trigger.ts"),
    read("src/policy/partition.ts"),
    read("src/policy/relax.ts"),
  );
  await act(
    "There is no index.ts, the files are imported one by one. Next: who asks these functions, and what they stand on.",
    showing(search("\\b(decideTrigger|budgetOf|partition|relaxations)\\(", "src"), "src/compaction/look.ts"),
    search("\\b(groupUnits|turnStarts|newestAsk|isUserSpeech)\\(", "src"),
    read("src/messages/turns.ts"),
    read("src/messages/exchanges.ts"),
  );
  await act(
    "The caller that matters is src/compaction/look.ts. I read it with the manager that calls it, and the tests of the policy.",
    read("src/compaction/look.ts"),
    read("src/compaction/manager.ts"),
    read("src/policy/policy.test.ts"),
  );
  await act(
    "One step is missing: what happens once the trigger has fired.",
    read("src/compaction/round.ts"),
    read("src/compaction/plan.ts"),
  );
  const trigger = "src/policy/trigger.ts";
  const partition = "src/policy/partition.ts";
  answer(`**Trigger** (${place(trigger, "export function decideTrigger")}). Pure: tokens, window and policy in, \`{ triggered, reason, usagePct }\` out. The thresholds are asked in this order and the first that is reached wins (${place(trigger, "function reachedThreshold")}):
1. \`trigger_pct\`: tokens / window >= \`triggerPct\`, ${place("src/policy/policy.ts", "triggerPct: 0.85")} sets 0.85
2. \`max_tokens\`: tokens >= \`maxTokens\`, when that is set
3. \`max_tokens_before_summary\`: the tokens of the messages alone, when that is set
4. \`hard_cap\`: tokens **above** the budget, ${place(trigger, "export function budgetOf")}. The only one where reaching is not enough: a request that fills the budget exactly still fits.

\`decide\` (${place("src/compaction/look.ts", "export function decide(")}) goes round it for a manual compaction and holds it back as \`just_compacted\` while the list has grown by less than 5 % of the window (${place("src/compaction/look.ts", "const MIN_GROWTH = 0.05")}).

**Partition** (${place(partition, "export function partition(")}). Every message gets exactly one layer, by unit (one plain message, or a whole exchange):
- pinned: \`meta.protected\` or a role that is never pruned (${place(partition, "export function isPinned")})
- recent: user messages and text answers of the newest \`keepRecentTurns\` turns, and always the newest ask
- toolPairs: the newest exchanges with at least \`keepToolIoPairs\` calls between them, and one that is still under way (${place(partition, "function newestPairs")})
- remainder: all else, and any earlier summary; only this may be dropped

When that does not fit, \`relaxations\` (${place("src/policy/relax.ts", "export function* relaxations")}) gives up a turn, then a tool pair, in turn, down to one of each. There is no src/policy/index.ts; each file is imported by its own name. I keep to your three rules from here on.`);
}

async function parallelBatches({ user, act, answer, place }) {
  user(
    "Clear. What holds a parallel batch of calls together with its results, also where a provider keeps each call as an entry of its own? Orphaned results have bitten me before.",
  );
  await act(
    "The grouping is in src/messages/exchanges.ts, which I have read. I look at its tests, at the check that would notice an orphan, and at how calls without ids are paired.",
    read("src/messages/exchanges.test.ts"),
    read("src/messages/well-formed.ts"),
    read("src/messages/pairing.ts"),
    read("src/messages/message.ts"),
  );
  await act(
    "Now where that check is asked in a compaction.",
    search("findMalformations|InvalidMessages", "src/compaction"),
    read("src/compaction/apply.ts"),
    read("src/messages/codecs/anthropic.ts", { limit: 140 }),
  );
  answer(`Three things, each on its own:
- **Grouping.** \`groupUnits\` (${place("src/messages/exchanges.ts", "export function groupUnits")}) joins a result to the unit of its call by id, wherever it stands. Calls that follow one another as separate entries join the same unit while calls are open and nobody else has spoken (${place("src/messages/exchanges.ts", "function unitFor")}), so a batch is one unit in either storage form. The partition only ever places whole units.
- **Missing ids.** Where a format has none, \`createPairing\` (${place("src/messages/pairing.ts", "export function createPairing")}) gives a call an id made from its message's id, and a result that of the first open call, one of the same name before others.
- **Check.** \`findMalformations\` (${place("src/messages/well-formed.ts", "export function findMalformations")}) names orphan results, unanswered calls and doubled ids. A call at the very end of the list is still under way and no fault.

And a batch that straddles \`keepToolIoPairs\` is kept whole: ${place("src/policy/policy.test.ts", "keeps a parallel batch whole when it straddles the limit")} expects 6 pairs where 4 were asked for.`);
}

async function targetAndBudget({ user, act, answer, place }) {
  user(
    "Why may the target be missed while the budget may not? I think there is a decision note. And what does a one-shot compact() aim for when I give it only maxTokens?",
  );
  const note = "docs/decisions/2026-11-21-list-and-session.md";
  await act(
    "I read the notes and the code that fits a list into its limit.",
    read(note),
    read("docs/decisions/2026-11-21-dependencies.md"),
    read("src/compaction/fit.ts"),
    read("src/compaction/one-shot.ts"),
  );
  await act(
    "The edits that eliding makes, and how the one-shot tests see it.",
    read("src/compaction/edit.ts"),
    search("InsufficientBudget", "src"),
    read("src/compaction/one-shot.test.ts", { limit: 130 }),
  );
  answer(`${place(note, "**A target may be missed, the budget never.**")}: the target is where a compaction aims, and what must stay (system prompt, protected messages, the newest ask) may be larger than that; then the list is as small as the keep counts allow. The budget is the window less \`hardCapBuffer\`; what does not fit there fails with \`InsufficientBudget\` (${place("src/compaction/fit.ts", "function overflowing")}), unless \`onOverflow\` is \`elide\`, which cuts kept messages to head and tail first.

A one-shot \`compact()\` with \`maxTokens\` alone aims at \`maxTokens\`: ${place("src/compaction/one-shot.ts", "target: options.targetTokens ?? policy.targetContextTokens ?? options.maxTokens")}. As it has a target, part of the free room goes to the newest eligible exchanges with their tool output cleared (${place("src/compaction/fit.ts", "function extend")}), the rest to the summary.`);
}

export const understandChapters = [triggerAndPartition, parallelBatches, targetAndBudget];
