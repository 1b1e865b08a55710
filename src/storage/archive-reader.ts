import { CompactError } from "../errors.ts";
import { type ArchivedMessage, readArchiveLine } from "./archive-line.ts";

/** A line that cannot be trusted; nothing is skipped silently. */
export interface ArchiveProblem {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

export interface ArchivedTranscript {
  readonly messages: readonly ArchivedMessage[];
  readonly problems: readonly ArchiveProblem[];
}

/** The messages of a transcript file and what is wrong with it: damaged, missing and cut-off lines, each with its number. */
export function readTranscriptText(text: string): ArchivedTranscript {
  const messages: ArchivedMessage[] = [];
  const problems: ArchiveProblem[] = [];
  const lines = text.split("\n");
  const torn = lines.pop() ?? "";
  let expected = 1;
  let total: number | undefined;
  lines.forEach((content, index) => {
    const line = index + 1;
    const read = readArchiveLine(content);
    if (typeof read === "string") {
      problems.push({ line, problem: read });
      expected += 1;
      return;
    }
    const { n } = read.archived;
    if (n !== expected) problems.push({ line, problem: `message ${n} follows where ${expected} should` });
    expected = n + 1;
    total = read.of;
    messages.push(read.archived);
  });
  if (torn !== "") problems.push({ line: lines.length + 1, problem: "the last line was cut off" });
  const missing = endMissing(expected, total, torn);
  if (missing !== undefined) problems.push({ line: lines.length + 1, problem: missing });
  return { messages, problems };
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

function endMissing(expected: number, total: number | undefined, torn: string): string | undefined {
  if (total === undefined) return torn === "" && expected === 1 ? "the file is empty" : undefined;
  return expected <= total ? `messages ${expected} to ${total} are missing` : undefined;
}
