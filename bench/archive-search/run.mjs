// Archive search beside MiniSearch, and the page of the figures, docs/search.md. Needs dist/ (npm run build) and
// `npm install --prefix bench/archive-search`. Sizes: --messages 10000,100000; --dist DIR; --peer-most N.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000,100000" },
    dist: { type: "string", default: join(root, "dist") },
    "peer-most": { type: "string", default: "100000" },
  },
});
const sizes = values.messages.split(",").map(Number);
const load = loadavg()[0].toFixed(1);
const scratch = mkdtempSync(join(tmpdir(), "compact-bench-"));

function run(script, count) {
  const out = join(scratch, "out.json");
  const args = ["--expose-gc", join(here, script), String(count), resolve(values.dist), out];
  execFileSync(process.execPath, args, { stdio: "inherit" });
  return JSON.parse(readFileSync(out, "utf8"));
}

const installed = existsSync(join(here, "node_modules", "minisearch"));
const figures = sizes.map((count) => ({
  count,
  ours: run("ours.mjs", count),
  peer: installed && count <= Number(values["peer-most"]) ? run("minisearch.mjs", count) : undefined,
}));
rmSync(scratch, { recursive: true });

const digits = (value) =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
const number = (value) => value.toLocaleString("en");

function table({ count, ours, peer }) {
  const row = (label, of, unit) => {
    const theirs = peer === undefined || of(peer) === undefined ? "–" : `${digits(of(peer))} ${unit}`;
    const ratio = peer === undefined || of(peer) === undefined ? "" : `${(of(peer) / of(ours)).toFixed(1)} x`;
    return `| ${label} | **${digits(of(ours))} ${unit}** | ${theirs} | ${ratio} |`;
  };
  return [
    `| ${number(count)} messages | archive search | MiniSearch 7.2.0, one JSON file | |`,
    "|---|---|---|---|",
    row("five words, warm, median", (one) => one.warm.p50, "ms"),
    row("five words, warm, 95th percentile", (one) => one.warm.p95, "ms"),
    row("a phrase of two words, 95th percentile", (one) => one.phrase?.p95, "ms"),
    row("opening a stored index, with the first search", (one) => one.coldMs, "ms"),
    row("building it (ours reads and checks the transcripts)", (one) => one.buildSeconds, "s"),
    row("250 new messages taken in and stored", (one) => one.addedMs, "ms"),
    row("memory held after the searches", (one) => one.heldMegabytes, "MB"),
    row("on disk", (one) => one.indexMegabytes, "MB"),
  ].join("\n");
}

const page = `# Archive search

Archived messages are found by an index that is kept beside them, in \`{session}/search/\`, on whatever medium the
archive is on. It is made from the transcripts, takes each message in once, is brought up to date by every search, and
is made anew where it is missing, damaged or older than the archive. It holds what the archive holds: text with its
secrets taken out.

- Ranking is BM25 (k1 0.5, b 0.6) over words in lower case, English plurals cut; any word of a query may be missing.
  Identifiers and paths are found whole, by their parts and by the parts of \`camelCase\` and \`snake_case\`. Scripts
  without blanks between words are found by characters and pairs of them. A word that nobody wrote stands for those
  that begin with it. Summaries count half.
- \`"double quotes"\` ask for a phrase as it stands, capitals and white space aside; it may begin or end inside a word.
  The texts of messages that may hold it are read, so that a phrase of common words takes longer than words do.
- The index of a session is a handful of files that never change and one that names them: 64 million characters of
  them and 16 million of texts stay in memory at most; a search in all sessions holds all their indexes while it runs.
- Of text without a break longer than 2,000 characters (encoded data) only the beginning can be found.

Made by \`node bench/archive-search/run.mjs\`: ${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}, load ${load} at the
start. One session of made-up messages of about 60 words (Zipf's law, 200,000 words), on the file system; 300 queries of
five words, the quickest of three times of each. The machine is shared: read the ratios, which come from one run each.

${figures.map(table).join("\n\n")}

MiniSearch is given the same texts with its own settings; it keeps no message apart from its index, and a new message
means that its whole file is written again.
`;
writeFileSync(join(root, "docs", "search.md"), page);
