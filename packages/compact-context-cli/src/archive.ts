import { resolve } from "node:path";
import type { OneShotArchive } from "compact-context/internal/compact";
import type { CompactConfig } from "compact-context/internal/config/settings";
import { archiveId } from "compact-context/internal/core/archive";
import type { Message } from "compact-context/internal/core/message";
import type { StorageDriver } from "compact-context/internal/core/ports";
import { s3Settings } from "compact-context/internal/create-manager";
import { CompactError, closest } from "compact-context/internal/errors";
import { type Archive, createArchive } from "compact-context/internal/search/archive";
import { createRedactor } from "compact-context/redaction";
import { createFsDriver } from "compact-context/storage/fs";
import { createMemoryDriver } from "compact-context/storage/memory";
import { createPostgresDriver } from "compact-context/storage/postgres";
import { createS3Driver } from "compact-context/storage/s3";
import { oneLine } from "./render/safe.ts";

/** The archive that `--archive` or the configuration names. */
export function openArchive(
  config: CompactConfig,
  place: { readonly flag: string | undefined; readonly cwd: string; warn(text: string): void },
): Archive {
  const redact = createRedactor({ ...config.redaction, onWarning: place.warn });
  return createArchive(driverOf(config, place), { redact });
}

/** Where that archive is kept. */
export function driverOf(
  { storage }: CompactConfig,
  { flag, cwd }: { readonly flag: string | undefined; readonly cwd: string },
): StorageDriver {
  if (flag === undefined && storage.kind === "memory") return createMemoryDriver();
  if (flag === undefined && storage.kind === "s3") return createS3Driver(s3Settings(storage));
  if (flag === undefined && storage.kind === "postgres")
    return createPostgresDriver({ schema: storage.schema });
  return createFsDriver({ root: resolve(cwd, flag ?? storage.root) });
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

/** The session that was named, or the only one there is, and its steps. Throws `InvalidUsage` or `NotFound`. */
export async function sessionOf(
  archive: Archive,
  given: string | undefined,
  action: string,
): Promise<{ readonly session: string; readonly steps: readonly number[] }> {
  const session = given ?? (await onlySession(archive, action));
  const steps = await archive.steps(session);
  if (steps.length > 0) return { session, steps };
  const near = closest(session, await archive.sessions());
  throw new CompactError("NotFound", `the archive holds no session ${oneLine(session)}`, {
    hint: `${near === undefined ? "" : `Did you mean ${oneLine(near)}? `}compact archive list names those it holds.`,
  });
}

async function onlySession(archive: Archive, action: string): Promise<string> {
  const sessions = await archive.sessions();
  const [first] = sessions;
  if (first !== undefined && sessions.length === 1) return first;
  throw new CompactError(
    "InvalidUsage",
    `compact archive ${action} needs a session: there are ${sessions.length}`,
    {
      hint:
        first === undefined
          ? "Compact a session first."
          : `Such as: compact archive ${action} ${oneLine(first)}.`,
    },
  );
}
