import { type FSWatcher, watch } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sessionKey } from "compact-context/internal/core/archive";
import { loadState } from "compact-context/internal/core/store";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import type { Archive } from "compact-context/internal/search/archive";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { driverOf, openArchive } from "../archive.ts";
import { readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import { oneLine } from "../render/text.ts";
import { replayWatched } from "../replay/watched.ts";
import { openPlayed } from "../sessions/opened.ts";
import { type ArchiveSource, createArchivedRecord } from "../view/archived-session.ts";
import { readEventLine } from "../view/event-reader.ts";
import { createViewStore, type ViewStore } from "../view/view-store.ts";
import { serveView, type Viewed } from "../view-page.ts";

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
const MAX_WATCHED = 200;

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
      const changes = changesOf(source.archive.location, stopped, signs.size <= MAX_WATCHED);
      for (let took = 0; !stopped.aborted; ) {
        await sleep(took * REST, undefined, { signal: stopped }).catch(() => undefined);
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

/** Tells when a file, or anything in a folder, changes. */
interface Changes {
  /** Resolves with the next change, one since the last call too; at the latest after so many milliseconds, or when stopped. */
  next(ms: number): Promise<void>;
}

/** By the system's own notices. A place where it gives none is looked at as often as `next` says. */
function changesOf(path: string, stopped: AbortSignal, isFolder: boolean): Changes {
  let hasChanged = false;
  let wake: (() => void) | undefined;
  const tell = (): void => {
    hasChanged = true;
    wake?.();
  };
  try {
    const watcher: FSWatcher = watch(path, { signal: stopped, recursive: isFolder, persistent: false }, tell);
    watcher.on("error", () => undefined);
  } catch {
    // The time alone wakes the reader then.
  }
  return {
    next: (ms) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          stopped.removeEventListener("abort", done);
          hasChanged = false;
          wake = undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        stopped.addEventListener("abort", done);
        wake = done;
        if (hasChanged || stopped.aborted) done();
      }),
  };
}

const HEAD_BYTES = 64 * 1024;
const PIECE_BYTES = 256 * 1024;
/** A longer line is no event: it is left out, and counted. */
const LONGEST_LINE = 4_000_000;
const EVENTS_EVERY_MS = 500;

/** True for a file whose first line is an event of ours. */
async function holdsEvents(name: string, cwd: string): Promise<boolean> {
  const line = await firstLineOf(resolve(cwd, name));
  return (
    readEventLine(line)?.name.startsWith("compact.") ?? /^\{"(?:version":\d+,")?name":"compact\./.test(line)
  );
}

/** The session that a file of events is about; undefined where there is no such file. */
async function sessionTold(path: string): Promise<string | undefined> {
  return readEventLine(await firstLineOf(path).catch(() => ""))?.sessionId;
}

async function firstLineOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString("utf8").split("\n")[0] ?? "";
  } finally {
    await file.close();
  }
}

/** A file of events, and what is appended to it. */
async function viewedEvents({ ports, terminal }: Invocation, name: string): Promise<Viewed> {
  const path = resolve(ports.cwd, name);
  const store = createViewStore();
  return {
    store,
    async fill(stopped) {
      const read = createLineReader((line) => tell(store, line));
      // A character may be written in two goes.
      const decoder = new TextDecoder();
      const changes = changesOf(path, stopped, false);
      for (let at = 0; !stopped.aborted; ) {
        let leftOut = 0;
        const take = (piece: Uint8Array): void => {
          leftOut += read(decoder.decode(piece, { stream: true }));
        };
        at = await readFrom(path, at, { stopped, take });
        if (leftOut > 0) terminal.warn(`${leftOut} of the lines in ${name} are no events`);
        await changes.next(EVENTS_EVERY_MS);
      }
    },
  };
}

/** False for a line that is no event. */
function tell(store: ViewStore, line: string): boolean {
  const event = readEventLine(line);
  if (event === undefined) return line.trim() === "";
  store.told(event.sessionId.slice(0, 200), line.length).add(event);
  return true;
}

/** Hears a text that comes in pieces line by line; gives how many lines of a piece were left out. */
function createLineReader(hear: (line: string) => boolean): (piece: string) => number {
  let pending = "";
  let skipping = false;
  return (piece) => {
    const lines = (pending + piece).split("\n");
    pending = lines.pop() ?? "";
    let leftOut = 0;
    for (const line of lines) {
      if (skipping || !hear(line)) leftOut += 1;
      skipping = false;
    }
    if (pending.length > LONGEST_LINE) {
      pending = "";
      skipping = true;
    }
    return leftOut;
  };
}

/** Reads what was appended since; a file that became shorter is read anew from its end. */
async function readFrom(
  path: string,
  from: number,
  { stopped, take }: { readonly stopped: AbortSignal; take(piece: Uint8Array): void },
): Promise<number> {
  const { size } = await stat(path).catch(() => ({ size: from }));
  if (size <= from) return size;
  const file = await open(path);
  try {
    let at = from;
    while (at < size && !stopped.aborted) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      take(buffer.subarray(0, bytesRead));
    }
    return at;
  } finally {
    await file.close();
  }
}
