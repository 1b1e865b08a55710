import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { sessionKey } from "compact-context/internal/core/archive";
import { loadState } from "compact-context/internal/core/store";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import type { Archive } from "compact-context/internal/search/archive";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { driverOf, openArchive } from "../archive.ts";
import { readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import { openPlayed } from "../opened.ts";
import { oneLine } from "../render/width.ts";
import { type ArchiveSource, createArchivedRecord } from "../view/archived-session.ts";
import { changesOf } from "../view/changes.ts";
import { createViewStore } from "../view/view-store.ts";
import { serveView, type Viewed } from "../view-page.ts";
import { holdsEvents, sessionTold, viewedEvents } from "../viewed-events.ts";
import { replayWatched } from "../watched-replay.ts";

export async function viewSessions(invocation: Invocation): Promise<number> {
  return serveView(invocation, await openViewed(invocation));
}

/** What the word names, ready to be looked at: a folder is an archive, a file events or a transcript. */
async function openViewed(invocation: Invocation): Promise<Viewed> {
  const { words, ports } = invocation;
  const [word] = words;
  if (word === undefined) return viewedArchive(invocation, undefined);
  const facts = await stat(resolve(ports.cwd, word)).catch(() => undefined);
  if (facts?.isDirectory() === true) return viewedArchive(invocation, word);
  const isFile = facts?.isFile() === true;
  // What cannot be read is refused in words below, as any transcript is.
  if (isFile && (await holdsEvents(word, ports.cwd).catch(() => false)))
    return viewedEvents(invocation, word);
  return viewedTranscript(invocation);
}

/** A transcript, replayed while the page is open. */
async function viewedTranscript(invocation: Invocation): Promise<Viewed> {
  const { transcript, settings, progress, replayPorts } = await openPlayed(invocation, "compact view");
  const store = createViewStore();
  return {
    store,
    async fill() {
      await replayWatched(transcript, settings, { ...replayPorts, store }).finally(() => progress.end());
    },
  };
}

/** Sessions that are read before anybody opens them: the list then says how large they are. */
const READ_AHEAD = 20;
/** What an agent adds is on the page within a second; where a look takes long, the next one waits longer. */
const LOOK_EVERY_MS = 250;
const REST = 4;
/** Folders below an archive whose changes the system is asked to tell. */
const MOST_WATCHED = 200;

/** The archive in a folder, or the one of the settings; what a running agent adds to it is shown as it comes. */
async function viewedArchive(invocation: Invocation, folder: string | undefined): Promise<Viewed> {
  const { ports, terminal } = invocation;
  const flags = { ...invocation.flags, archive: folder ?? invocation.flags.archive };
  const source = sourceOf({ ...invocation, flags });
  const store = createViewStore();
  const signs = new Map<string, string>();
  const told = new Map<string, string | undefined>();
  const look = async (): Promise<void> => {
    for (const id of await sessionsOf(source.archive, told)) {
      const sign = await signOf(source.archive.location, id);
      if (signs.get(id) === sign) continue;
      const { record } = store.open((changed) => createArchivedRecord(id, source, changed));
      signs.set(id, sign);
      if (signs.size <= READ_AHEAD) await record.originals.load?.();
    }
  };
  await look();
  if (signs.size === 0) {
    if (flags.archive !== undefined) throw nothingIn(source.archive.location);
    terminal.warn("nothing is archived here yet; the page fills when that changes, or when events come");
  }
  return {
    store,
    async fill(stopped) {
      const changes = changesOf(source.archive.location, stopped, signs.size <= MOST_WATCHED);
      for (let took = 0; !stopped.aborted; ) {
        await setTimeout(took * REST, undefined, { signal: stopped }).catch(() => undefined);
        await changes.next(LOOK_EVERY_MS);
        const began = ports.clock();
        if (!stopped.aborted) await look().catch((error: unknown) => terminal.warn(errorMessage(error)));
        took = ports.clock() - began;
      }
    },
  };
}

/** The archived sessions, and those that were never compacted but wrote events; `told` remembers whose folder is whose. */
async function sessionsOf(archive: Archive, told: Map<string, string | undefined>): Promise<string[]> {
  const archived = await archive.sessions();
  const keys = new Set(archived.map((id) => sessionKey(id)));
  const folders = await readdir(archive.location, { withFileTypes: true }).catch(() => []);
  for (const { name } of folders.filter((one) => one.isDirectory() && !keys.has(one.name))) {
    const id = told.get(name) ?? (await sessionTold(join(archive.location, name, "events.jsonl")));
    told.set(name, id);
    if (id !== undefined && sessionKey(id) === name) archived.push(id);
  }
  return archived;
}

function sourceOf(invocation: Invocation): ArchiveSource {
  const settings = readConfig(invocation);
  const { config } = settings;
  const driver = driverOf(invocation, settings);
  const named = invocation.flags.model ?? config.model;
  return {
    archive: openArchive(invocation, settings),
    counterFor: (found) => {
      const name = named ?? found;
      return createTokenCounter({ models: config.models, model: name });
    },
    keep: config.policy,
    state: async (id) => (await loadState(driver, id).catch(() => undefined))?.value,
  };
}

/** Changes when a file of the session does; always the same where the archive is no folder. */
async function signOf(location: string, sessionId: string): Promise<string> {
  const folder = join(location, sessionKey(sessionId));
  try {
    const signs = (await readdir(folder)).map(async (name) => {
      const facts = await stat(join(folder, name));
      // The search index is written by looking.
      return facts.isFile() ? `${name} ${facts.size} ${facts.mtimeMs}` : "";
    });
    return (await Promise.all(signs)).join("\n");
  } catch {
    return "";
  }
}

function nothingIn(location: string): CompactError {
  return new CompactError("NotFound", `there is no archived session in ${oneLine(location)}`, {
    place: oneLine(location),
    hint: "Name a transcript or another archive: compact view FILE, or compact view FOLDER.",
  });
}
