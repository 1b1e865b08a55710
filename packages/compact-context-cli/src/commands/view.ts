import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Invocation } from "../command.ts";
import { readSource } from "../files/read.ts";
import { openTranscript } from "../sessions/discover.ts";
import { countedAlone, earlySettings, settingsFor } from "../settings.ts";
import { createProgress } from "../terminal.ts";
import { withoutTracing } from "../traced.ts";
import { createViewStore } from "../view/view-store.ts";
import { serveView, type Viewed } from "../view-page.ts";
import { viewedArchive } from "../viewed-archive.ts";
import { holdsEvents, viewedEvents } from "../viewed-events.ts";
import { replayWatched } from "../watched-replay.ts";

export async function viewSessions(invocation: Invocation): Promise<number> {
  return serveView(invocation, await openViewed(invocation, invocation.words[0]));
}

/** What a word names, ready to be looked at: a folder is an archive, a file events or a transcript. */
export async function openViewed(invocation: Invocation, word: string | undefined): Promise<Viewed> {
  const { ports } = invocation;
  if (word === undefined) return viewedArchive(invocation, undefined);
  const facts = await stat(resolve(ports.cwd, word)).catch(() => undefined);
  if (facts?.isDirectory() === true) return viewedArchive(invocation, word);
  const isFile = facts?.isFile() === true;
  // What cannot be read is refused in words below, as any transcript is.
  if (isFile && (await holdsEvents(word, ports.cwd).catch(() => false)))
    return viewedEvents(invocation, word);
  return viewedTranscript(invocation, word);
}

/** A transcript, replayed while the page is open. */
async function viewedTranscript({ flags, ports, terminal }: Invocation, word: string): Promise<Viewed> {
  const source = await openTranscript(word, ports);
  const early = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const progress = createProgress(ports);
  const transcript = await readSource(source, flags.format, progress);
  const counted = countedAlone(settingsFor(transcript, early, flags));
  const warn = (text: string): void => terminal.warn(text);
  const settings = { ...counted, config: withoutTracing(counted.config, "compact view", warn) };
  const store = createViewStore();
  return {
    store,
    async fill() {
      await replayWatched(transcript, settings, {
        store,
        clock: ports.clock,
        onWarning: (text) => terminal.warn(text),
        onProgress: (share) => progress.show("replaying", share),
      }).finally(() => progress.end());
    },
  };
}
