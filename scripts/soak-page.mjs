// The figures of a soak, summed over its blocks, as the page docs/soak.md and as a table for the terminal.
import { SIZES } from "../test/support/dist/soak.js";

const COUNTS = [
  "histories",
  "entries",
  "compactions",
  "untouched",
  "violations",
  "managers",
  "bound",
  "seconds",
];

function add(sum, row) {
  for (const name of COUNTS) sum[name] = (sum[name] ?? 0) + (row[name] ?? 0);
  for (const [code, times] of Object.entries(row.errors ?? {}))
    sum.errors[code] = (sum.errors[code] ?? 0) + times;
  row.sizes?.forEach((times, index) => {
    sum.sizes[index] = (sum.sizes[index] ?? 0) + times;
  });
  sum.largest = Math.max(sum.largest, row.largest ?? 0);
  return sum;
}

const nothing = (format) => ({ format, errors: {}, sizes: [], largest: 0, violations: 0, histories: 0 });

/** The rows of all blocks by format, and their sum. */
export function addBlocks(blocks) {
  const rows = new Map();
  for (const row of blocks.flatMap((block) => block.rows)) {
    rows.set(row.format, add(rows.get(row.format) ?? nothing(row.format), row));
  }
  return { rows: [...rows.values()], total: [...rows.values()].reduce(add, nothing("all")) };
}

const words = (value) => (value ?? 0).toLocaleString("en", { maximumFractionDigits: 0 });
const table = (head, lines) =>
  [
    `| ${head.join(" | ")} |`,
    `|${head.map((_, index) => (index === 0 ? " --- |" : " ---: |")).join("")}`,
    ...lines.map((cells) => `| ${cells.join(" | ")} |`),
  ].join("\n");

/** What was done and found, a line per format. */
export function renderTable({ rows, total }) {
  const head = ["format", "histories", "entries", "by a manager", "bound model", "compactions", "untouched"];
  return table(
    [...head, "violations", "`InsufficientBudget`", "CPU seconds"],
    [...rows, total].map((row) => [
      row.format,
      ...["histories", "entries", "managers", "bound", "compactions", "untouched", "violations"].map((name) =>
        words(row[name]),
      ),
      words(row.errors.InsufficientBudget),
      words(row.seconds),
    ]),
  );
}

/** How broken lists were mended, a line per format. */
export function renderBroken({ rows, total }) {
  return table(
    ["format", "broken lists", "not mended as promised", "CPU seconds"],
    [...rows, total].map((row) => [
      row.format,
      ...["histories", "violations", "seconds"].map((name) => words(row[name])),
    ]),
  );
}

function sizeTable({ total }) {
  const ranges = SIZES.map((most, index) => {
    const least = (SIZES[index - 1] ?? 0) + 1;
    return most === Number.POSITIVE_INFINITY ? `${least} to ${words(total.largest)}` : `${least} to ${most}`;
  });
  const share = (times) => `${((100 * times) / Math.max(1, total.histories)).toFixed(1)} %`;
  return table(
    ["entries of a history", ...ranges],
    [
      ["histories", ...total.sizes.map(words)],
      ["share", ...total.sizes.map(share)],
    ],
  );
}

const each = (blocks, name) => [...new Set(blocks.map((block) => block[name]))].join(", ");

/** The whole page. */
export function renderPage(blocks) {
  const sum = addBlocks(blocks);
  const { total } = sum;
  const seeds = blocks.map(({ seed }) => seed);
  const wanted = 100_000 * sum.rows.length;
  const rest = wanted - total.histories;
  const whole =
    rest > 0
      ? `The full run, 100,000 of each format, lacks ${words(rest)}.`
      : "That is the full run, 100,000 of each format.";
  return `# Soak

\`npm run soak\` generates histories of every format and compacts each up to five times. Half of them go through \`compact()\`, each call
with the previous result and what was added. The other half go through one session of a \`CompactManager\`, which gets the raw list each
time, its own last output with new entries, or a mix, and sometimes new objects with the same content.

The seed determines formats, contents, cuts, budgets, targets, keep counts, strategies and summarizers (the built-in one, a scripted
one, one that throws, one that returns nothing). The histories contain parallel, chained, pending and dead calls, partly answered
batches, unfinished turns of up to 145 steps, reasoning in every step, images, protected messages, tools and compactions of the
provider's own, approvals, empty and equal texts, joined emoji and lone surrogates, and sometimes a text of thousands of words.

In three of ten the model binds its reasoning: every seal is a digest of everything sent before it, and a seal after anything else is
a violation.

Checked after each compaction:

- No rule of the provider (docs/lint.md, errors) is broken more often than before, and no invariant of its wire format: pairs and their
  order, signed and sealed blocks, server tools, approvals, ids and unknown fields, the newest compaction of the provider's own. These
  are checked without the codecs and without \`lint\`, by \`test/support/provider-checks*.ts\`.
- A fresh count is within the budget and equals the reported one, or the call was refused with \`InsufficientBudget\`.
- System, developer and protected messages are present as the caller's own objects; so are calls that still wait for a result.
- The newest request is present as the caller's own object, or has the same beginning if texts were cut.
- Kept messages are in order, and there are no more new objects than edits and one summary account for.
- There is at most one summary, never as system text, and the input is unchanged.
- \`compact()\` with its result and the same budget returns the same array; a manager that did not compact returns a list that begins,
  byte for byte, with the previous one.

Runs of 100,000 histories per format found two defects that no test had; \`test/soak\` keeps the seeds. A message cut in two compactions
had other bytes when it was cut again from the raw list. In both formats of items, removed reasoning took along the ids of items that
are refused without one: of a request for approval, and, in two of 800,000 histories on commit 20b84e2e, of a hosted call. Each was
fixed, and the affected formats were run again. That run, of 2026-11-23, was then without a violation; the one below is of another
commit and of other seeds. 40,000 more of the two formats of items (seeds 500,000 to 519,999) showed one violation, which is not fixed: a
call without reasoning lost its id, which providers do not need, because the user's words between it and an earlier answer had left,
and so had that answer's reasoning. 160,000 more of all formats (commit 261ab4f4, seeds 700,000 to 719,999) showed none.

## ${each(blocks, "day")}, ${words(total.histories)} histories

Commit ${each(blocks, "commit")}, Node ${each(blocks, "node")}, seeds ${words(Math.min(...seeds))} to ${words(
    Math.max(...blocks.map(({ seed, histories }) => seed + histories - 1)),
  )}, at the lowest priority: ${words(total.histories / total.seconds)} histories per CPU second, ${words(
    total.violations,
  )} violations. ${whole} "Untouched" lists already fitted.

${renderTable(sum)}

${sizeTable(sum)}

## Run it

\`\`\`sh
npm run soak                                        # 100,000 histories of each format
npm run soak -- --state .soak                       # the same; continues where it stopped
npm run soak -- --state .soak --page                # writes this page from the finished blocks
npm run soak -- --seconds 480                       # as many as fit, all formats alike
npm run soak -- --format gemini --seed 449 --histories 1   # one history again
npm run soak -- --objects --page                    # counts live objects and writes them here
\`\`\`

It exits with 1 on any violation and prints format, seed and the broken check. \`test/soak\` runs some histories of each format, and
those that once failed (\`test/fixtures/soak\`).
`;
}
