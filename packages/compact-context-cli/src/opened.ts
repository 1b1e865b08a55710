import { checkDestination, type Destination } from "./files/output.ts";
import { readSource } from "./files/read.ts";
import type { Source } from "./files/source.ts";
import type { Invocation } from "./flags.ts";
import { createProgress, type Progress } from "./ports.ts";
import type { ReplayPorts } from "./replay/live.ts";
import { openTranscript } from "./sessions/discover.ts";
import { countedAlone, earlySettings, type Settings, settingsFor } from "./settings.ts";
import { withoutTracing } from "./traced.ts";
import type { Transcript } from "./transcripts/transcript.ts";

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
