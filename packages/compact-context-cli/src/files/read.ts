import { CompactError } from "compact-context/internal/errors";
import { oneOf } from "../flags.ts";
import type { Progress } from "../ports.ts";
import { TRANSCRIPT_FORMATS } from "../transcripts/formats.ts";
import { readTranscript } from "../transcripts/read.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import type { Source } from "./source.ts";

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
