// Recorded sessions, and the labels of their lines.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const READER = join(ROOT, "test/support/dist/reader.js");
const SUMMARIES = join(ROOT, "test/summaries");

/** The messages before the first compaction of the session's own tool. */
export async function readMessages(folder, file) {
  const { readTranscript } = await import(pathToFileURL(READER).href);
  const transcript = await readTranscript(readFileSync(join(folder, file), "utf8"), { name: file });
  return transcript.segments[0].messages;
}

/** The lines of a part as labels count them, from 0. */
export function linesOf(part) {
  if (part.type === "text" || part.type === "reasoning") return (part.text ?? "").split("\n");
  if (part.type === "toolCall") return [JSON.stringify(part.arguments ?? part.args ?? part.input ?? part)];
  if (part.type === "toolResult") {
    const content = part.content ?? part.text ?? part.output;
    if (typeof content === "string") return content.split("\n");
    return content
      .map((one) => one.text ?? `[${one.type}]`)
      .join("\n")
      .split("\n");
  }
  return [`[${part.type}]`];
}

/** The text that a label names; undefined where there is none. */
export function textAt(messages, { message, part, line }) {
  const found = messages[message]?.parts[part];
  if (found === undefined) return undefined;
  const lines = linesOf(found);
  const text = line === undefined ? lines.join("\n") : lines[line];
  return text === undefined || text.trim() === "" ? undefined : text;
}

/** What a label keeps of its text. */
export function hashOf(text) {
  return createHash("sha256").update(text.replace(/\s+/g, " ").trim()).digest("hex").slice(0, 12);
}

/** The objects of a file with one a line. */
export function readRows(path) {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter(Boolean).map((line, at) => {
    try {
      return JSON.parse(line);
    } catch {
      throw new Error(`${path}:${at + 1} is not JSON`);
    }
  });
}

/** The labels of a set by session; `set` is "open" or "kept". */
export function readLabels(set) {
  const folder = join(SUMMARIES, "labels");
  const names = readdirSync(folder).filter((name) => name.startsWith(`${set}-`) && name.endsWith(".jsonl"));
  const sessions = new Map();
  for (const row of names.sort().flatMap((name) => readRows(join(folder, name))))
    sessions.set(row.file, [...(sessions.get(row.file) ?? []), row]);
  return sessions;
}

/** The sentences in many languages of a set. */
export function readSentences(set) {
  return readRows(join(SUMMARIES, `languages.${set}.jsonl`));
}
