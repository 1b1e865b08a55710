// Labels of recorded sessions: which lines are a person's requests, rules, decisions, errors and open tasks, and how
// each command ended. A label names its line by file, position and hash, never by its text.
//   node scripts/labels.mjs show FILE [--from N] [--to N]   prints the first stretch of a session with its positions
//   node scripts/labels.mjs seal LABELS                     adds the hashes to a file of labels, and checks positions
// FILE is a path under the folder of shared sessions (`--sessions DIR`, default ../shared).
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const READER = join(ROOT, "packages/compact-context-cli/dist/transcripts/read.js");
/** Lines of a tool result that are printed from its beginning and from its end. */
const HEAD = 6;
const TAIL = 20;
const MAX_LINE = 240;
const MAX_CALL = 500;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: "string" },
    to: { type: "string" },
    sessions: { type: "string" },
    full: { type: "boolean" },
  },
});
const sessions = resolve(values.sessions ?? join(ROOT, "../shared"));
const [command, name] = positionals;
if (command === "show") await show(name);
else if (command === "seal") await seal(name);
else throw new Error("show FILE, or seal LABELS");

/** The messages before the first compaction of the session's own tool. */
export async function readMessages(file) {
  const { readTranscript } = await import(pathToFileURL(READER).href);
  const transcript = await readTranscript(readFileSync(join(sessions, file), "utf8"), { name: file });
  return transcript.segments[0].messages;
}

/** The lines of a part as labels count them, from 0. */
function linesOf(part) {
  if (part.type === "text" || part.type === "reasoning") return (part.text ?? "").split("\n");
  if (part.type === "toolCall") return [JSON.stringify(part.arguments ?? part.args ?? part.input ?? part)];
  if (part.type === "toolResult") {
    const content = part.content ?? part.text ?? part.output;
    return (
      typeof content === "string" ? content : content.map((one) => one.text ?? `[${one.type}]`).join("\n")
    ).split("\n");
  }
  return [`[${part.type}]`];
}

async function show(file) {
  const messages = await readMessages(file);
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
  const rows = readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line, at) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(`${path}:${at + 1} is not JSON`);
      }
    });
  const files = new Map();
  const wrong = [];
  for (const row of rows) {
    if (!files.has(row.file)) files.set(row.file, await readMessages(row.file));
    const part = files.get(row.file)[row.message]?.parts[row.part];
    const lines = part === undefined ? [] : linesOf(part);
    const text = row.line === undefined ? lines.join("\n") : lines[row.line];
    if (text === undefined || text.trim() === "") wrong.push(JSON.stringify(row));
    else row.hash = createHash("sha256").update(text.replace(/\s+/g, " ").trim()).digest("hex").slice(0, 12);
  }
  if (wrong.length > 0) {
    console.error(`${wrong.length} labels at no line:\n${wrong.join("\n")}`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const counts = Object.entries(Object.groupBy?.(rows, (row) => row.section) ?? {}).map(
    ([key, list]) => `${key} ${list.length}`,
  );
  console.log(`${rows.length} labels sealed. ${counts.join(" · ")}`);
}
