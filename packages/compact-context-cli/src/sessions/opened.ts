import { CompactError } from "compact-context/internal/errors";
import { checkDestination, type Destination } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import { type Invocation, oneOf } from "../flags.ts";
import { createProgress, type Progress } from "../ports.ts";
import type { ReplayPorts } from "../replay/live.ts";
import { countedAlone, earlySettings, type Settings, settingsFor } from "../settings.ts";
import { TRANSCRIPT_FORMATS } from "../transcripts/formats.ts";
import { readTranscript } from "../transcripts/read.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { withoutTracing } from "./job.ts";
import { openTranscript } from "./tools.ts";

// Reads the transcript that a command names, and its settings.

/** Reads a source piece by piece; throws when it is no transcript or holds no message. */
export async function readSource(
  source: Source,
  format: string | undefined,
  progress?: Progress,
): Promise<Transcript> {
  const known = oneOf(format, "--format", TRANSCRIPT_FORMATS);
  let garbled = false;
  const chunks = source.chunks({
    onBytes: (bytes) =>
      progress?.show(`reading ${source.name}`, source.bytes > 0 ? bytes / source.bytes : undefined),
    onGarbled: () => {
      garbled = true;
    },
  });
  try {
    const transcript = await readTranscript(chunks, { name: source.name, format: known });
    if (transcript.messages.length > 0) return garbled ? withGarbled(transcript) : transcript;
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

/** Text that is not what was written is told, whatever it is used for. */
function withGarbled(transcript: Transcript): Transcript {
  const message = "holds bytes that are no UTF-8 text; U+FFFD stands in their place";
  return { ...transcript, problems: [{ place: transcript.name ?? "file", message }, ...transcript.problems] };
}

/** A file of one JSON document must fit into one string, which has a limit; files of lines need not. */
function tooLarge(source: Source, error: RangeError): CompactError {
  return new CompactError("InvalidTranscript", `${source.name} is too large to be read as one document`, {
    place: source.name,
    hint: "Export the session as JSON lines: files of lines may have any size.",
    cause: error,
  });
}

/** A session that was read for a command. */
export interface OpenedSession {
  readonly source: Source;
  /** Where the result goes, with `-o`. */
  readonly destination: Destination | undefined;
  readonly transcript: Transcript;
  readonly settings: Settings;
  readonly progress: Progress;
}

/** Reads the session that the first word names; what is wrong with flags and settings is said before. */
export async function openSession(invocation: Invocation): Promise<OpenedSession> {
  const { words, flags, ports } = invocation;
  const source = await openTranscript(words[0] ?? "", ports);
  const early = earlySettings(invocation);
  const destination = await checkDestination(invocation, source);
  const progress = createProgress(ports);
  const transcript = await readSource(source, flags.format, progress);
  return { source, destination, transcript, settings: settingsFor(transcript, early, flags), progress };
}

/** The same for a command that only plays the session: counted as the file alone holds it, and told to nobody. */
export async function openPlayed(
  invocation: Invocation,
  command: string,
): Promise<OpenedSession & { readonly replayPorts: ReplayPorts }> {
  const opened = await openSession(invocation);
  const { terminal, ports } = invocation;
  const alone = countedAlone(opened.settings);
  return {
    ...opened,
    settings: { ...alone, config: withoutTracing(alone.config, command, terminal.warn) },
    replayPorts: {
      clock: ports.clock,
      onWarning: terminal.warn,
      onProgress: (share) => opened.progress.show("replaying", share),
    },
  };
}
