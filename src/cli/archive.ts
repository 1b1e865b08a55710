import { resolve } from "node:path";
import type { CompactConfig } from "../compaction/config.ts";
import type { OneShotArchive } from "../compaction/one-shot.ts";
import type { Message } from "../messages/message.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { type Archive, createArchive } from "../storage/archive.ts";
import { archiveId } from "../storage/archive-line.ts";
import { createFsDriver } from "../storage/drivers/fs.ts";
import { createMemoryDriver } from "../storage/drivers/memory.ts";

/** The archive that `--archive` or the configuration names. */
export function openArchive(
  config: CompactConfig,
  place: { readonly flag: string | undefined; readonly cwd: string; warn(text: string): void },
): Archive {
  const redact = createRedactor({
    enabled: config.redaction.enabled,
    patterns: config.redaction.patterns,
    onWarning: place.warn,
  });
  const inMemory = place.flag === undefined && config.storage.kind === "memory";
  const driver = inMemory
    ? createMemoryDriver()
    : createFsDriver({ root: resolve(place.cwd, place.flag ?? config.storage.root) });
  return createArchive(driver, { redact });
}

/** Saves a list as the next step of its session, or finds that the newest step is this very list. */
export function sessionArchive(archive: Archive, sessionId: string): OneShotArchive {
  return {
    save: async (messages) => {
      const newest = (await archive.steps(sessionId)).at(-1) ?? 0;
      const same = newest > 0 && (await holdsExactly(archive, { sessionId, step: newest, messages }));
      return archive.saveTranscript(sessionId, same ? newest : newest + 1, messages);
    },
  };
}

async function holdsExactly(
  archive: Archive,
  { sessionId, step, messages }: { sessionId: string; step: number; messages: readonly Message[] },
): Promise<boolean> {
  const stored = await archive.readTranscript(sessionId, step);
  if (stored.problems.length > 0 || stored.messages.length !== messages.length) return false;
  return stored.messages.every(({ message, archiveId: id }, index) => {
    const mine = messages[index];
    return mine !== undefined && mine.id === message.id && archiveId(mine) === id;
  });
}
