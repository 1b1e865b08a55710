import { CompactError } from "../errors.ts";
import { type ArchivedMessage, readArchiveLine } from "./archive-line.ts";
import { linesOf } from "./search-index/transcript-lines.ts";

/** A line that cannot be trusted; nothing is skipped silently. */
export interface ArchiveProblem {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

/** What a reader meets, in the order of the file; told apart by `problem`. */
export type ArchiveEntry = ArchivedMessage | ArchiveProblem;

export interface ArchivedTranscript {
  readonly messages: readonly ArchivedMessage[];
  readonly problems: readonly ArchiveProblem[];
}

/** The messages of a transcript file and what is wrong with it: damaged, missing and cut-off lines, each with its number. */
export function readTranscriptText(text: string): ArchivedTranscript {
  const reading = createReading();
  const lines = text.split("\n");
  const torn = lines.pop() ?? "";
  const entries = lines.flatMap((line) => reading.take(line, false));
  if (torn !== "") entries.push(...reading.take(torn, true));
  return sorted([...entries, ...reading.end()]);
}

/** The same of a file that comes in pieces, a line at a time. */
export async function* readTranscriptPieces(pieces: AsyncIterable<string>): AsyncGenerator<ArchiveEntry> {
  const reading = createReading();
  for await (const { text, torn } of linesOf(pieces)) yield* reading.take(text, torn);
  yield* reading.end();
}

/** Everything that a reader meets, messages and problems apart. */
export async function collectTranscript(entries: AsyncIterable<ArchiveEntry>): Promise<ArchivedTranscript> {
  const all: ArchiveEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return sorted(all);
}

/** `NotFound` for a transcript that is not there, naming those that are. */
export function noTranscript(sessionId: string, step: number, steps: readonly number[]): CompactError {
  return new CompactError(
    "NotFound",
    `session ${JSON.stringify(sessionId)} has no transcript of step ${step}`,
    {
      hint:
        steps.length === 0
          ? "Nothing of this session is in the archive: look at the ids of the sessions that are."
          : `There are transcripts of the steps ${steps.join(", ")}.`,
    },
  );
}

/** Reads a transcript line by line: whoever has the lines hands them over. */
export interface Reading {
  /** What the next line holds; `torn` when the file ends without a newline behind it. */
  take(text: string, torn: boolean): ArchiveEntry[];
  /** What should have followed. */
  end(): ArchiveProblem[];
  /** How many messages the lines so far say there are; 0 where none could be read. */
  stated(): number;
}

export function createReading(): Reading {
  let line = 0;
  let expected = 1;
  let total: number | undefined;
  let torn = false;
  return {
    take(text, isTorn) {
      line += 1;
      torn = isTorn;
      const read = isTorn ? "the last line was cut off" : readArchiveLine(text);
      if (typeof read === "string") {
        expected += 1;
        return [{ line, problem: read }];
      }
      const { archived, of } = read;
      const gap = { line, problem: `message ${archived.n} follows where ${expected} should` };
      const entries = archived.n === expected ? [archived] : [gap, archived];
      expected = archived.n + 1;
      total = of;
      return entries;
    },
    end() {
      const behind = torn ? line : line + 1;
      if (total === undefined) {
        return !torn && expected === 1 ? [{ line: behind, problem: "the file is empty" }] : [];
      }
      const missing = `messages ${expected} to ${total} are missing`;
      return expected <= total ? [{ line: behind, problem: missing }] : [];
    },
    stated: () => total ?? 0,
  };
}

function sorted(entries: readonly ArchiveEntry[]): ArchivedTranscript {
  const isProblem = (entry: ArchiveEntry): entry is ArchiveProblem => "problem" in entry;
  const messages = entries.filter((entry): entry is ArchivedMessage => !isProblem(entry));
  return { messages, problems: entries.filter(isProblem) };
}
