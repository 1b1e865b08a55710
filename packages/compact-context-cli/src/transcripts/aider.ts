import type { Message, Role } from "compact-context";
import { messageText } from "compact-context/internal/core/message";
import { rebuildEntries } from "./document.ts";
import { messagesFrom, type Reading, singleSegment, textParts } from "./session.ts";
import type { DocumentFormat, ReadLog, Session } from "./transcript.ts";

const HEADER = /^\s*# aider chat started at/;

/** Aider's `.aider.chat.history.md`: `#### ` marks the user, `> ` the program, the rest is the model. */
export const aider: DocumentFormat = {
  format: "aider",
  recognises: (value) => typeof value === "string" && HEADER.test(value.slice(0, 1000)),
  read: ({ text }, log) => readAider(text, log),
};

interface Block {
  readonly speaker: Speaker;
  readonly lines: string[];
}

type Speaker = "person" | "program" | "model" | "header";

const PREFIX: Readonly<Record<Speaker, string>> = { person: "#### ", program: "> ", model: "", header: "" };
const ROLES: Readonly<Record<Exclude<Speaker, "header">, Role>> = {
  person: "user",
  program: "user",
  model: "assistant",
};

function readAider(text: string, log: ReadLog): Session {
  const blocks = blocksOf(text);
  const readings = blocks.flatMap(readBlock);
  const headers = blocks.filter((block) => block.speaker === "header");
  log.leaveOut("session header", headers.length);
  const segments = singleSegment(messagesFrom(readings));
  const live = segments[0]?.messages ?? [];
  const title = headers.at(-1)?.lines[0];
  return {
    format: "aider",
    segments,
    usage: [],
    leftOut: log.leftOut(),
    title: title?.replace(/^\s*#\s*/, ""),
    write: (compacted) => ({ mode: "replace", chunks: writeBlocks(live, compacted.messages, title) }),
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
  if (speaker === "header") return [];
  const prefix = PREFIX[speaker].length;
  const text = lines
    .map((line) => (line.trim() === "" ? "" : line.slice(prefix)))
    .join("\n")
    .trim();
  const parts = textParts(text);
  if (parts.length === 0) return [];
  // The program's lines answer no call of the model; the model sees them as part of the conversation.
  const meta = speaker === "program" ? { synthetic: true } : {};
  return [{ role: ROLES[speaker], parts, native: block, meta }];
}

function* writeBlocks(
  live: readonly Message[],
  compacted: readonly Message[],
  title: string | undefined,
): Iterable<string> {
  if (title !== undefined) yield `${title}\n\n`;
  const blocks = rebuildEntries(live, compacted, freshBlock);
  let before: Speaker | undefined;
  for (const block of blocks) {
    // Two consecutive blocks of one speaker can only be separated by a session header.
    if (block.speaker === before) yield `${title ?? "# aider chat started at"}\n\n`;
    yield `${block.lines.join("\n").trimEnd()}\n\n`;
    before = block.speaker;
  }
}

function freshBlock(group: readonly Message[]): Block {
  const speaker = speakerFor(group[0]);
  const text = group.map(messageText).join("\n");
  return { speaker, lines: text.split("\n").map((line) => prefixed(line, speaker)) };
}

function speakerFor(message: Message | undefined): Speaker {
  if (message?.role === "assistant") return "model";
  return message?.meta?.synthetic === true ? "program" : "person";
}

/** A line of the model that begins like another speaker's is marked with a space. */
function prefixed(line: string, speaker: Speaker): string {
  if (line.trim() === "") return line;
  if (speaker === "model") return speakerOf(line) === "model" ? line : ` ${line}`;
  return PREFIX[speaker] + line;
}
