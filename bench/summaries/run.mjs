// How long the built-in summarizer takes by the size of its input. Needs dist/ (npm run build).
//   node bench/summaries/run.mjs [--full] [--json out.json]      quick: to 800k tokens; --full: to 4M tokens
import { writeFileSync } from "node:fs";
import { countTokens } from "../../dist/index.js";
import { builtinSummarizer } from "../../dist/summarizers/builtin.js";

const full = process.argv.includes("--full");
const sizes = full ? [50, 100, 200, 400, 800, 1600, 4000] : [50, 100, 200, 400, 800];
const MAX_TOKENS = 8_192;
const REPEATS = 5;

const words = "retry queue ledger worker session budget token window archive policy report stream".split(" ");
let seed = 7;
const random = (most) => {
  seed = (seed * 1_664_525 + 1_013_904_223) >>> 0;
  return seed % most;
};
const word = () => words[random(words.length)];

/** One round of a coding session: a wish now and then, a remark, a call and 80 lines of output. */
function round(index) {
  const path = `src/${word()}/${word()}_${index % 400}.ts`;
  const text = (role, said) => ({ id: `${role}${index}`, role, parts: [{ type: "text", text: said }] });
  const output = Array.from(
    { length: 80 },
    (_, line) =>
      `${line}: const ${word()}_${index}_${line} = ${word()}(${random(90_000)}); // ${word()} ${word()}`,
  ).join("\n");
  return [
    ...(index % 20 === 0
      ? [text("user", `Now make ${path} handle the ${word()}. Never touch ${word()}.sql.`)]
      : []),
    {
      id: `call${index}`,
      role: "assistant",
      parts: [
        { type: "text", text: `The ${word()} in ${path} waits for the ${word()}, I look at it.` },
        { type: "toolCall", id: `c${index}`, name: "read_file", arguments: { path } },
      ],
    },
    {
      id: `result${index}`,
      role: "tool",
      parts: [{ type: "toolResult", id: `c${index}`, content: output }],
    },
  ];
}

/** CPU milliseconds: other work on the machine does not count. */
async function time(messages) {
  const before = process.cpuUsage();
  await builtinSummarizer.summarize(messages, { maxTokens: MAX_TOKENS });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const counted = countTokens(Array.from({ length: 20 }, (_, index) => round(index)).flat()).tokens / 20;
const most = sizes.at(-1) * 1000;
const session = Array.from({ length: Math.ceil(most / counted) }, (_, index) => round(index));
await time(session.slice(0, 40).flat());
await time(session.slice(0, 40).flat());

const rows = [];
for (const size of sizes) {
  const messages = session.slice(0, Math.ceil((size * 1000) / counted)).flat();
  const times = [];
  for (let repeat = 0; repeat < (size > 1000 ? 2 : REPEATS); repeat += 1) times.push(await time(messages));
  const ms = Math.min(...times);
  rows.push({
    thousandTokens: size,
    messages: messages.length,
    ms: Math.round(ms),
    msPer100k: Math.round((ms / size) * 100),
  });
}
process.stdout.write("| tokens | messages | CPU ms | ms per 100k tokens |\n|---|---|---|---|\n");
for (const row of rows)
  process.stdout.write(`| ${row.thousandTokens}k | ${row.messages} | ${row.ms} | ${row.msPer100k} |\n`);
const json = process.argv.indexOf("--json");
if (json > 0) writeFileSync(process.argv[json + 1], JSON.stringify(rows));
