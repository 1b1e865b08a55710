import { type Message, type Part, resultText } from "../../core/message.ts";
import { groupUnits, typedText } from "../../core/units.ts";
import { callText } from "../extractive/lines.ts";
import { asData } from "./frame.ts";

/** A piece of the conversation as a model reads it. */
export interface ConversationRecord {
  /** `[12 call bash]`: the message's number in the input, from 1, and who speaks. */
  readonly header: string;
  /** As it was said. */
  readonly text: string;
}

/** Messages that are not taken apart as long as they fit: one message, or an exchange. */
export type RecordUnit = readonly ConversationRecord[];

/** The units of a list in order. */
export function recordUnits(messages: readonly Message[], redact: (text: string) => string): RecordUnit[] {
  return groupUnits(messages).map((unit) =>
    unit.indexes.flatMap((index) => {
      const message = messages[index];
      return message === undefined ? [] : recordsOf(message, index + 1, redact);
    }),
  );
}

/** Characters of what was said, without headers. */
export function charactersOf(units: readonly RecordUnit[]): number {
  return units.reduce((total, unit) => total + unit.reduce((sum, record) => sum + record.text.length, 0), 0);
}

/** A record as it stands in a request; its text cannot look like a header or close the frame. */
export function renderRecord(record: ConversationRecord): string {
  return `${record.header}\n${asData(record.text)}`;
}

function recordsOf(message: Message, number: number, redact: (text: string) => string): ConversationRecord[] {
  return message.parts.flatMap((part) => {
    const read = readPart(message, part);
    if (read === undefined || read.text.trim() === "") return [];
    return [{ header: `[${number} ${read.speaker}]`, text: redact(read.text) }];
  });
}

function readPart(message: Message, part: Part): { speaker: string; text: string } | undefined {
  switch (part.type) {
    case "text":
      return { speaker: speakerOf(message), text: part.text };
    case "toolCall":
      return { speaker: `call ${asName(part.name)}`, text: callText(part) };
    case "toolResult":
      return { speaker: part.isError === true ? "result, failed" : "result", text: resultText(part) };
    case "reasoning":
      return { speaker: "reasoning", text: part.text };
    case "media":
      return { speaker: "media", text: part.name ?? part.url ?? part.mediaType };
  }
}

function speakerOf(message: Message): string {
  if (message.role === "tool") return "result";
  if (message.role === "user" && message.meta?.synthetic === true) return "note";
  return message.role;
}

function asName(name: string): string {
  return name.replace(/[^\w.:-]/g, "_").slice(0, 80);
}

/** What people typed in these messages. */
export function userTexts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role !== "user" || message.meta?.synthetic === true) return [];
    return message.parts.flatMap((part) => (part.type === "text" ? [typedText(part.text)] : []));
  });
}
