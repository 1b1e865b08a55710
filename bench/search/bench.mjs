// Search in an archive beside MiniSearch, by the number of messages in one session; each in a process of its own.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { curvePicture, curveTable } from "../curve.mjs";
import { digits, number, table } from "../markdown.mjs";
import { versionOf } from "../peers.mjs";

const SIZES = [1_000, 3_000, 10_000, 30_000, 100_000];
/** Queries of a size: fewer where each takes longer. */
const queriesFor = (count) => (count > 30_000 ? 40 : 150);
/** What MiniSearch is asked for at most: beyond, its index alone takes most of a gigabyte. */
const PEER_MOST = 30_000;
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

function figuresOf(script, count, queries) {
  const args = ["--expose-gc", "--max-old-space-size=4000", at(script), String(count), String(queries)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

async function run({ quick }) {
  const installed = existsSync(at("../node_modules/minisearch"));
  const rows = (quick ? [250, 500] : SIZES).map((count) => {
    const queries = quick ? 10 : queriesFor(count);
    return {
      count,
      queries,
      ours: figuresOf("ours.mjs", count, queries),
      peer: installed && count <= PEER_MOST ? figuresOf("minisearch.mjs", count, queries) : null,
    };
  });
  return { peer: installed ? `MiniSearch ${versionOf("minisearch")}` : "MiniSearch", rows };
}

/** What is measured: words of the page, unit, and where the figure lies. */
const MEASURES = [
  ["five words, warm, median", "ms", ({ warm }) => warm.p50],
  ["five words, warm, 95th percentile", "ms", ({ warm }) => warm.p95],
  ["a phrase of two words, 95th percentile", "ms", ({ phrase }) => phrase?.p95],
  ["opening a stored index, with the first search", "ms", ({ coldMs }) => coldMs],
  ["building it (ours reads and checks the transcripts)", "ms", ({ buildMs }) => buildMs],
  ["250 new messages taken in and stored", "ms", ({ addedMs }) => addedMs],
  ["memory held after the searches", "MB", ({ heldMegabytes }) => heldMegabytes],
  ["on disk", "MB", ({ indexMegabytes }) => indexMegabytes],
];

function sizeTable({ count, ours, peer }, name) {
  return table(
    [`${number(count)} messages`, "archive search", name, ""],
    MEASURES.map(([label, unit, of]) => {
      const theirs = peer === null ? undefined : of(peer);
      return [
        label,
        `**${digits(of(ours))} ${unit}**`,
        theirs === undefined ? "–" : `${digits(theirs)} ${unit}`,
        theirs === undefined ? "" : `${digits(theirs / of(ours))} x`,
      ];
    }),
  );
}

/** The curve of a query of five words. */
function wordsCurve({ peer, rows }) {
  const point = (figures) =>
    figures === null ? null : { median: figures.warm.p50, least: figures.warm.p50, most: figures.warm.p95 };
  return {
    by: "messages",
    unit: "ms of the clock",
    more: false,
    sizes: rows.map(({ count }) => count),
    series: [
      { name: "archive search", points: rows.map(({ ours }) => point(ours)) },
      { name: peer, points: rows.map((row) => point(row.peer)) },
    ],
  };
}

const HOW = `One session of made-up messages of about 60 words (Zipf's law, 200,000 words), on the file system; queries of five words, the
quickest of three times of each. MiniSearch is given the same texts with its own settings; it keeps no message apart from its
index, and a new message means that its whole file is written again.`;

/** The largest size at which both were measured. */
const largest = ({ rows }) => rows.findLast(({ peer }) => peer !== null) ?? rows.at(-1);

export const bench = {
  title: "Searching an archive",
  run,
  headline(figures) {
    const { count, ours, peer } = largest(figures);
    const times =
      peer === null ? "" : `, ${digits(peer.warm.p50 / ours.warm.p50)} x quicker than ${figures.peer}`;
    return `five words in ${number(count)} messages in ${digits(ours.warm.p50)} ms${times}`;
  },
  section: (figures) =>
    [
      `${HOW} In brackets: median and 95th percentile. The other sizes are in [search.md](search.md).`,
      curveTable(wordsCurve(figures)),
      sizeTable(largest(figures), figures.peer),
      "![Time of a query by the size of the archive](benchmarks/search.svg)",
    ].join("\n\n"),
  pictures: (figures) => ({ search: curvePicture(wordsCurve(figures), "Searching an archive, five words") }),
  pages: [
    {
      path: "docs/search.md",
      mark: "figures",
      render: (figures, { machine, node, load, date }) =>
        [
          `Made by \`npm run bench -- search\` on ${date}: ${machine}, Node ${node}, load ${load.toFixed(1)} before the run. ${HOW}`,
          ...figures.rows.map((row) => sizeTable(row, figures.peer)),
        ].join("\n\n"),
    },
  ],
};
