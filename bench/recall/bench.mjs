// Recall on LoCoMo beside other libraries, in other scripts and at scale. LOCOMO=FILE names data/locomo10.json of
// snap-research/LoCoMo, or part of it; without it, where ../shared/locomo is not there either, the rest is measured.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RANKING_WEIGHTS } from "../../packages/compact-context/dist/memory/ranking/recall-index.js";
import { curvePicture, curveTable } from "../curve.mjs";
import { digits, number, table } from "../markdown.mjs";
import { markdownDifferences } from "./checks.mjs";
import { CATEGORIES, readConversations } from "./locomo.mjs";
import { figures, leaveOneOut, measure, WITHOUT } from "./measure.mjs";
import { systems as installedSystems } from "./peers.mjs";
import { probe } from "./probe.mjs";
import { buildCurve, queryCurve, scale } from "./scale.mjs";

const SHARED = fileURLToPath(new URL("../../../shared/locomo/locomo-dev.json", import.meta.url));
const DRAWN_TEXTS = 5_000;

async function run({ quick }) {
  const systems = await installedSystems();
  const path = process.env.LOCOMO ?? SHARED;
  const locomo = quick || !existsSync(path) ? null : onLocomo(systems, readConversations(path));
  const markdown = await markdownDifferences(quick ? 100 : DRAWN_TEXTS);
  if (markdown !== null && markdown.different.length > 0)
    throw new Error(`read otherwise than by the reference: ${markdown.different.slice(0, 20)}`);
  return {
    locomo,
    probe: systems.map((system) => ({ name: system.name, ...probe(system) })),
    markdown,
    scale: scale(systems, quick),
  };
}

function onLocomo(systems, conversations) {
  const [ours] = systems;
  const without = Object.entries(WITHOUT).map(([name, weights]) => ({
    name,
    ...figures(measure(ours, conversations, { weights })),
  }));
  return {
    conversations: conversations.map(({ id }) => id),
    systems: systems.map((system) => ({ name: system.name, ...figures(measure(system, conversations)) })),
    without,
    held: conversations.length > 1 ? leaveOneOut(ours, conversations) : [],
  };
}

const one = (value) => value.toFixed(1);
const signed = (value) => (Math.abs(value) < 0.05 ? "0" : `${value > 0 ? "+" : "−"}${one(Math.abs(value))}`);
const bold = (index, name) => (index === 0 ? `**${name}**` : name);

const systemsTable = (systems) =>
  table(
    [
      "",
      ...Object.keys(systems[0].at).map((depth) => `R@${depth}`),
      "all evidence in 10",
      "in 3,500 characters",
      "R@10, all",
      "p50 / p95 ms",
      "build ms",
    ],
    systems.map((row, index) => [
      bold(index, row.name),
      ...Object.values(row.at).map(one),
      one(row.all),
      one(row.bare),
      one(row.everything),
      `${digits(row.p50)} / ${digits(row.p95)}`,
      digits(row.build),
    ]),
  );

const probeTable = (rows) =>
  table(
    ["", "Chinese", "Japanese", "Korean"],
    rows.map(({ name, ...languages }) => [
      name,
      ...Object.values(languages).map(([hits, all]) => `${hits}/${all}`),
    ]),
  );

function weights({ systems: [ours], without, held }) {
  return [
    `## What each reason is worth

R@10 and evidence in 3,500 characters without it, against ${one(ours.at[10])} and ${one(ours.bare)} with all:`,
    table(
      ["left out", "R@10", "multi-hop", "open-domain", "adversarial", "in 3,500 characters"],
      without.map((row) => [
        row.name,
        signed(row.at[10] - ours.at[10]),
        signed(row.categories[0] - ours.categories[0]),
        signed(row.categories[2] - ours.categories[2]),
        signed(row.categories[4] - ours.categories[4]),
        signed(row.bare - ours.bare),
      ]),
    ),
    ...(held.length === 0 ? [] : fitted(held)),
  ];
}

/** What choosing the weights on the other conversations would have given on each. */
function fitted(held) {
  const count = held.reduce((sum, row) => sum + row.count, 0);
  const mean = held.reduce((sum, row) => sum + row.held * row.count, 0) / count;
  return [
    `## How far the weights are fitted

The weights are round numbers, and were chosen on these conversations. Choosing, for each conversation, the weights that
are best on the others among ${Object.keys(RANKING_WEIGHTS).length * 4} one-step changes gives **${one(mean)}** on the conversations left out:`,
    table(
      ["left out", "R@10, weights in use", "R@10, chosen on the others", "chosen"],
      held.map(({ id, inUse, held: found, chosen }) => [
        id,
        one(inUse),
        one(found),
        Object.entries(chosen)
          .map(([name, value]) => `${name} ${Number(value.toFixed(3))}`)
          .join(", ") || "those in use",
      ]),
    ),
  ];
}

function checks({ markdown }) {
  const read =
    markdown === null
      ? "Markdown: not checked, micromark is not installed."
      : `Markdown: ${number(markdown.headings)} headings in ${number(DRAWN_TEXTS)} drawn texts, none read otherwise than by micromark.`;
  return `## Checked against a reference

${read}
Comments that nothing closes are text here, so that one typing error hides nothing; headings inside lists and quotes are not looked for.`;
}

const MANY = `Sections of 60 words drawn by Zipf's law from 200,000, 20 a file; queries of five such words. From some thousand
occurrences of a query's words on, common words count only where a rarer one was found.`;

const many = (measured) => [
  MANY,
  curveTable(queryCurve(measured)),
  "Building the index:",
  curveTable(buildCurve(measured)),
];

function page({ locomo, probe: asked, markdown, scale: measured }, { machine, node, load, date }) {
  const made = `Made by \`npm run bench -- recall\` on ${date}: ${machine}, Node ${node}, load ${load.toFixed(1)} before the run.`;
  const beside =
    locomo === null
      ? ["LoCoMo was not there to be measured."]
      : [
          `## Beside others, in one run

${locomo.conversations.length} conversations, ${locomo.conversations.join(", ")}, with ${locomo.systems[0].questions} questions of categories 1 to 4.`,
          systemsTable(locomo.systems),
          `Times are processor time of one query. SQLite runs as WebAssembly (\`node-sqlite3-wasm\`), which needs no native build and is about half as fast.
"In 3,500 characters": turns with their speaker, best first, while there is room. Packed by \`packMemories\`, source and date
on every item included, ours holds **${one(locomo.systems[0].packed)} %** of the evidence in that room.`,
          "R@10 by category:",
          table(
            ["", ...Object.values(CATEGORIES)],
            locomo.systems.map((row, index) => [bold(index, row.name), ...row.categories.map(one)]),
          ),
        ];
  return [
    made,
    ...beside,
    "Questions in Chinese, Japanese and Korean whose note comes first (`bench/recall/probe.mjs`):",
    probeTable(asked),
    ...(locomo === null ? [] : weights(locomo)),
    "## Many candidates",
    ...many(measured),
    checks({ markdown }),
  ].join("\n\n");
}

export const bench = {
  title: "Finding what was noted",
  run,
  headline({ locomo, scale: measured }) {
    if (locomo === null) return `${digits(queryCurve(measured).series[0].points.at(-1).median)} ms a query`;
    const [ours, ...others] = locomo.systems;
    const best = others.toSorted((a, b) => b.at[10] - a.at[10])[0];
    const next = best === undefined ? "" : `; the best of the others, ${best.name}, ${one(best.at[10])} %`;
    return `${one(ours.at[10])} % of the evidence among ten hits${next}`;
  },
  section: ({ locomo, scale: measured }) =>
    [
      "Questions about long conversations (LoCoMo), by words alone: no model, no vectors. More in [recall.md](recall.md).",
      ...(locomo === null ? ["LoCoMo was not there to be measured."] : [systemsTable(locomo.systems)]),
      ...many(measured),
      "![Time of a query by the number of sections](benchmarks/recall.svg)",
    ].join("\n\n"),
  pictures: ({ scale: measured }) => ({
    recall: curvePicture(queryCurve(measured), "A query over many sections"),
  }),
  pages: [{ path: "docs/recall.md", mark: "figures", render: page }],
};
