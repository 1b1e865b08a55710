// What is left of the beginning after k compactions in a row: the built-in summarizer makes each summary from the one
// before and the new messages alone. Beside it, a summary of the same size of everything at once, which no running
// session can have.
import { decode } from "../packages/compact-context/dist/index.js";
import { builtinSummarizer } from "../packages/compact-context/dist/summarizers/extractive/builtin.js";
import { number, table } from "./markdown.mjs";
import { seeded } from "./measure.mjs";
import { turns } from "./sessions.mjs";

const COMPACTIONS = 10;
const SIZES = [400, 1_500, 4_000];
const SESSIONS = 5;
const TURNS_BETWEEN = 40;
const PASSING = 10;

const RULES = [
  "Never push to the release branch.",
  "Die Tests müssen immer grün sein.",
  "本番のデータベースには絶対に触らないでください。",
];

const call = (id, name, args) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
});
const result = (id, content) => ({ role: "tool", tool_call_id: id, content });

/** The first messages of a session, and what they say by kind: texts that a summary holds or has lost. */
function beginning(seed) {
  const random = seeded(seed);
  const digit = (from) => from + Math.floor(random() * from * 9);
  const ticket = `BILL-${digit(1000)}`;
  const files = ["invoice", "rounding", "report"].map((name) => `src/billing/${name}_${digit(10)}.ts`);
  const decision = `roundHalfEven${digit(10)}`;
  const error = `TaxTableMissingError${digit(10)}`;
  const task = `port the yearly report of ${digit(1000)}`;
  const passing = Array.from({ length: PASSING }, (_, index) => ({
    text: `By the way, service_${index} listens on port ${digit(10_000)} here.`,
    fact: `service_${index} listens on port`,
  }));
  const edits = files.flatMap((path, index) => [
    call(`edit_${index}`, "edit_file", { path, new_string: `total = ${decision}(total);` }),
    result(`edit_${index}`, "ok"),
  ]);
  const messages = [
    { role: "user", content: `Fix ${ticket}: totals in ${files[0]} are off by a cent.` },
    { role: "assistant", content: "I read the code first. Is there anything to look out for?" },
    { role: "user", content: RULES.join("\n") },
    { role: "assistant", content: `I decided to use ${decision} because the report sums rounded rows.` },
    ...edits,
    ...passing.map(({ text }) => ({ role: "assistant", content: text })),
    call("todo", "TodoWrite", { todos: [{ content: task, status: "pending" }] }),
    result("todo", "ok"),
    call("test", "bash", { command: "npm test -- invoice" }),
    result("test", `${error}: no table for 2031\nexit code 1`),
  ];
  const facts = {
    rules: RULES,
    "first request": [ticket],
    "files changed": files.map((path) => path.split("/").at(-1)),
    decision: [decision],
    "open task": [task],
    "open error": [error],
    "said in passing": passing.map(({ fact }) => fact),
  };
  return { messages, facts };
}

/** Work that states no rule. */
function* stretches(seed) {
  const work = turns(seed);
  for (;;) {
    const list = [];
    for (let turn = 0; turn < TURNS_BETWEEN; turn += 1) {
      const [ask, ...rest] = work.next().value;
      list.push({ ...ask, content: ask.content.split(" Never ")[0] }, ...rest);
    }
    yield list;
  }
}

const shareIn = (text, facts) => facts.filter((fact) => text.includes(fact)).length / facts.length;
const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** The summaries of a session in their order, and one of everything at once. */
async function episode(seed, { maxTokens, compactions }) {
  const { messages, facts } = beginning(seed);
  const work = stretches(seed);
  const everything = [];
  const texts = [];
  for (let round = 0; round < compactions; round += 1) {
    const given = [...(round === 0 ? messages : []), ...work.next().value];
    everything.push(...given);
    const options = round === 0 ? { maxTokens } : { maxTokens, previous: texts.at(-1) };
    texts.push((await builtinSummarizer.summarize(decode(given, "openai-chat"), options)).text);
  }
  const atOnce = await builtinSummarizer.summarize(decode(everything, "openai-chat"), { maxTokens });
  return { facts, texts: [...texts, atOnce.text] };
}

async function run({ quick }) {
  const compactions = quick ? 2 : COMPACTIONS;
  const curves = [];
  for (const maxTokens of quick ? [SIZES[0]] : SIZES) {
    const episodes = [];
    for (let seed = 1; seed <= (quick ? 1 : SESSIONS); seed += 1)
      episodes.push(await episode(seed, { maxTokens, compactions }));
    const kinds = Object.keys(episodes[0].facts);
    const curve = (kind) =>
      Array.from({ length: compactions + 1 }, (_, round) =>
        mean(episodes.map(({ facts, texts }) => shareIn(texts[round], facts[kind]))),
      );
    curves.push({
      maxTokens,
      kinds: kinds.map((kind) => {
        const shares = curve(kind);
        return { kind, folded: shares.slice(0, -1), atOnce: shares.at(-1) };
      }),
    });
  }
  return { compactions, sessions: quick ? 1 : SESSIONS, curves };
}

const inPercent = (share) => `${Math.round(share * 100)}`;

export const bench = {
  title: "What is left after many compactions",
  timed: false,
  run,
  headline({ compactions, curves }) {
    const { maxTokens, kinds } = curves[Math.min(1, curves.length - 1)];
    const { folded } = kinds.find(({ kind }) => kind === "rules");
    return `rules of a person after ${compactions} compactions into ${number(maxTokens)} tokens: ${inPercent(folded.at(-1))} %`;
  },
  section: ({ compactions, sessions, curves }) =>
    [
      `A session of ${compactions} stretches of ${TURNS_BETWEEN} turns is compacted after each by the built-in summarizer, from the summary so far and the new
messages alone. Its first messages state rules in three languages, a ticket, changed files, a decision, an open task, an
error that stays open, and ${PASSING} things said in passing; nobody speaks of them again. The tables tell how much of it the
summary still holds word by word, in per cent, as the mean of ${sessions} sessions. The last column is a summary of the same size
made of all messages at once, after ${compactions} stretches: what is lost there too is lost to the size, not to the compactions.`,
      ...curves.map(
        ({ maxTokens, kinds }) =>
          `Summaries of ${number(maxTokens)} tokens:\n\n${table(
            ["after compaction", ...kinds[0].folded.map((_, round) => round + 1), "all at once"],
            kinds.map(({ kind, folded, atOnce }) => [kind, ...folded.map(inPercent), inPercent(atOnce)]),
          )}`,
      ),
    ].join("\n\n"),
};
