import { createReadStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { argumentsValue, type Message, resultText } from "../../packages/compact-context/src/core/message.ts";
import { groupUnits, isUserSpeech } from "../../packages/compact-context/src/core/units.ts";
import { readTranscript } from "../../packages/compact-context-cli/src/transcripts/read.ts";
import type {
  CompactedSession,
  Transcript,
  WritePorts,
  WrittenTranscript,
} from "../../packages/compact-context-cli/src/transcripts/transcript.ts";

const ROOT = join(import.meta.dirname, "../../../shared/transcripts");

/** Whether the recorded sessions are available. */
export const present: boolean = existsSync(join(ROOT, "MANIFEST.json"));

export interface ManifestEntry {
  file: string;
  format: string;
  messages: number;
  tool_calls: number;
  parallel_messages: number;
  tool_errors: number;
  thinking: number;
  images: number;
  calls_without_result: number;
  compactions: number;
  bad_lines: number;
}

export const manifest: ManifestEntry[] = present
  ? (JSON.parse(readFileSync(join(ROOT, "MANIFEST.json"), "utf8")) as ManifestEntry[])
  : [];

/** Recordings that the manifest does not list. */
export const recordings: string[] = [
  "langchain/langgraph-values-snapshots.json",
  "langchain/langgraphjs-supervisor-stream.json",
];

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

const transcripts = new Map<string, Promise<Transcript>>();

/** The file as a transcript, in chunks that end inside lines; read once. */
export function read(file: string): Promise<Transcript> {
  const known = transcripts.get(file);
  if (known !== undefined) return known;
  const transcript = readFile(file);
  transcripts.set(file, transcript);
  return transcript;
}

function readFile(file: string): Promise<Transcript> {
  return readTranscript(createReadStream(join(ROOT, file), { encoding: "utf8", highWaterMark: 10_007 }), {
    name: file,
  });
}

export const SUMMARY = "<COMPACT-SUMMARY v1>\n## Goal\nKeep going.\n\n> a quoted line\n#### a heading";

/** First user message, a summary, and the last third from a unit's start. */
export function compactSimply(messages: readonly Message[]): CompactedSession {
  const first = messages.findIndex(isUserSpeech);
  const from = Math.max(Math.floor((messages.length * 2) / 3), first + 1);
  const units = groupUnits(messages).filter((unit) => (unit.indexes[0] ?? 0) >= from);
  const recent = units.flatMap((unit) => unit.indexes).toSorted((a, b) => a - b);
  const kept = [...(first < 0 ? [] : [first])].map((index) => messages[index]!);
  const summary: Message = {
    id: "summary-1",
    role: "assistant",
    parts: [{ type: "text", text: SUMMARY }],
    meta: { summaryVersion: 1, synthetic: true },
  };
  return {
    messages: [...kept, summary, ...recent.map((index) => messages[index]!)],
    summary: SUMMARY,
    tokensBefore: 1000,
  };
}

export function ports(): WritePorts {
  let count = 0;
  return {
    newId: () => {
      count += 1;
      return `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
    },
    now: () => "2026-01-02T03:04:05.678Z",
  };
}

/** The complete new file. */
export function fileText(original: string, written: WrittenTranscript): string {
  const added = [...written.chunks].join("");
  return written.mode === "append" ? original + added : added;
}

/** What a round trip must preserve: roles, texts, calls and results, with call ids by order of appearance. */
export function essence(messages: readonly Message[]): unknown[] {
  const ids = new Map<string, number>();
  const idOf = (id: string): number => ids.get(id) ?? ids.set(id, ids.size).size - 1;
  return messages.map((message) => ({
    role: message.role,
    parts: message.parts.map((part) => {
      if (part.type === "toolCall")
        return { call: idOf(part.id), name: part.name, arguments: argumentsValue(part) };
      if (part.type === "toolResult")
        return { result: idOf(part.id), text: resultText(part), isError: part.isError === true };
      if (part.type === "reasoning") return { reasoning: part.text, sealed: part.opaqueLength ?? 0 };
      return part.type === "text" ? part.text.trim() : { media: part.mediaType, bytes: part.bytes };
    }),
  }));
}
