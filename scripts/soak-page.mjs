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

Generated histories of every format grow and are compacted up to five times. Half of them go through \`compact()\`, each
call with what the one before left and what came since; half through one session of a \`CompactManager\`, which gets the
raw list each time, or its own last output with new entries, or now this, now that, and sometimes new objects that say the
same. Formats, contents, cuts, budgets, aims, keep counts, strategies and summarizers (the built-in one, a scripted one, one
that throws, one that says nothing) are drawn from the seed: parallel, chained, pending and dead calls, partly answered
batches, turns of up to 145 steps that are still under way, reasoning in every step, images, protected messages, tools and
compactions of the provider's own, approvals, empty and equal texts, joined emoji and lone surrogates, now and then a text
of thousands of words.

In three of ten the model binds its reasoning: every seal is a digest of all that was sent before it, and a seal that stands
behind anything else is a violation.

After each compaction:

- no rule of the provider (docs/lint.md, errors) is broken more often than before, and no invariant of its wire: pairs and
  their order, signed and sealed blocks, server tools, approvals, ids and unknown fields, the newest compaction of the
  provider's own; these are checked without the codecs and without \`lint\`, by \`test/support/provider-checks*.ts\`;
- a count made from nothing is within the budget and is the one that was told; or it was refused with \`InsufficientBudget\`;
- system, developer and protected messages are there, the caller's own objects; so are calls that still wait for a result;
- the newest ask is there, the caller's own object, or begins as it did where texts were cut;
- kept messages stand in their order, and no more new objects are there than edits and one summary account for;
- there is one summary at most, never as system text, and the input is what it was;
- \`compact()\` with its result and the same budget gives back the same array; a manager that did not compact gives back a
  list that begins, byte for byte, with the one before.

Runs of 100,000 histories a format found what no test had, and \`test/soak\` keeps the seeds. A message that was cut in two
compactions had other bytes when it was cut anew from the raw list. In both formats of items, reasoning that was taken out
took the ids of items that are refused without one: of a request for approval, and, two of 800,000 histories on commit
20b84e2e, of a hosted call. Each was mended, and the formats that it touched were run again.

## ${each(blocks, "day")}, ${words(total.histories)} histories

Commit ${each(blocks, "commit")}, Node ${each(blocks, "node")}, seeds ${words(Math.min(...seeds))} to ${words(
    Math.max(...blocks.map(({ seed, histories }) => seed + histories - 1)),
  )}, at the lowest priority: ${words(total.histories / total.seconds)} histories per CPU second, ${words(
    total.violations,
  )} violations. ${whole} "Untouched" lists fitted already.

${renderTable(sum)}

${sizeTable(sum)}

## Again

\`\`\`sh
npm run soak                                        # 100,000 histories of each format
npm run soak -- --state .soak                       # the same; goes on where it was stopped
npm run soak -- --state .soak --page                # writes this page from what is done
npm run soak -- --seconds 480                       # as many as fit, all formats alike
npm run soak -- --format gemini --seed 449 --histories 1   # one history again
npm run soak -- --objects --page                    # counts live objects and writes them here
\`\`\`

It exits with 1 on any violation and prints format, seed and what was broken. \`test/soak\` runs some histories of each format,
and what once broke a promise (\`test/fixtures/soak\`).
`;
}
