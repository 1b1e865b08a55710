// Recall, precision, touched lines and speed of the redaction on both halves of the corpus; writes the figures
// of docs/redaction.md between its markers. Needs dist/ (npm run build).
// node bench/redaction/run.mjs [--print] [--misses]  (peers: npm install --prefix bench/redaction/peers --ignore-scripts --no-package-lock)
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRedactor, redact } from "../../dist/redaction/redactor.js";
import { codeLines, isGone, personalRows, positives } from "./corpus.mjs";
import { development } from "./development.mjs";
import { GITLEAKS, gitleaksCoverage } from "./gitleaks-rules.mjs";
import { keptBack } from "./kept-back.mjs";
import { loadPeers } from "./peers.mjs";
import { hostileTexts, speedOf } from "./speed.mjs";
import { sessionLines } from "./transcripts.mjs";

const { values } = parseArgs({ options: { print: { type: "boolean" }, misses: { type: "boolean" } } });
const root = fileURLToPath(new URL("../../", import.meta.url));
const at = (path) => `${root}${path}`;

const HALVES = {
  development: {
    half: development,
    seed: 1,
    code: codeLines([at("src"), at("scripts")], (path) => /redaction|\.test\.ts$/.test(path)),
  },
  "kept back": {
    half: keptBack,
    seed: 7_001,
    code: codeLines(
      ["pg", "pg-protocol", "@aws-sdk", "@smithy", "zod/v4/core", "yaml/dist"].map((name) =>
        at(`node_modules/${name}`),
      ),
      (path) => /\.d\.ts$|dist-es|locales/.test(path),
    ),
  },
};

async function measure(redactText, { half, seed, code }) {
  const rows = positives(half, seed);
  const gone = [];
  for (const row of rows) gone.push(isGone(await redactText(row.text), row));
  const harmless = [...half.harmless, ...code.mentioning];
  const touched = await touchedOf(redactText, harmless);
  const others = await touchedOf(redactText, code.others);
  const found = gone.filter(Boolean).length;
  const byKind = Object.fromEntries(
    [...new Set(rows.map(({ kind }) => kind))].map((kind) => {
      const own = rows.map((row, index) => [row, gone[index]]).filter(([row]) => row.kind === kind);
      return [kind, own.filter(([, is]) => is).length / own.length];
    }),
  );
  return {
    rows: rows.length,
    recall: found / rows.length,
    byKind,
    harmless: harmless.length,
    touched: touched.length / harmless.length,
    // As many harmless lines as secrets: the share of what is touched that is a secret.
    precision: found / (found + (touched.length / harmless.length) * rows.length),
    others: code.others.length,
    othersTouched: others.length / code.others.length,
    misses: rows.filter((_, index) => !gone[index]),
    touchedLines: [...touched, ...others],
  };
}

async function touchedOf(redactText, lines) {
  const touched = [];
  for (const line of lines) if ((await redactText(line)) !== line) touched.push(line);
  return touched;
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;
const personal = createRedactor({ personal: true });
const redactors = [["Compact", redact], ...(await loadPeers())];
const lines = [
  `Measured on ${cpus()[0].model.trim()}, Node ${process.versions.node}, by \`node bench/redaction/run.mjs\`.`,
  "",
  "| half | redactor | secrets | recall | tokens | passwords | named values | private keys | precision | lines that mention secrets touched | other code lines touched |",
  "|---|---|---|---|---|---|---|---|---|---|---|",
];
for (const [name, parts] of Object.entries(HALVES)) {
  for (const [who, redactText] of redactors) {
    const figures = await measure(redactText, parts);
    const { byKind } = figures;
    const kinds = ["token", "password", "named", "private key"].map((kind) => percent(byKind[kind] ?? 0));
    lines.push(
      `| ${name} | ${who} | ${figures.rows} | ${percent(figures.recall)} | ${kinds.join(" | ")} | ${percent(figures.precision)} | ${percent(figures.touched)} of ${figures.harmless.toLocaleString("en")} | ${percent(figures.othersTouched)} of ${figures.others.toLocaleString("en")} |`,
    );
    if (values.misses && who === "Compact" && name === "development") {
      for (const { text } of figures.misses)
        console.log(
          "MISS",
          JSON.stringify(text.slice(0, 200)),
          "→",
          JSON.stringify(redact(text).slice(0, 160)),
        );
      for (const line of figures.touchedLines) console.log("TOUCHED", redact(line).trim().slice(0, 200));
    }
  }
}
lines.push(
  "",
  "| facts about people (optional layer) | rows | recall | touched without the layer |",
  "|---|---|---|---|",
);
for (const [name, { half, seed }] of Object.entries(HALVES)) {
  const rows = personalRows(half, seed);
  const found = rows.filter((row) => isGone(personal.redactText(row.text), row)).length;
  const without = rows.filter((row) => redact(row.text) !== row.text).length;
  lines.push(
    `| ${name} | ${rows.length} | ${percent(found / rows.length)} | ${percent(without / rows.length)} |`,
  );
}
const sessions = sessionLines(at("../shared/transcripts"));
const inSessions = sessions === undefined ? [] : await touchedOf(redact, sessions);
if (values.misses) for (const line of inSessions) console.log("SESSION", redact(line).trim().slice(0, 200));
const { ids, missed } = gitleaksCoverage(redact);
lines.push(
  "",
  `Issuers: of ${ids.length} rules (${GITLEAKS}), secrets of ${ids.length - missed.length} are taken out; not those of ${missed.join(", ")}.`,
  "",
  sessions === undefined
    ? "Recorded agent sessions were not there to be measured."
    : `In recorded agent sessions, ${inSessions.length} of ${sessions.length.toLocaleString("en")} different lines are touched (${((inSessions.length / sessions.length) * 100).toFixed(2)} %).`,
);
const speed = speedOf(redact, HALVES["kept back"].code);
const hostile = hostileTexts().map(([name, text]) => {
  const start = performance.now();
  redact(text);
  return { name, ms: performance.now() - start };
});
const slowest = hostile.toSorted((one, other) => other.ms - one.ms)[0];
lines.push(
  "",
  `Speed on code and prose, process time: ${speed.small.toFixed(1)} MB/s in messages of 2 KB, ${speed.large.toFixed(1)} MB/s in messages of 200 KB.`,
  `The slowest of ${hostile.length} hostile texts of 1 MB (${JSON.stringify(slowest.name)} repeated) takes ${slowest.ms.toFixed(0)} ms.`,
);
const report = lines.join("\n");
console.log(report);
if (!values.print && !values.misses) {
  const page = at("docs/redaction.md");
  const before = readFileSync(page, "utf8");
  writeFileSync(
    page,
    before.replace(
      /(<!-- figures -->\n)[\s\S]*?(<!-- \/figures -->)/,
      (_, open, close) => `${open}${report}\n${close}`,
    ),
  );
}
