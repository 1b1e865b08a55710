// Recall, precision and touched lines of a redactor on both halves of the corpus.
import { fileURLToPath } from "node:url";
import { codeLines, isGone, positives } from "./corpus.mjs";
import { development } from "./development.mjs";
import { keptBack } from "./kept-back.mjs";

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The two halves of the corpus with harmless lines of code. */
export const HALVES = {
  development: {
    half: development,
    seed: 1,
    code: codeLines([at("packages"), at("scripts")], (path) => /redaction|\.test\.ts$/.test(path)),
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

/** What a redactor takes out of a half, and what it should have left. */
export async function measure(redactText, { half, seed, code }) {
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

/** The lines that come back changed. */
export async function touchedOf(redactText, lines) {
  const touched = [];
  for (const line of lines) if ((await redactText(line)) !== line) touched.push(line);
  return touched;
}
