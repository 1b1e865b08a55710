import type { CompactedSession, Transcript, WritePorts, WrittenTranscript } from "./transcript.ts";

/**
 * The compacted session in the format it was read from. In `append` mode copy the original file first: its bytes
 * stay as they are and the tool that wrote it resumes with what is appended.
 */
export function writeTranscript(
  transcript: Transcript,
  compacted: CompactedSession,
  ports: WritePorts,
): WrittenTranscript {
  return transcript.write(compacted, ports);
}
