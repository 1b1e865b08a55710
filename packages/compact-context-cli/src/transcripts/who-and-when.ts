import type { Message, Part, Role } from "compact-context";
import { messageText, resultText, toolResults } from "compact-context/internal/core/message";
import { messagesFrom, type Reading, readableEntries, rebuildEntries, textParts } from "./entries.ts";
import {
  documentChunks,
  isRecord,
  type JsonRecord,
  layoutOf,
  listOf,
  recordOf,
  stringOf,
  textOf,
} from "./json.ts";
import { singleSegment } from "./session.ts";
import type { DocumentFormat, ReadLog, Session } from "./transcript.ts";

/** The Who&When collection: agents that talk as equals, some of which only run things. */
export const whoAndWhen: DocumentFormat = {
  format: "who-and-when",
  recognises: (value) =>
    isRecord(value) &&
    Array.isArray(value.history) &&
    !Array.isArray(value.trajectory) &&
    ["mistake_agent", "question", "is_correct", "is_corrected"].some((key) => key in value),
  read: ({ value, text }, log) => readWhoAndWhen(recordOf(value), text, log),
};

const EXECUTORS = /terminal|websurfer|filesurfer|executor|computer/i;
const PEOPLE = /^(human|user)$/i;

function readWhoAndWhen(container: JsonRecord, text: string, log: ReadLog): Session {
  const entries = readableEntries(listOf(container.history), "history", log).map(recordOf);
  const readings = entries.map(readEntry);
  const question = stringOf(container.question);
  const asked = readings.some((reading) => reading.role === "user");
  // Where no person speaks in the history, the task is told to the agents beside it.
  const opening: Reading[] = asked
    ? []
    : [{ role: "user", parts: textParts(question), native: container, id: "question" }];
  const segments = singleSegment(messagesFrom([...opening, ...readings]));
  const live = segments[0]?.messages ?? [];
  const layout = layoutOf(text);
  return {
    format: "who-and-when",
    segments,
    usage: [],
    leftOut: log.leftOut(),
    sessionId: stringOf(container.question_ID),
    write: (compacted) => {
      const history = rebuildEntries(live, compacted.messages, (group, original) =>
        original === container ? container : writeEntry(group, original),
      ).filter((entry) => entry !== container);
      const told = compacted.messages.find(
        (message) => message.native === container && message.edited === true,
      );
      const question = told === undefined ? container.question : messageText(told);
      return { mode: "replace", chunks: documentChunks({ ...container, question, history }, layout) };
    },
  };
}

function speakerOf(entry: JsonRecord): string {
  return stringOf(entry.name) ?? stringOf(entry.role) ?? "";
}

function readEntry(entry: JsonRecord): Reading {
  const speaker = speakerOf(entry);
  const text = textOf(entry.content);
  if (PEOPLE.test(speaker)) return { role: "user", parts: textParts(text), native: entry };
  return { role: "assistant", parts: spoken(speaker, text), native: entry };
}

/** Nobody calls anybody: what an executor says answers no call, so it stays text under its name. */
function spoken(speaker: string, text: string): Part[] {
  return EXECUTORS.test(speaker) ? textParts(`[${speaker}]\n${text}`) : textParts(text);
}

function writeEntry(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const content = group
    .map((message) =>
      [messageText(message), ...toolResults(message).map(resultText)].filter(Boolean).join("\n"),
    )
    .join("\n");
  if (original === undefined) return { content, role: nameOf(group[0]?.role) };
  const mark = `[${speakerOf(original)}]\n`;
  return { ...original, content: content.startsWith(mark) ? content.slice(mark.length) : content };
}

function nameOf(role: Role | undefined): string {
  return role === "user" ? "human" : "assistant";
}
