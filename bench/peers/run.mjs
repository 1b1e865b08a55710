// Compact and other libraries on the same generated histories with the same aims; writes docs/peers.md.
// First: npm install --prefix bench/peers --ignore-scripts --no-package-lock
// Then: node bench/peers/run.mjs --histories 1000 [--seed 0] [--print]
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { countTokens } from "../../dist/compaction/count-list.js";
import { decode } from "../../dist/messages/codecs.js";
import { messageText } from "../../dist/messages/message.js";
import { newestAsk } from "../../dist/messages/turns.js";
import { drawHistory } from "../../dist/testing/soak-history.js";
import { newlyBroken } from "../../dist/testing/soak-promises.js";
import { PEERS, SUMMARY } from "./peers.mjs";

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "1000" },
    seed: { type: "string", default: "0" },
    print: { type: "boolean" },
  },
});
const wanted = Number(values.histories);
const FEWEST_ENTRIES = 12;
const LEAST_AIM = 400;
/** Long enough to be worth it; as in recorded sessions, most of a history is tool output. */
const TOOL_HEAVY = { turns: 5, steps: 3, parallelCalls: 3, resultWords: 200 };

/** A history up to where a model is called: its end is the user's or a tool's. */
function beforeCall(list, format) {
  const last = decode(list, format).findLastIndex(({ role }) => role !== "assistant");
  return list.slice(0, last + 1);
}

/** Histories of a format that its provider takes as they are, with something to ask, and their aims. */
function* histories(format, ready) {
  let found = 0;
  for (let seed = Number(values.seed); found < wanted; seed += 1) {
    const list = beforeCall(
      ready(drawHistory(format, seed, { options: TOOL_HEAVY, bound: false }).list),
      format,
    );
    if (list.length < FEWEST_ENTRIES || newlyBroken([], list, format).length > 0) continue;
    const messages = decode(list, format);
    const ask = messages[newestAsk(messages)];
    const total = countTokens(list, { format }).tokens;
    const share = 0.25 + ((seed * 7919) % 1000) / 2000;
    const aim = Math.max(LEAST_AIM, Math.floor(total * share));
    if (ask === undefined || messageText(ask).trim() === "" || aim >= total) continue;
    found += 1;
    yield {
      list,
      aim,
      ask,
      total,
      system: messages.filter((message) => message.role === "system" && messageText(message).trim() !== ""),
    };
  }
}

const says = (messages, role, text) =>
  messages.some((message) => message.role === role && messageText(message).includes(text));

async function measure(peer) {
  const row = {
    peer,
    histories: 0,
    rules: {},
    invalid: 0,
    over: 0,
    excess: [],
    ask: 0,
    systems: 0,
    system: 0,
    errors: {},
    changed: 0,
    totals: [],
  };
  for (const { list, aim, ask, total, system } of histories(peer.format, peer.ready)) {
    row.histories += 1;
    row.totals.push(total);
    row.systems += system.length > 0 ? 1 : 0;
    const given = peer.format === "langchain" ? [...list] : structuredClone(list);
    const before = JSON.stringify(given);
    let result;
    try {
      result = await peer.run(given, aim, total);
    } catch (error) {
      const what = /protected messages take/.test(error.message) ? ", for what is protected alone" : "";
      const code = `${error.code ?? error.name}${what}`;
      row.errors[code] = (row.errors[code] ?? 0) + 1;
      continue;
    }
    if (JSON.stringify(given) !== before) row.changed += 1;
    const broken = newlyBroken(list, result, peer.format);
    for (const [rule] of broken) row.rules[rule] = (row.rules[rule] ?? 0) + 1;
    if (broken.length > 0) row.invalid += 1;
    // What is no message at all is told by the rules; the rest of the list is measured without it.
    result = result.filter((entry) => typeof entry === "object" && entry !== null);
    const tokens = countTokens(result, { format: peer.format }).tokens;
    if (tokens > aim) {
      row.over += 1;
      row.excess.push(tokens / aim);
    }
    const after = result.length === 0 ? [] : decode(result, peer.format);
    if (!says(after, "user", messageText(ask))) row.ask += 1;
    if (system.some((message) => !says(after, "system", messageText(message)))) row.system += 1;
  }
  return row;
}

const rows = [];
for (const peer of PEERS) {
  const begun = performance.now();
  const row = await measure(peer);
  rows.push(row);
  console.error(`${peer.format} ${peer.name}: ${((performance.now() - begun) / 1000).toFixed(0)} s`);
}

const perThousand = (count, row) => ((count * 1000) / row.histories).toFixed(0);
const percentile = (numbers, share) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)];
const median = (numbers) => percentile(numbers, 0.5);
const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
const own = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;

function tableRow(row) {
  const rules = Object.entries(row.rules).map(([rule, count]) => `\`${rule}\` ${perThousand(count, row)}`);
  const errors = Object.entries(row.errors).map(([code, count]) => `${code} ${perThousand(count, row)}`);
  const excess = row.over === 0 ? "" : ` (median ${median(row.excess).toFixed(2)} × the aim)`;
  const cells = [
    row.peer.format,
    row.peer.name,
    rules.join(", ") || "0",
    `${perThousand(row.over, row)}${excess}`,
    perThousand(row.ask, row),
    row.systems === 0 ? "–" : `${row.system} of ${row.systems}`,
    errors.join(", ") || "0",
    perThousand(row.changed, row),
  ];
  return `| ${cells.join(" | ")} |`;
}

const names = ["langchain", "@langchain/core", "ai", "@openai/agents-core", "@mariozechner/pi-coding-agent"];
const seen = new Set();
const configured = PEERS.filter(({ name }) => !seen.has(name) && seen.add(name));
const page = `# Other libraries on the same histories

${new Date().toISOString().slice(0, 10)}, Node ${process.version}. compact-context ${own}, ${names.map((name) => `${name} ${version(name)}`).join(", ")}.

${rows[0].histories} generated histories per format (seeds from ${values.seed}; median of ${median(rows[0].totals)} tokens, 95 % under
${percentile(rows[0].totals, 0.95)}), each of at least ${FEWEST_ENTRIES} entries, without a broken rule, and up to a model call: the last
message is the user's or a tool's. So whatever is broken afterwards was broken by what shortened it. The aim is a quarter to
three quarters of the history's tokens and at least ${LEAST_AIM}. The histories are those of the soak (docs/soak.md) with longer
tool results, up to ${TOOL_HEAVY.resultWords} words: parallel and chained calls, long turns under way, reasoning, images, protected messages,
unusual texts, approvals, tools and compactions of the provider's own. Numbers are per 1,000 histories, but for the system prompt.

| format | what shortened | rules newly broken | result over the aim | newest ask lost or cut | system prompt lost | errors thrown | input changed |
| --- | --- | --- | --- | ---: | ---: | --- | ---: |
${rows.map(tableRow).join("\n")}

## What each was configured with

${configured.map(({ name, configured: words }) => `- **${name}**: ${words}.`).join("\n")}

Everything that counts tokens was given Compact's counter, except pi, which only estimates. The scripted summarizer always
answers with the same ${countTokens([{ role: "user", content: SUMMARY }], { format: "openai-chat" }).tokens} tokens and never fails.

## How to read it

- The rules are ours: ${"`lint`"} of this package, each with the provider's own document (docs/lint.md). Another reader of
  those documents may draw some lines elsewhere. Errors alone are counted, and only rules broken more often than before.
- The OpenAI Agents SDK has no compaction that runs locally: ${"`OpenAIResponsesCompactionSession`"} (@openai/agents-openai 0.20.0,
  ${"`dist/memory/openaiResponsesCompactionSession.mjs`"}) sends the whole input to ${"`POST /responses/compact`"} with
  ${"`client.responses.compact`"} and stores the sealed item that comes back; ${"`contextManagement`"} is a setting of the request. What
  it has to shorten a list by itself is the handoff filter above.
- These libraries promise different things. ${"`pruneMessages`"}, ${"`removeAllTools`"} and ${"`ClearToolUsesEdit`"} know no aim: they take out tool calls
  or results, however much that saves. The summarization middleware fires at its trigger and keeps what it was told to
  keep; it does not promise a size. ${"`trimMessages`"} promises a size and drops the rest without a summary.
- ${"`generic/unreadable-entry`"} of ${"`trimMessages`"} is a list of one ${"`undefined`"}: what comes back when no user message fits
  behind a system message. ${"`generic/orphan-result`"} of its defaults is what ${"`startOn`"} is for.
- A system prompt is "lost" when no system message holds its text any more. In LangChain's agents it usually travels
  beside the list, where nothing can happen to it; the histories here carry it in the list, as graphs of one's own do.
  pi keeps it outside; it was left out there.
- ${"`InsufficientBudget`"}: Compact refuses where what must stay is larger than the aim, and hands back no list at all.
- "Lost or cut" means that no user message holds the text of the newest ask verbatim. Compact cuts an ask only when it does
  not fit the budget otherwise, and marks the cut.
- Generated histories are short and their texts are random words: this says nothing about how good a summary is.
  How often something goes wrong depends on what was generated; that it can go wrong does not.

Again: ${"`npm install --prefix bench/peers --ignore-scripts --no-package-lock && node bench/peers/run.mjs --histories 1000`"}
`;
if (values.print) console.log(page);
else writeFileSync(new URL("../../docs/peers.md", import.meta.url), page);
