import { CompactError } from "../errors.ts";
import {
  argumentsText,
  type Message,
  messageText,
  resultText,
  toolCalls,
  toolResults,
} from "../messages/message.ts";
import type { ArchivedMessage } from "./archive-line.ts";
import type { ArchivedTranscript, ArchiveProblem } from "./archive-reader.ts";

export interface FoundMessage extends ArchivedMessage {
  readonly sessionId: string;
  readonly step: number;
}

export interface SearchHit extends FoundMessage {
  /** The text found and up to 80 characters on both sides. */
  readonly snippet: string;
}

export interface SearchOptions {
  /** All sessions when left out. */
  readonly sessionId?: string;
  /** 20 when left out. */
  readonly limit?: number;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Lines that could not be searched. */
  readonly problems: readonly (ArchiveProblem & { readonly sessionId: string; readonly step: number })[];
}

/** What searching needs to read of an archive. */
export interface ArchiveReading {
  sessions(): Promise<string[]>;
  steps(sessionId: string): Promise<number[]>;
  readTranscript(sessionId: string, step: number): Promise<ArchivedTranscript>;
}

const AROUND_HIT = 80;

/** The newest message with this archive id or id of its own; nothing where the session has none. */
export async function findMessage(
  reading: ArchiveReading,
  sessionId: string,
  id: string,
): Promise<FoundMessage | undefined> {
  for await (const { step, messages } of transcripts(reading, [sessionId])) {
    const found =
      messages.find((archived) => archived.archiveId === id) ??
      messages.find((archived) => archived.message.id === id);
    if (found !== undefined) return { ...found, sessionId, step };
  }
  return undefined;
}

/** Scans text, calls and results of every message; a message that many steps hold is found once. */
export async function search(
  reading: ArchiveReading,
  text: string,
  options: SearchOptions,
): Promise<SearchResult> {
  if (text === "") {
    throw new CompactError("InvalidArgument", "the text to search for is empty", {
      hint: "Give a word or a phrase of the message that you look for.",
    });
  }
  const { sessionId, limit = 20 } = options;
  const hits = new Map<string, SearchHit>();
  const problems: SearchResult["problems"][number][] = [];
  const sessionIds = sessionId === undefined ? await reading.sessions() : [sessionId];
  for await (const transcript of transcripts(reading, sessionIds)) {
    const place = { sessionId: transcript.sessionId, step: transcript.step };
    problems.push(...transcript.problems.map((problem) => ({ ...problem, ...place })));
    for (const archived of transcript.messages) {
      const snippet = snippetAround(archived.message, text);
      const key = `${archived.archiveId} ${place.sessionId}`;
      if (snippet !== undefined && !hits.has(key)) hits.set(key, { ...archived, ...place, snippet });
    }
    if (hits.size >= limit) break;
  }
  return { hits: [...hits.values()].slice(0, limit), problems };
}

async function* transcripts(
  reading: ArchiveReading,
  sessionIds: readonly string[],
): AsyncGenerator<ArchivedTranscript & { sessionId: string; step: number }> {
  for (const sessionId of sessionIds) {
    for (const step of (await reading.steps(sessionId)).reverse()) {
      yield { ...(await reading.readTranscript(sessionId, step)), sessionId, step };
    }
  }
}

function snippetAround(message: Message, text: string): string | undefined {
  const whole = searchableText(message);
  const at = whole.toLowerCase().indexOf(text.toLowerCase());
  if (at === -1) return undefined;
  return whole.slice(Math.max(0, at - AROUND_HIT), at + text.length + AROUND_HIT);
}

function searchableText(message: Message): string {
  const calls = toolCalls(message).map((call) => `${call.name} ${argumentsText(call)}`);
  return [messageText(message), ...calls, ...toolResults(message).map(resultText)].join("\n");
}
