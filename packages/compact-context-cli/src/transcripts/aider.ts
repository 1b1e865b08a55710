import type { Message, Role } from "compact-context";
import { messageText } from "compact-context/internal/core/message";
import { rebuildEntries } from "./document.ts";
import {
  type DocumentFormat,
  messagesFrom,
  type Reading,
  type ReadLog,
  type Session,
  textParts,
  withSummaryVersion,
} from "./transcript.ts";

const HEADER = /^\s*# aider chat started at/;

/** Aider's `.aider.chat.history.md`: `#### ` marks the user, `> ` the program, the rest is the model. */
export const aider: DocumentFormat = {
  format: "aider",
  recognises: (value) => typeof value === "string" && HEADER.test(value.slice(0, 1000)),
  read: ({ text }, log) => readAider(text, log),
};

/** Consecutive lines of one speaker. */
interface Block {
  readonly speaker: Speaker;
  readonly lines: string[];
}

type Speaker = "person" | "program" | "model" | "header";

const PREFIX: Readonly<Record<Speaker, string>> = { person: "#### ", program: "> ", model: "", header: "" };

function readAider(text: string, log: ReadLog): Session {
  const blocks = blocksOf(text);
  const headers = blocks.filter((block) => block.speaker === "header");
  log.leaveOut("session header", headers.length);
  const messages = messagesFrom(blocks.flatMap(readBlock)).map(withSummaryVersion);
  const title = headers.at(-1)?.lines[0];
  return {
    format: "aider",
    segments: [{ messages, carried: 0 }],
    usage: [],
    title: title?.replace(/^\s*#\s*/, ""),
    write: (compacted) => ({ mode: "replace", chunks: writeBlocks(messages, compacted.messages, title) }),
  };
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const speaker = line.trim() === "" ? last?.speaker : speakerOf(line);
    if (speaker === undefined) continue;
    if (last?.speaker === speaker) last.lines.push(line);
    else blocks.push({ speaker, lines: [line] });
  }
  return blocks;
}

function speakerOf(line: string): Speaker {
  if (line.startsWith(PREFIX.person)) return "person";
  if (line.startsWith(PREFIX.program)) return "program";
  return HEADER.test(line) ? "header" : "model";
}

function readBlock(block: Block): Reading[] {
  const { speaker, lines } = block;
  const prefix = PREFIX[speaker].length;
  const text = lines.map((line) => (line.trim() === "" ? "" : line.slice(prefix))).join("\n");
  const parts = textParts(text.trim());
  if (parts.length === 0 || speaker === "header") return [];
  const role: Role = speaker === "model" ? "assistant" : "user";
  // The program's lines answer no call of the model; the model sees them as part of the conversation.
  return [{ role, parts, native: block, meta: { synthetic: speaker === "program" || undefined } }];
}

function* writeBlocks(
  live: readonly Message[],
  compacted: readonly Message[],
  title: string | undefined,
): Iterable<string> {
  if (title !== undefined) yield `${title}\n\n`;
  let before: Speaker | undefined;
  for (const block of rebuildEntries(live, compacted, freshBlock)) {
    // Two consecutive blocks of one speaker can only be separated by a session header.
    if (block.speaker === before) yield `${title ?? "# aider chat started at"}\n\n`;
    yield `${block.lines.join("\n").trimEnd()}\n\n`;
    before = block.speaker;
  }
}

function freshBlock(group: readonly Message[]): Block {
  const [first] = group;
  const typed: Speaker = first?.meta?.synthetic === true ? "program" : "person";
  const speaker = first?.role === "assistant" ? "model" : typed;
  const text = group.map(messageText).join("\n");
  return { speaker, lines: text.split("\n").map((line) => prefixed(line, speaker)) };
}

/** A line of the model that begins like another speaker's is marked with a space. */
function prefixed(line: string, speaker: Speaker): string {
  if (line.trim() === "") return line;
  if (speaker === "model") return speakerOf(line) === "model" ? line : ` ${line}`;
  return PREFIX[speaker] + line;
}
