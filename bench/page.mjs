// The page and its pictures from the stored figures, docs/benchmarks.json; nothing on it comes from elsewhere.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fill } from "../scripts/events-page.mjs";
import { BENCHES, loadBench } from "./benches.mjs";
import { table } from "./markdown.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const STORED = join(root, "docs", "benchmarks.json");

/** { name: { date, machine, node, load, seconds, figures } } */
export const readResults = () => (existsSync(STORED) ? JSON.parse(readFileSync(STORED, "utf8")) : {});

/** Six significant digits: nothing that was measured has more. */
export function writeResults(results) {
  const ordered = Object.fromEntries(
    Object.keys(BENCHES).flatMap((name) => (name in results ? [[name, results[name]]] : [])),
  );
  const rounded = (_, value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);
  writeFileSync(STORED, `${JSON.stringify(ordered, rounded, 1)}\n`);
}

export function sectionOf({ title, section }, { date, machine, node, load: before, figures }) {
  const made = `${date}, ${machine}, Node ${node}, load ${before.toFixed(1)} before the run.`;
  return `## ${title}\n\n${section(figures).trim()}\n\n<sub>${made}</sub>\n`;
}

/** Writes docs/benchmarks.md, its pictures and the parts of other pages that stored figures fill. */
export async function writePages(out = root) {
  const write = (path, text) => {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), text);
  };
  const sections = [];
  for (const [name, result] of Object.entries(readResults())) {
    const bench = await loadBench(name);
    sections.push({ name, bench, result });
    for (const [picture, svg] of Object.entries(bench.pictures?.(result.figures) ?? {}))
      write(`docs/benchmarks/${picture}.svg`, svg);
    for (const { path, mark, render } of bench.pages ?? []) {
      const before = readFileSync(join(root, path), "utf8");
      write(path, fill(before, mark, render(result.figures, result)));
    }
  }
  write("docs/benchmarks.md", page(sections));
}

function page(sections) {
  const anchor = (title) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, "")
      .replaceAll(" ", "-");
  const rows = sections.map(({ name, bench, result }) => [
    `[${bench.title}](#${anchor(bench.title)})`,
    `\`${name}\``,
    bench.headline(result.figures),
  ]);
  return `# Benchmarks

Made by \`npm run bench\`; \`npm run bench -- NAME …\` measures only what is named and replaces only those sections. The
figures lie in docs/benchmarks.json, and everything below is written from them.

${table(["what", "name", "in a line"], rows)}

How to read it:

- A ratio stands between two figures of one run on one machine, taken in turns. Seconds depend on the machine; where other
  work ran at the time, "load" says so.
- "ms" is processor time unless a table says "clock": other work on the machine adds to the clock and not to it. In
  brackets behind our figures: the least and the most of all rounds. Others are medians.
- "(21 x)" behind a figure of another library says how many times slower it is than ours, or how many times larger; below 1
  it is quicker, or smaller.
- Generated texts and sessions are drawn from fixed seeds, the same on every machine. Real sessions of agents and the
  questions of LoCoMo are no part of the repository; what needs them says so.
- Libraries are named with their versions where they are measured; each is used as its own documentation shows, with what
  was configured named.

${sections.map(({ bench, result }) => sectionOf(bench, result)).join("\n")}`;
}
