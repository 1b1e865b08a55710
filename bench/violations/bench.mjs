// What shortening breaks: Compact and other libraries on the same histories with the same aims. Everything that counts
// tokens is given Compact's counter, except pi, which only estimates.

import { messageText } from "../../packages/compact-context/dist/core/message.js";
import { countTokens, decode } from "../../packages/compact-context/dist/index.js";
import { newlyBroken } from "../../test/support/dist/soak-promises.js";
import { digits, number, table } from "../markdown.mjs";
import { quantile } from "../measure.mjs";
import { SUMMARY, shorteners, versionOf } from "../peers.mjs";
import {
  FEWEST_ENTRIES,
  generated,
  LEAST_AIM,
  recorded,
  recordedSessions,
  TOOL_HEAVY,
} from "./histories.mjs";

const HISTORIES = 300;
const LIBRARIES = [
  "langchain",
  "@langchain/core",
  "ai",
  "@openai/agents-core",
  "@mariozechner/pi-coding-agent",
];

const says = (messages, role, text) =>
  messages.some((message) => message.role === role && messageText(message).includes(text));

async function measure(peer, histories) {
  const row = {
    name: peer.name,
    format: peer.format,
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
  for (const { list, aim, ask, total, system } of histories) {
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

const summed = ({ excess, totals, ...row }) => ({
  ...row,
  excess: excess.length === 0 ? null : quantile(excess, 0.5),
  median: totals.length === 0 ? 0 : quantile(totals, 0.5),
  p95: totals.length === 0 ? 0 : quantile(totals, 0.95),
});

async function run({ quick }) {
  const peers = await shorteners();
  if (peers.length === 0)
    throw new Error("no library is installed: npm install --prefix bench --ignore-scripts");
  const sessions = quick ? [] : await recordedSessions();
  const rows = { generated: [], recorded: [] };
  for (const peer of peers) {
    rows.generated.push(summed(await measure(peer, generated(peer, quick ? 3 : HISTORIES))));
    if (sessions.length > 0) rows.recorded.push(summed(await measure(peer, recorded(peer, sessions))));
  }
  const seen = new Set();
  return {
    ...rows,
    versions: LIBRARIES.map((name) => `${name} ${versionOf(name)}`),
    configured: peers
      .filter(({ name }) => !seen.has(name) && seen.add(name))
      .map(({ name, configured }) => ({ name, configured })),
  };
}

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
const named = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ") || "0";

function fullTable(rows) {
  return table(
    [
      "format",
      "what shortened",
      "histories",
      "rules newly broken",
      "result over the aim",
      "newest ask lost or cut",
      "system prompt lost",
      "errors thrown",
      "input changed",
    ],
    rows.map((row) => [
      row.format,
      row.name,
      number(row.histories),
      named(Object.fromEntries(Object.entries(row.rules).map(([rule, count]) => [`\`${rule}\``, count]))),
      row.excess === null ? "0" : `${row.over} (median ${row.excess.toFixed(2)} × the aim)`,
      row.ask,
      row.systems === 0 ? "–" : `${row.system} of ${row.systems}`,
      named(row.errors),
      row.changed,
    ]),
  );
}

/** In percent of the histories. */
function shortTable(rows) {
  const share = (count, row) => `${digits((100 * count) / row.histories)} %`;
  return table(
    [
      "format",
      "what shortened",
      "broke a rule",
      "over the aim",
      "newest ask lost or cut",
      "refused or failed",
    ],
    rows.map((row) => [
      row.format,
      row.name === "Compact" ? "**Compact**" : row.name,
      share(row.invalid, row),
      share(row.over, row),
      share(row.ask, row),
      share(total(row.errors), row),
    ]),
  );
}

export const bench = {
  title: "What shortening breaks",
  timed: false,
  run,
  headline({ generated: rows }) {
    const of = (ours, count) =>
      rows.filter(({ name }) => (name === "Compact") === ours).reduce((sum, row) => sum + count(row), 0);
    const broken = (row) => row.invalid + row.over;
    const share = (ours) => `${digits((100 * of(ours, broken)) / of(ours, (row) => row.histories))} %`;
    return `lists with a broken rule or over the aim: Compact ${share(true)}, the others ${share(false)}`;
  },
  section: ({ generated: rows, recorded: real }) =>
    [
      `Lists that keep their provider's rules are shortened to an aim; whatever is broken afterwards was broken by that. Which rules,
what was configured and how to read it are in [peers.md](peers.md). ${number(rows[0].histories)} generated histories a format:`,
      shortTable(rows),
      ...(real.length === 0
        ? []
        : ["Recorded sessions, written in the format and cut to a quarter:", shortTable(real)]),
    ].join("\n\n"),
  pages: [
    {
      path: "docs/peers.md",
      mark: "figures",
      render: ({ generated: rows, recorded: real, versions, configured }, { date, node }) =>
        [
          `Made by \`npm run bench -- violations\` on ${date}, Node ${node}: ${versions.join(", ")}.`,
          `## Generated histories

${number(rows[0].histories)} generated histories per format (median of ${number(rows[0].median)} tokens, 95 % under ${number(rows[0].p95)}), each of at least
${FEWEST_ENTRIES} entries, without a broken rule, and up to a model call: the last message is the user's or a tool's. So whatever is broken
afterwards was broken by what shortened it. The aim is a quarter to three quarters of the history's tokens and at least ${LEAST_AIM}. The
histories are those of the soak (docs/soak.md) with longer tool results, up to ${TOOL_HEAVY.resultWords} words: parallel and chained calls, long
turns under way, reasoning, images, protected messages, unusual texts, approvals, tools and compactions of the provider's own.`,
          fullTable(rows),
          ...(real.length === 0
            ? []
            : [
                `## Recorded sessions

Real sessions of agents of 16 formats (docs/sessions.md), each written in the format of the library, up to its last model call,
and cut to a quarter of its tokens. What a session broke before is not counted.`,
                fullTable(real),
              ]),
          "## What each was configured with",
          configured.map(({ name, configured: words }) => `- **${name}**: ${words}.`).join("\n"),
          `Everything that counts tokens was given Compact's counter, except pi, which only estimates. The scripted summarizer always
answers with the same ${countTokens([{ role: "user", content: SUMMARY }], { format: "openai-chat" }).tokens} tokens and never fails.`,
        ].join("\n\n"),
    },
  ],
};
