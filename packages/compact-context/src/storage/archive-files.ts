import { CompactError } from "../errors.ts";

const TRANSCRIPT = /^transcript-pre-compact-(\d{3,})\.jsonl$/;

/** The keys of one session's files, below its folder `session` (a `sessionKey`). */
export const archiveFiles: {
  transcript(session: string, step: number): string;
  summary(session: string, step: number): string;
  events(session: string): string;
  /** Holds the id of a session whose folder has another name. */
  name(session: string): string;
} = {
  transcript: (session, step) => `${session}/transcript-pre-compact-${stepName(step)}.jsonl`,
  summary: (session, step) => `${session}/summary-${stepName(step)}.json`,
  events: (session) => `${session}/events.jsonl`,
  name: (session) => `${session}/session.json`,
};

/** The session folder and step of a transcript's key; nothing for other keys. */
export function readTranscriptKey(key: string): { session: string; step: number } | undefined {
  const [session = "", name = "", ...rest] = key.split("/");
  const step = TRANSCRIPT.exec(name)?.[1];
  return step === undefined || rest.length > 0 ? undefined : { session, step: Number(step) };
}

function stepName(step: number): string {
  if (Number.isSafeInteger(step) && step >= 0) return String(step).padStart(3, "0");
  throw new CompactError("InvalidArgument", `the step must be a whole number from 0, not ${step}`, {
    hint: "Number the compactions of a session 1, 2, 3, …",
  });
}
