// How much of what somebody needs to go on is told by the built-in summary of a recorded session, by sheets of questions.
//   node scripts/handoff.mjs [--size 0.5] [--rounds 5] [--sheets DIR] [--show N]
// A sheet belongs to a real compaction and its summary; ours is as many tokens long as that, times `--size`. With `--rounds` the
// history is cut into equal parts, no call apart from its result, and each summary is made of the one before and the next part. `--sheets` holds `index.json` (`n`,
// `file`, `event`) and the questions of each `n` under `sheets/`; sessions and their loader lie in `--sessions` (default ../shared).
// `--show N` prints the summary of sheet N.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { builtinSummarizer, countText, decode } from "../packages/compact-context/dist/index.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Characters around a match in which the other patterns of a point may match. */
const WINDOW = 300;

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "1" },
    rounds: { type: "string", default: "1" },
    sessions: { type: "string", default: join(ROOT, "../shared") },
    sheets: { type: "string" },
    show: { type: "string" },
  },
});
const sessions = resolve(values.sessions);
const sheets = resolve(values.sheets ?? join(sessions, "handoff"));
const { load } = await import(pathToFileURL(join(sessions, "retention-bench/adapters.mjs")).href);

const json = (path) => JSON.parse(readFileSync(path, "utf8"));
const mean = (shares) => shares.reduce((total, share) => total + share, 0) / shares.length;
const textOf = ({ parts }) =>
  parts
    .filter(({ t }) => t === "text")
    .map(({ text }) => text)
    .join("\n");

const answers = [];
for (const { n, file, event } of json(join(sheets, "index.json"))) {
  const { messages, compactions } = load(readFileSync(join(sessions, "compactions", file), "utf8"));
  const bounds = [0, ...compactions.map(({ at }) => at), messages.length];
  const history = messages.slice(bounds[event], bounds[event + 1]).filter(({ role }) => role !== "system");
  const maxTokens = Math.floor(countText(textOf(messages[bounds[event + 1]])) * Number(values.size));
  const text = await summarize(history, maxTokens, Number(values.rounds));
  if (values.show === String(n)) console.log(text);
  const name = readdirSync(join(sheets, "sheets")).find((entry) => entry.replace(/\D/g, "") === String(n));
  for (const { kind, points } of json(join(sheets, "sheets", name)).questions)
    answers.push({ n, kind, share: mean(points.map((point) => (isTold(point, text) ? 1 : 0))) });
}
for (const key of ["n", "kind"])
  for (const value of new Set(answers.map((answer) => answer[key])))
    print(`${key} ${value}`, (answer) => answer[key] === value);
print("all", () => true);

function print(name, wanted) {
  const shares = answers.filter(wanted).map(({ share }) => share);
  console.log(`${name.padEnd(20)} ${mean(shares).toFixed(2)}  of ${shares.length} questions`);
}

async function summarize(history, maxTokens, rounds) {
  const messages = decode(asOpenAiChat(history), "openai-chat");
  let text = "";
  let from = 0;
  for (let round = 1; round <= rounds; round += 1) {
    let to = Math.round((messages.length * round) / rounds);
    while (messages[to]?.role === "tool") to += 1;
    const options = text === "" ? { maxTokens } : { maxTokens, previous: text };
    text = (await builtinSummarizer.summarize(messages.slice(from, to), options)).text;
    from = to;
  }
  return text;
}

function asOpenAiChat(history) {
  return history.flatMap((message, at) => {
    const calls = message.parts.filter(({ t }) => t === "call");
    const results = message.parts.filter(({ t }) => t === "result");
    const content = textOf(message);
    const told = results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
    if (message.role === "tool" || (content === "" && calls.length === 0)) return told;
    const tool_calls = calls.map(({ id, name, args }, number) => ({
      id: id ?? `call_${at}_${number}`,
      type: "function",
      function: { name, arguments: args },
    }));
    return [
      { role: message.role, content: content || null, ...(calls.length > 0 && { tool_calls }) },
      ...told,
    ];
  });
}

/** Whether all patterns of one of the point's lists match near each other. */
function isTold({ any }, text) {
  return any.some((list) => {
    const [first, ...rest] = list.map((pattern) => new RegExp(pattern, "giu"));
    return [...text.matchAll(first)].some(({ 0: match, index }) => {
      const near = text.slice(Math.max(0, index - WINDOW), index + match.length + WINDOW);
      return rest.every((pattern) => near.search(pattern) !== -1);
    });
  });
}
