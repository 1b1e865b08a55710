// Recall on LoCoMo beside other libraries, in other scripts and at scale; writes docs/recall.md. Needs dist/ (npm run build).
// First: npm install --prefix bench/recall --ignore-scripts --no-package-lock
// Then: node bench/recall/run.mjs --locomo FILE [--print]      FILE: data/locomo10.json of snap-research/LoCoMo, or part of it
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { RANKING_WEIGHTS } from "../../dist/memory/index.js";
import { markdownDifferences, stemDifferences } from "./checks.mjs";
import { CATEGORIES, readConversations } from "./locomo.mjs";
import { figures, leaveOneOut, measure, WITHOUT } from "./measure.mjs";
import { SYSTEMS } from "./peers.mjs";
import { probe } from "./probe.mjs";
import { scale } from "./scale.mjs";

const { values } = parseArgs({ options: { locomo: { type: "string" }, print: { type: "boolean" } } });
if (values.locomo === undefined) {
  console.error("usage: node bench/recall/run.mjs --locomo FILE [--print]");
  process.exit(2);
}
const load = loadavg()[0].toFixed(1);
const conversations = readConversations(values.locomo);
const systems = SYSTEMS.map((system) => ({
  name: system.name,
  probe: probe(system),
  ...figures(measure(system, conversations)),
}));
const [ours] = systems;
const one = (value) => value.toFixed(1);
const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(0));
const table = (head, rows) =>
  [
    `| ${head.join(" | ")} |`,
    `|---${"|---".repeat(head.length - 1)}|`,
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ].join("\n");

const held = conversations.length > 1 ? leaveOneOut(conversations) : [];
const heldMean =
  held.reduce((sum, { held: found, count }) => sum + found * count, 0) /
  Math.max(
    1,
    held.reduce((sum, { count }) => sum + count, 0),
  );
const without = Object.entries(WITHOUT).map(([name, weights]) => [
  name,
  figures(measure(SYSTEMS[0], conversations, { weights })),
]);
const sizes = [600, 10_000, 100_000].map(scale);
const markdown = await markdownDifferences(5_000).catch(() => undefined);
const words = [
  ...new Set(
    conversations.flatMap(({ candidates }) =>
      candidates.flatMap(({ content }) => content.toLowerCase().match(/[a-z]+/g) ?? []),
    ),
  ),
];
const stems = stemDifferences(words);

const signed = (value) => (Math.abs(value) < 0.05 ? "0" : `${value > 0 ? "+" : "−"}${one(Math.abs(value))}`);
const page = `# Recall

Made by \`node bench/recall/run.mjs --locomo FILE\`: ${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}, load ${load} at the start.

How well the right passage is found, by words alone: no model, no vectors, no network. The data is
[LoCoMo](https://github.com/snap-research/LoCoMo) (CC BY-NC 4.0, not part of this project): ${conversations.length} long conversations,
${conversations.map(({ id }) => id).join(", ")}. Every turn is a candidate, every question a query; R@k is the mean share of
a question's evidence among the first k turns. The ${ours.questions} questions of categories 1 to 4 count; "all" has the adversarial ones, too.
Some answers of LoCoMo are known to be wrong: nobody can reach 100.

## Beside others, in one run

${table(
  [
    "",
    "R@3",
    "R@5",
    "R@10",
    "R@20",
    "R@50",
    "all evidence in 10",
    "in 3,500 characters",
    "R@10, all",
    "p50 / p95 ms",
    "build ms",
  ],
  systems.map((row) => [
    row === ours ? `**${row.name}**` : row.name,
    ...Object.values(row.at).map(one),
    one(row.all),
    one(row.bare),
    one(row.everything),
    `${ms(row.p50)} / ${ms(row.p95)}`,
    ms(row.build),
  ]),
)}

Times are processor time of one query. SQLite runs as WebAssembly (\`node-sqlite3-wasm\`), which needs no native build and is about half as fast.
"In 3,500 characters": turns with their speaker, best first, while there is room. Packed by \`packMemories\`, source and date
on every item included, ours holds **${one(ours.packed)} %** of the evidence in that room.

R@10 by category:

${table(
  ["", ...Object.values(CATEGORIES)],
  systems.map((row) => [row === ours ? `**${row.name}**` : row.name, ...row.categories.map(one)]),
)}

Questions in Chinese, Japanese and Korean whose note comes first (\`bench/recall/probe.mjs\`):

${table(
  ["", "Chinese", "Japanese", "Korean"],
  systems.map((row) => [row.name, ...Object.values(row.probe).map(([hits, all]) => `${hits}/${all}`)]),
)}

## What each reason is worth

R@10 and evidence in 3,500 characters without it, against ${one(ours.at[10])} and ${one(ours.bare)} with all:

${table(
  ["left out", "R@10", "multi-hop", "open-domain", "adversarial", "in 3,500 characters"],
  without.map(([name, row]) => [
    name,
    signed(row.at[10] - ours.at[10]),
    signed(row.categories[0] - ours.categories[0]),
    signed(row.categories[2] - ours.categories[2]),
    signed(row.categories[4] - ours.categories[4]),
    signed(row.bare - ours.bare),
  ]),
)}

Related words and spreading out are the two steps for questions whose answers stand in several places or share no word with
them: a hand-made list of kinds and near-synonyms (\`ranking/related-words.ts\`, written for everyday English and software
work), and a small penalty for standing right beside a better hit.
The list was widened once after looking at questions that failed here: part of what it adds is fitted to these conversations.

## How far the weights are fitted

The weights are round numbers, and were looked at on these conversations. Choosing, for each conversation, the weights that
are best on the others among ${Object.keys(RANKING_WEIGHTS).length * 4} one-step changes gives **${one(heldMean)}** on the conversations left out:

${table(
  ["left out", "R@10, weights in use", "R@10, chosen on the others", "chosen"],
  held.map(({ id, inUse, held: found, chosen }) => [
    id,
    one(inUse),
    one(found),
    Object.entries(chosen)
      .map(([name, value]) => `${name} ${Number(value.toFixed(3))}`)
      .join(", ") || "those in use",
  ]),
)}

## Many candidates

Sections of 60 words drawn by Zipf's law from 200,000, 20 a file; queries of five such words. From some thousand
occurrences of a query's words on, common words count only where a rarer one was found.

${table(
  ["sections", "build ms", "p50 ms", "p95 ms"],
  sizes.map(({ count, build, p50, p95 }) => [count.toLocaleString("en"), ms(build), ms(p50), ms(p95)]),
)}

## Checks against references

${markdown === undefined ? "Markdown: not checked, micromark is not installed." : `Markdown: ${markdown.headings.toLocaleString("en")} headings in 5,000 drawn texts, ${markdown.different.length} texts read otherwise than by micromark.`}
Comments that nothing closes are text here, so that one typing error hides nothing; headings inside lists and quotes are not looked for.
Stems: ${words.length.toLocaleString("en")} words of the conversations, ${stems.length} stemmed otherwise than by Snowball's Porter2.
`;
if (values.print) console.log(page);
else writeFileSync(new URL("../../docs/recall.md", import.meta.url), page);
if ((markdown?.different.length ?? 0) + stems.length > 0) {
  console.error("differs from a reference:", markdown?.different.slice(0, 3), stems.slice(0, 20));
  process.exitCode = 1;
}
