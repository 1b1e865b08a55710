// What recorded sessions would have cost with the provider's prompt cache simulated: Compact beside trimming, masking and
// summarizing at a threshold, on the same lists, with the same budget and at the same times (docs/cost.md).
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readTranscript } from "../test/support/dist/reader.js";
import { replaySession } from "../test/support/dist/replay.js";
import { earlySettings, settingsFor } from "../test/support/dist/settings.js";
import { number, table } from "./markdown.mjs";

const root = fileURLToPath(new URL("../../shared/transcripts/", import.meta.url));
const demo = fileURLToPath(new URL("../packages/compact-context-cli/demo/session.json", import.meta.url));
const WINDOW = 64_000;
const MODELS = ["claude-opus-5-5", "gpt-6.1-sol", "gpt-5.5"];
const COLUMNS = ["compact", "+ cold", "to 25 %", "trim", "mask", "summarize"];
/** The settings without what the file does not hold: the messages of the file alone are replayed. */
function countedAlone({ unseenTokens, ...settings }) {
  const fixedTokens = settings.fixedTokens - unseenTokens;
  return { ...settings, unseenTokens: 0, fixedTokens, tokensBefore: settings.tokensBefore - unseenTokens };
}

/** Smaller files hold no session that overflows the window. */
const LEAST_BYTES = 100_000;

async function played(path, model, env = {}) {
  const flags = { model, window: String(WINDOW) };
  const transcript = await readTranscript(readFileSync(path, "utf8"), { name: path });
  const early = earlySettings({ flags, ports: { cwd: "/nowhere", env }, warn: () => undefined });
  const replay = await replaySession(transcript, countedAlone(settingsFor(transcript, early, flags)), {
    clock: () => 0,
    onWarning: () => undefined,
    onProgress: () => undefined,
  });
  if (replay.callsOverBudget > 0)
    throw new Error(`${path}: ${replay.callsOverBudget} requests over the budget`);
  return replay;
}

/** Files by the source that they come from. */
function files() {
  if (!existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: source }) =>
      readdirSync(join(root, source)).map((file) => ({ source, path: join(root, source, file) })),
    )
    .filter(({ path }) => statSync(path).size >= LEAST_BYTES);
}

/** The cost of a session under every column; `to 25 %` is Compact told to aim for a quarter of the window. */
async function costsOf(path, model) {
  const { economy, mostTokensWithout } = await played(path, model);
  if (mostTokensWithout <= WINDOW) return undefined;
  const aimed = await played(path, model, { COMPACT_TARGET_CONTEXT_TOKENS: String(WINDOW / 4) });
  const named = Object.fromEntries(economy.policies.map((cost) => [cost.policy, cost]));
  const columns = {
    ...named,
    compact: economy.policies[0],
    "+ cold": economy.cold?.cost ?? economy.policies[0],
    "to 25 %": aimed.economy.policies[0],
  };
  return { model: economy.model, costs: COLUMNS.map((name) => columns[name]) };
}

const sumOf = (costs, of) => costs.reduce((sum, cost) => sum + of(cost), 0);

/** What a column comes to over sessions. */
function cellOf(costs) {
  const prompt = sumOf(costs, (cost) => cost.promptTokens);
  return {
    dollars: sumOf(costs, (cost) => cost.dollars),
    cached: sumOf(costs, (cost) => cost.cachedTokens ?? 0) / prompt,
    factor: sumOf(costs, (cost) => cost.priceFactor * cost.promptTokens) / prompt,
    rewrites: sumOf(costs, (cost) => cost.rewrites),
    tokens: prompt / sumOf(costs, (cost) => cost.calls),
  };
}

const rowOf = (source, sessions) => ({
  source,
  sessions: sessions.length,
  calls: sumOf(sessions, ({ costs }) => costs[0].calls),
  cells: COLUMNS.map((_, index) => cellOf(sessions.map(({ costs }) => costs[index]))),
});

async function modelRows(model) {
  const all = [];
  for (const { source, path } of files()) {
    const one = await costsOf(path, model);
    if (one !== undefined) all.push({ source, ...one });
  }
  if (all.length === 0) return undefined;
  const sessions = all.filter(({ costs }) => costs.every(({ dollars }) => dollars !== null));
  const sources = [...new Set(sessions.map(({ source }) => source))];
  const [{ model: priced }] = all;
  return {
    model,
    asOf: priced.asOf,
    cache: priced.rules?.kind,
    minutes: (priced.rules?.lifetime ?? 0) / 60,
    overflowing: all.length,
    refused: COLUMNS.map((name, index) => [
      name,
      all.filter(({ costs }) => costs[index].callsOverWindow > 0).length,
    ]),
    rows: [
      ...sources.map((source) =>
        rowOf(
          source,
          sessions.filter((session) => session.source === source),
        ),
      ),
      rowOf("all", sessions),
    ],
  };
}

async function run({ quick }) {
  if (quick) await played(demo, MODELS[0]);
  const models = [];
  for (const model of quick ? [] : MODELS) {
    const rows = await modelRows(model);
    if (rows !== undefined) models.push(rows);
  }
  return { window: WINDOW, models };
}

const cell = ({ dollars, cached, factor, rewrites, tokens }) =>
  `$${dollars.toFixed(2)} · ${Math.round(100 * cached)} % · ${factor.toFixed(3)} · ${rewrites} · ${Math.round(tokens / 1000)}k`;

const totals = ({ rows }) => rows.at(-1).cells;

/** Dollars of all sessions, and how many times those of `compact`. */
const shortTable = (models) =>
  table(
    ["dollars of all sessions", ...COLUMNS],
    models.map((model) => {
      const [own, ...others] = totals(model);
      const against = others.map(
        ({ dollars }) => `$${dollars.toFixed(2)} (${(dollars / own.dollars).toFixed(2)} x)`,
      );
      return [model.model, `**$${own.dollars.toFixed(2)}**`, ...against];
    }),
  );

/** The price of a prompt token, by that of `compact`. */
const factorTable = (models) =>
  table(
    ["price of a prompt token", ...COLUMNS],
    models.map((model) => {
      const [own, ...others] = totals(model);
      return [
        model.model,
        own.factor.toFixed(3),
        ...others.map(({ factor }) => `${factor.toFixed(3)} (${(factor / own.factor).toFixed(2)} x)`),
      ];
    }),
  );

function modelPart({ model, asOf, cache, minutes, overflowing, refused, rows }) {
  return [
    `**${model}**, prices of ${asOf}, cache of ${cache}, ${minutes} min. Of ${overflowing} sessions ${rows.at(-1).sessions} are
in the table; sessions with a request over the window, by policy: ${refused.map(([name, count]) => `${name} ${count}`).join(", ")}.`,
    table(
      ["source", "sessions", "calls", ...COLUMNS],
      rows.map((row) => [row.source, row.sessions, number(row.calls), ...row.cells.map(cell)]),
    ),
  ].join("\n\n");
}

const ABSENT = "Recorded sessions were not there to be played.";

export const bench = {
  title: "What a session costs",
  timed: false,
  run,
  headline({ models }) {
    if (models.length === 0) return ABSENT;
    const times = (column) => {
      const all = models.map((model) => totals(model)[column].dollars / totals(model)[0].dollars);
      return `${Math.min(...all).toFixed(2)} – ${Math.max(...all).toFixed(2)} x`;
    };
    return `by the cache simulated, trimming costs ${times(3)} what Compact does, masking ${times(4)}, summarizing by a model ${times(5)}`;
  },
  section: ({ window, models }) =>
    models.length === 0
      ? ABSENT
      : [
          `Recorded sessions that overflow a window of ${number(window)} tokens, played call by call with the prompt cache simulated; policies,
cache and what is not simulated are in [cost.md](cost.md). In brackets: how many times what \`compact\` costs.`,
          shortTable(models),
        ].join("\n\n"),
  pages: [
    {
      path: "docs/cost.md",
      mark: "costs",
      render: ({ models }) =>
        models.length === 0
          ? ABSENT
          : [shortTable(models), factorTable(models), ...models.map(modelPart)].join("\n\n"),
    },
  ],
};
