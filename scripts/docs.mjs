// Writes what the documents take from the code: the configuration table of the README and the lists of formats.
// `--check` changes nothing and fails when a document is behind.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configTable } from "../dist/config/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");

/** The text between `<!-- name -->` and `<!-- /name -->` replaced. */
function fill(text, name, content) {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const start = text.indexOf(open);
  const end = text.indexOf(close);
  if (start < 0 || end < start) throw new Error(`no place called ${name}`);
  return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
}

const path = `${root}README.md`;
const before = readFileSync(path, "utf8");
const after = fill(before, "configuration", configTable());
if (check && after !== before) {
  console.error("README.md is behind the settings: npm run docs");
  process.exitCode = 1;
} else if (!check) writeFileSync(path, after);
