import { codecFor } from "../codecs/formats.ts";
import type { ArchivedMessage, ArchiveProblem } from "../core/archive.ts";
import type { Format, Message } from "../core/message.ts";
import type { Archive } from "../search/archive.ts";
import { joinSteps } from "./join-steps.ts";

/** A message list as it was, but for what the archive never had. */
export interface Restored {
  readonly sessionId: string;
  readonly step: number;
  /** Undefined for neutral messages. */
  readonly format: Format | undefined;
  /** In that format. */
  readonly messages: readonly unknown[];
  /** The same as neutral messages, one for one. */
  readonly neutral: readonly Message[];
  readonly archiveIds: readonly string[];
  /** Where the list differs from the original, and why. */
  readonly differences: readonly Difference[];
  /** Lines that could not be read, by step. */
  readonly problems: readonly (ArchiveProblem & { readonly step: number })[];
}

export interface Difference {
  /** Index into `messages`. */
  readonly index: number;
  readonly archiveId: string;
  readonly reason: string;
}

export interface RestoreOptions {
  /** The newest when left out. */
  readonly step?: number | undefined;
  /** The list as it stood before that compaction, earlier summaries in it, instead of all originals. */
  readonly asSent?: boolean;
}

/** Puts a session's conversation together again. Rejects with `NotFound` for a step that is not there. */
export async function restoreStep(
  archive: Pick<Archive, "steps" | "readTranscript">,
  sessionId: string,
  { step, asSent = false }: RestoreOptions,
): Promise<Restored> {
  const steps = await archive.steps(sessionId);
  const last = step ?? steps.at(-1) ?? 1;
  const wanted = asSent || !steps.includes(last) ? [last] : steps.filter((one) => one <= last);
  const problems: Restored["problems"][number][] = [];
  let messages: readonly ArchivedMessage[] = [];
  for (const one of wanted) {
    const transcript = await archive.readTranscript(sessionId, one);
    problems.push(...transcript.problems.map((problem) => ({ ...problem, step: one })));
    messages = one === wanted[0] ? transcript.messages : joinSteps(messages, transcript.messages);
  }
  const neutral = messages.map((archived) => archived.message);
  const format = neutral.find((message) => message.format !== undefined)?.format;
  return {
    sessionId,
    step: last,
    format,
    messages: format === undefined ? neutral : codecFor(format).encode(neutral),
    neutral,
    archiveIds: messages.map((archived) => archived.archiveId),
    differences: messages.flatMap(differencesOf),
    problems,
  };
}

function differencesOf({ archiveId, redacted, leftOut }: ArchivedMessage, index: number): Difference[] {
  const reasons = [
    ...(redacted ? ["secrets were taken out"] : []),
    ...(leftOut === undefined ? [] : [`left out: ${leftOut}`]),
  ];
  return reasons.map((reason) => ({ index, archiveId, reason }));
}
