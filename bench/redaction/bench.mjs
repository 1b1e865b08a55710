// What redactors find and touch on both halves of the corpus, and how fast they are by the length of a message.
import { fileURLToPath } from "node:url";
import { createRedactor, redact } from "../../packages/compact-context/dist/redaction/redactor.js";
import { curvePicture, curveTable } from "../curve.mjs";
import { digits, number, percent, table } from "../markdown.mjs";
import { isGone, personalRows } from "./corpus.mjs";
import { GITLEAKS, gitleaksCoverage } from "./gitleaks-rules.mjs";
import { HALVES, measure, touchedOf } from "./measure.mjs";
import { loadPeers } from "./peers.mjs";
import { slowestHostile, speedCurve } from "./speed.mjs";
import { sessionLines } from "./transcripts.mjs";

const SIZES = [200, 2_000, 20_000, 200_000, 1_000_000];
const KINDS = ["token", "password", "named", "other forms", "private key"];

/** Remembers no text: the same ones come again in the rounds. */
const forgetful = createRedactor({ onFinding: () => undefined });

async function found(redactors, halves) {
  const rows = [];
  for (const [half, parts] of halves) {
    for (const [redactor, redactText] of redactors) {
      const { misses: _, touchedLines: __, ...figures } = await measure(redactText, parts);
      rows.push({ half, redactor, ...figures });
    }
  }
  return rows;
}

function people(halves) {
  const personal = createRedactor({ personal: true });
  return halves.map(([name, { half, seed }]) => {
    const rows = personalRows(half, seed);
    const gone = rows.filter((row) => isGone(personal.redactText(row.text), row)).length;
    const without = rows.filter((row) => redact(row.text) !== row.text).length;
    return { name, rows: rows.length, recall: gone / rows.length, without: without / rows.length };
  });
}

async function sessions() {
  const lines = sessionLines(fileURLToPath(new URL("../../../shared/transcripts", import.meta.url)));
  return lines === undefined
    ? null
    : { lines: lines.length, touched: (await touchedOf(redact, lines)).length };
}

async function run({ quick }) {
  const redactors = [["Compact", redact], ...(quick ? [] : await loadPeers())];
  const halves = Object.entries(HALVES).slice(0, quick ? 1 : 2);
  const { ids, missed } = gitleaksCoverage(redact);
  return {
    rows: await found(redactors, halves),
    people: people(halves),
    issuers: { rules: GITLEAKS, count: ids.length, missed },
    sessions: quick ? null : await sessions(),
    speed: await speedCurve(
      [["Compact", forgetful.redactText], ...redactors.slice(1)],
      halves.at(-1)[1].code,
      {
        sizes: quick ? SIZES.slice(0, 2) : SIZES,
        rounds: quick ? 1 : 5,
        ...(quick ? { share: 20 } : {}),
      },
    ),
    hostile: slowestHostile(redact, ...(quick ? [20_000] : [])),
  };
}

const foundTable = (rows) =>
  table(
    [
      "half",
      "redactor",
      "secrets",
      "recall",
      "tokens",
      "passwords",
      "named values",
      "other forms",
      "private keys",
      "precision",
      "lines that mention secrets touched",
      "other code lines touched",
    ],
    rows.map((row) => [
      row.half,
      row.redactor,
      number(row.rows),
      percent(row.recall),
      ...KINDS.map((kind) => percent(row.byKind[kind] ?? 0)),
      percent(row.precision),
      `${percent(row.touched)} of ${number(row.harmless)}`,
      `${percent(row.othersTouched)} of ${number(row.others)}`,
    ]),
  );

const touchedInSessions = (figures) =>
  figures === null
    ? "Recorded agent sessions were not there to be measured."
    : `In recorded agent sessions, ${figures.touched} of ${number(figures.lines)} different lines are touched (${((figures.touched / figures.lines) * 100).toFixed(2)} %).`;

const slowest = ({ count, piece, ms }) =>
  `The slowest of ${count} hostile texts of 1 MB (${JSON.stringify(piece)} repeated) takes ${digits(ms)} ms.`;

export const bench = {
  title: "Redacting secrets",
  run,
  headline({ rows, speed }) {
    const [own, peer] = rows.filter(({ half }) => half === rows.at(-1).half);
    const fast = speed.series[0].points[1].median;
    const other = peer === undefined ? "" : ` (${peer.redactor}: ${percent(peer.recall)})`;
    return `${percent(own.recall)} of secrets it was not made with${other}, ${digits(fast)} MB/s`;
  },
  section: ({ rows, speed, hostile }) =>
    [
      "The corpus, its two halves and what is not caught are in [redaction.md](redaction.md).",
      table(
        ["half", "redactor", "recall", "precision", "lines that mention secrets touched"],
        rows.map((row) => [
          row.half,
          row.redactor,
          percent(row.recall),
          percent(row.precision),
          percent(row.touched),
        ]),
      ),
      "Speed on code and prose without secrets:",
      curveTable(speed),
      slowest(hostile),
      "![Megabytes redacted in a second by the length of a message](benchmarks/redaction.svg)",
    ].join("\n\n"),
  pictures: ({ speed }) => ({ redaction: curvePicture(speed, "Redacting") }),
  pages: [
    {
      path: "docs/redaction.md",
      mark: "figures",
      render: (
        { rows, people: personal, issuers, sessions: inSessions, speed, hostile },
        { machine, node },
      ) =>
        [
          `Measured on ${machine}, Node ${node}, by \`npm run bench -- redaction\`.`,
          foundTable(rows),
          table(
            ["facts about people (optional layer)", "rows", "recall", "touched without the layer"],
            personal.map((row) => [row.name, number(row.rows), percent(row.recall), percent(row.without)]),
          ),
          `Issuers: of ${issuers.count} rules (${issuers.rules}), secrets of ${issuers.count - issuers.missed.length} are taken out; not those of ${issuers.missed.join(", ")}.`,
          touchedInSessions(inSessions),
          "Speed on code and prose without secrets:",
          curveTable(speed),
          slowest(hostile),
        ].join("\n\n"),
    },
  ],
};
