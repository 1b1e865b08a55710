// Labels of recorded sessions: which lines are a person's requests, rules, decisions, errors and open tasks, and how
// each command ended. A label names its line by file, position and hash, never by its text.
//   node scripts/labels.mjs show FILE [--from N] [--to N]   prints the first stretch of a session with its positions
//   node scripts/labels.mjs seal LABELS                     adds the hashes to a file of labels, and checks positions
//   node scripts/labels.mjs score [--set SET]               how much of what the built library reads is right
//   node scripts/labels.mjs score --languages SET           the same of sentences in many languages
//   node scripts/labels.mjs agree LABELS LABELS             how many lines two people chose alike
// SET is open, kept, second or third.
// FILE is a path under the folder of shared sessions (`--sessions DIR`, default ../shared). `score` reads the library at
// `--dist DIR`, whose summarizer is in `--folder summarizers/extractive`; `--show SECTION` prints what is false or missed.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { scoreSentences } from "./labels/languages.mjs";
import { confusionTable } from "./labels/outcomes.mjs";
import { loadLibrary, mistakesOf, scoreSessions, tableOf } from "./labels/score.mjs";
import {
  hashOf,
  linesOf,
  readLabels,
  readMessages,
  readRows,
  readSentences,
  textAt,
} from "./labels/sessions.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Lines of a tool result that are printed from its beginning and from its end. */
const HEAD = 6;
const TAIL = 20;
const MAX_LINE = 240;
const MAX_CALL = 500;
const SETS = ["open", "kept", "second", "third"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: "string" },
    to: { type: "string" },
    sessions: { type: "string", default: join(ROOT, "../shared") },
    full: { type: "boolean" },
    dist: { type: "string", default: join(ROOT, "packages/compact-context/dist") },
    folder: { type: "string", default: "summarizers/extractive" },
    set: { type: "string", default: "open" },
    show: { type: "string" },
    languages: { type: "string" },
  },
});
const sessions = resolve(values.sessions);
const [command, name, other] = positionals;
if (command === "show") await show(name);
else if (command === "seal") await seal(name);
else if (command === "score") await score();
else if (command === "agree") agree(name, other);
else throw new Error("show FILE, seal LABELS, score, or agree LABELS LABELS");

async function show(file) {
  const messages = await readMessages(sessions, file);
  const to = Number(values.to ?? messages.length);
  for (let index = Number(values.from ?? 0); index < to; index += 1) {
    const message = messages[index];
    if (message === undefined) break;
    message.parts.forEach((part, number) => {
      const name = part.name ?? part.toolName ?? "";
      console.log(
        `\n== ${index}.${number} ${message.role} ${part.type} ${name}${part.isError ? " isError" : ""}`,
      );
      const lines = linesOf(part);
      const short = part.type === "toolResult" && !values.full && lines.length > HEAD + TAIL;
      lines.forEach((line, at) => {
        if (short && at === HEAD) console.log(`   … ${lines.length - HEAD - TAIL} lines …`);
        if (short && at >= HEAD && at < lines.length - TAIL) return;
        const max = part.type === "toolCall" ? MAX_CALL : part.type === "text" ? Infinity : MAX_LINE;
        console.log(`${at}| ${line.length > max ? `${line.slice(0, max)} …(${line.length})` : line}`);
      });
    });
  }
  console.log(`\n(${messages.length} messages)`);
}

async function seal(path) {
  const rows = readRows(path);
  const files = new Map();
  const wrong = [];
  for (const row of rows) {
    if (!files.has(row.file)) files.set(row.file, await readMessages(sessions, row.file));
    const text = textAt(files.get(row.file), row);
    if (text === undefined) wrong.push(JSON.stringify(row));
    else row.hash = hashOf(text);
  }
  if (wrong.length > 0) {
    console.error(`${wrong.length} labels at no line:\n${wrong.join("\n")}`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const counts = new Map();
  for (const { section } of rows) counts.set(section, (counts.get(section) ?? 0) + 1);
  console.log(`${rows.length} labels sealed. ${[...counts].map((pair) => pair.join(" ")).join(" · ")}`);
}

function agree(...paths) {
  const [one, two] = paths.map((path) => readRows(path));
  const placesOf = (rows, wanted) =>
    new Set(
      rows
        .filter(({ section }) => section === wanted)
        .map(({ file, message, part, line }) => [file, message, part, line].join(" ")),
    );
  for (const section of new Set([...one, ...two].map((row) => row.section))) {
    const [left, right] = [placesOf(one, section), placesOf(two, section)];
    const same = [...left].filter((place) => right.has(place)).length;
    console.log(`${section}: ${left.size} and ${right.size}, the same line for ${same}`);
  }
}

async function score() {
  const library = await loadLibrary(values.dist, values.folder);
  const set = values.languages ?? values.set;
  if (!SETS.includes(set)) throw new Error(`There is no set ${set}: ${SETS.join(", ")}`);
  if (values.languages !== undefined) return print(scoreSentences(library, readSentences(set)));
  const scored = await scoreSessions(library, readLabels(set), (file) => readMessages(sessions, file));
  print(scored.tallies, `\n\n${confusionTable(scored.outcomes)}`);
}

function print(tallies, more = "") {
  console.log(`${tableOf(tallies)}${more}`);
  if (values.show !== undefined) console.log(mistakesOf(tallies, values.show));
}
