// What survives a compaction: `npm run retention` measures it and writes docs/retention.md; its headline is read from there.
import { readFileSync } from "node:fs";
import { table } from "./markdown.mjs";

const page = new URL("../docs/retention.md", import.meta.url);

const words = (line) =>
  line
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.replaceAll("*", "").trim());

/** The tables of the page by their headings: [{ budget, rows: [{ method, RS, … }] }] */
function tablesOf(text) {
  const [, figures] = text.split(/<!-- \/?figures -->/);
  return [...figures.matchAll(/^### (.+ of the prefix)$\n\n((?:\|.*\n)+)/gm)].map(([, budget, lines]) => {
    const [head, , ...rows] = lines.trim().split("\n").map(words);
    return {
      budget,
      rows: rows.map((cells) => Object.fromEntries(cells.map((cell, at) => [head[at], cell]))),
    };
  });
}

async function run() {
  const budgets = tablesOf(readFileSync(page, "utf8"));
  return {
    budgets: budgets.map(({ budget }) => budget),
    methods: budgets[0].rows.map(({ method }) => ({
      method,
      scores: budgets.map(({ rows }) => rows.find((row) => row.method === method)?.RS ?? "–"),
    })),
  };
}

const BUILT_IN = /^built-in summary/;

export const bench = {
  title: "What survives a compaction",
  timed: false,
  run,
  headline({ budgets, methods }) {
    const own = methods.find(({ method }) => BUILT_IN.test(method));
    return `score of the built-in summary: ${own.scores.map((score, at) => `${score} at ${budgets[at]}`).join(", ")}`;
  },
  section: ({ budgets, methods }) =>
    [
      `Recorded sessions are cut, what stands before the cut is turned into a text of a share of its tokens, and the agent's own later
words decide what it should have held: 1 is all of it and nothing by chance. How it is reckoned, and all figures, are in
[retention.md](retention.md), made by \`npm run retention\`.`,
      table(
        ["method", ...budgets],
        methods.map(({ method, scores }) => {
          const ours = BUILT_IN.test(method) || method.startsWith("compact()");
          return ours ? [`**${method}**`, ...scores.map((score) => `**${score}**`)] : [method, ...scores];
        }),
      ),
    ].join("\n\n"),
};
