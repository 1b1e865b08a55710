import { CompactError } from "compact-context/internal/errors";
import { checkDestination, type Destination } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import { type Invocation, oneOf } from "../flags.ts";
import { createProgress, type Progress } from "../ports.ts";
import type { ReplayPorts } from "../replay/replay.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import { readTranscript, TRANSCRIPT_FORMATS } from "../transcripts/read.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { openTranscript } from "./discovery.ts";
import { withoutTracing } from "./job.ts";

// Opens the transcript that a command names, with its settings.

/** Reads a transcript in chunks; throws for an unknown format and for one without messages. */
export async function readSource(
  source: Source,
  format: string | undefined,
  progress?: Progress,
): Promise<Transcript> {
  const known = oneOf(format, "--format", TRANSCRIPT_FORMATS);
  let isMalformed = false;
  const chunks = source.chunks({
    onBytes: (bytes) =>
      progress?.show(`reading ${source.name}`, source.bytes > 0 ? bytes / source.bytes : undefined),
    onMalformed: () => {
      isMalformed = true;
    },
  });
  try {
    const transcript = await readTranscript(chunks, { name: source.name, format: known });
    if (transcript.messages.length > 0) return isMalformed ? withEncodingProblem(transcript) : transcript;
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(source, error);
    throw error;
  } finally {
    progress?.end();
  }
  throw new CompactError("InvalidTranscript", `${source.name} holds no messages`, {
    place: source.name,
    hint: "Check that it is the session itself, or name its format with --format.",
  });
}

/** Reports the decoding error among the transcript's problems. */
function withEncodingProblem(transcript: Transcript): Transcript {
  const message = "holds bytes that are not UTF-8; U+FFFD replaces them";
  return { ...transcript, problems: [{ place: transcript.name ?? "file", message }, ...transcript.problems] };
}

/** One JSON document must fit into one string, whose length is limited; JSON lines need not. */
function tooLarge(source: Source, error: RangeError): CompactError {
  return new CompactError("InvalidTranscript", `${source.name} is too large to be read as one document`, {
    place: source.name,
    hint: "Export the session as JSON lines, which can have any size.",
    cause: error,
  });
}

/** A session opened for a command. */
export interface OpenedSession {
  readonly source: Source;
  /** The file of `-o`, if given. */
  readonly destination: Destination | undefined;
  readonly transcript: Transcript;
  readonly settings: Settings;
  readonly progress: Progress;
}

/** Opens the session that the first argument names. Flags and settings are checked before it is read. */
export async function openSession(invocation: Invocation): Promise<OpenedSession> {
  const { words, flags, ports } = invocation;
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings(invocation);
  const destination = await checkDestination(invocation, source);
  const progress = createProgress(ports);
  const transcript = await readSource(source, flags.format, progress);
  return { source, destination, transcript, settings: settingsFor(transcript, early, flags), progress };
}

/** Opens a session for replay: counted without tokens that the file does not hold, and without tracing. */
export async function openPlayed(
  invocation: Invocation,
  command: string,
): Promise<OpenedSession & { readonly replayPorts: ReplayPorts }> {
  const opened = await openSession(invocation);
  const { terminal, ports } = invocation;
  const { config, unseenTokens, fixedTokens, tokensBefore } = opened.settings;
  return {
    ...opened,
    settings: {
      ...opened.settings,
      config: withoutTracing(config, command, terminal.warn),
      unseenTokens: 0,
      fixedTokens: fixedTokens - unseenTokens,
      tokensBefore: tokensBefore - unseenTokens,
    },
    replayPorts: {
      clock: ports.clock,
      onWarning: terminal.warn,
      onProgress: (share) => opened.progress.show("replaying", share),
    },
  };
}
