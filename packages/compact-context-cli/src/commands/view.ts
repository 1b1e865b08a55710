import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sessionKey } from "compact-context/internal/core/records";
import { loadState } from "compact-context/internal/core/store";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import type { Archive } from "compact-context/internal/search/archive";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { driverOf, openArchive } from "../archive.ts";
import { readConfig } from "../files/config.ts";
import { type Invocation, portOf } from "../flags.ts";
import { PACKAGE } from "../program.ts";
import { oneLine, plural } from "../render/text.ts";
import { replayWatched } from "../replay/watched.ts";
import { openPlayed } from "../sessions/opened.ts";
import { type ArchiveSource, createArchivedRecord } from "../view/archived-session.ts";
import { readEventLine } from "../view/event-reader.ts";
import { readPageFiles, startViewServer, type ViewServer } from "../view/server.ts";
import { ViewStore } from "../view/view-store.ts";

/** Serves the page until Ctrl-C; returns the exit code. */
export async function viewSessions(invocation: Invocation): Promise<number> {
  const { store, fill } = await openSource(invocation);
  const stopped = new AbortController();
  // Registered before the page prints that Ctrl-C stops it.
  const onStop = (invocation.ports.stopped?.() ?? Promise.resolve()).then(() => stopped.abort());
  const server = await startPage(invocation, store);
  try {
    await Promise.all([fill(stopped.signal), onStop]);
  } finally {
    stopped.abort();
    await server.close();
  }
  return 0;
}

/** Where the page's sessions come from. */
interface ViewSource {
  readonly store: ViewStore;
  /** Fills the store while the page is served; resolves at the end of the data, or once `stopped`. */
  fill(stopped: AbortSignal): Promise<void>;
}

/** Opens what the argument names: a folder is an archive, a file holds events or a transcript. */
async function openSource(invocation: Invocation): Promise<ViewSource> {
  const { words, ports } = invocation;
  const [name] = words;
  if (name === undefined) return archiveSource(invocation, undefined);
  const path = resolve(ports.cwd, name);
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory() === true) return archiveSource(invocation, name);
  // An unreadable file is reported as an unreadable transcript.
  const hasEvents = stats?.isFile() === true && (await holdsEvents(path).catch(() => false));
  return hasEvents ? eventSource(invocation, name, path) : transcriptSource(invocation);
}

/** A transcript, replayed while the page is open. */
async function transcriptSource(invocation: Invocation): Promise<ViewSource> {
  const { transcript, settings, progress, replayPorts } = await openPlayed(invocation, "compact view");
  const store = new ViewStore();
  return {
    store,
    async fill() {
      await replayWatched(transcript, settings, { ...replayPorts, store }).finally(() => progress.end());
    },
  };
}

/** Sessions loaded before they are opened, so that the list shows their size. */
const PRELOADED = 20;
/** Between two looks at what has changed. */
const SCAN_MS = 250;
/** After a slow scan the next one waits this multiple of the scan's duration. */
const BACKOFF = 4;

/** The archive in a folder, or that of the settings; updated while an agent writes to it. */
async function archiveSource(invocation: Invocation, folder: string | undefined): Promise<ViewSource> {
  const { ports, terminal } = invocation;
  const flags = { ...invocation.flags, archive: folder ?? invocation.flags.archive };
  const source = await openArchiveSource({ ...invocation, flags });
  const { location } = source.archive;
  const store = new ViewStore();
  const fingerprints = new Map<string, string>();
  const idsByFolder = new Map<string, string>();
  const scan = async (): Promise<void> => {
    for (const id of await sessionIds(source.archive, idsByFolder)) {
      const fingerprint = await fingerprintOf(location, id);
      if (fingerprints.get(id) === fingerprint) continue;
      const record = createArchivedRecord(id, source);
      store.add(record);
      fingerprints.set(id, fingerprint);
      if (fingerprints.size <= PRELOADED) await record.originals.load();
    }
  };
  await scan();
  if (fingerprints.size === 0) {
    if (flags.archive !== undefined) throw noSessions(location);
    terminal.warn("the archive is empty; sessions appear on the page when they are archived or send events");
  }
  return {
    store,
    async fill(stopped) {
      for (let elapsed = 0; !stopped.aborted; ) {
        await pause(Math.max(SCAN_MS, elapsed * BACKOFF), stopped);
        const start = ports.clock();
        if (!stopped.aborted) await scan().catch((error: unknown) => terminal.warn(errorMessage(error)));
        elapsed = ports.clock() - start;
      }
    },
  };
}

/** Archived sessions, and those that only wrote events; `idsByFolder` caches each folder's session id. */
async function sessionIds(archive: Archive, idsByFolder: Map<string, string>): Promise<string[]> {
  const ids = await archive.sessions();
  const keys = new Set(ids.map((id) => sessionKey(id)));
  const folders = await readdir(archive.location, { withFileTypes: true }).catch(() => []);
  for (const { name } of folders.filter((entry) => entry.isDirectory() && !keys.has(entry.name))) {
    const id = idsByFolder.get(name) ?? (await eventSessionId(join(archive.location, name, "events.jsonl")));
    if (id === undefined || sessionKey(id) !== name) continue;
    idsByFolder.set(name, id);
    ids.push(id);
  }
  return ids;
}

async function openArchiveSource(invocation: Invocation): Promise<ArchiveSource> {
  const settings = readConfig(invocation);
  const { config } = settings;
  const driver = await driverOf(invocation, settings);
  const configured = invocation.flags.model ?? config.model;
  return {
    archive: await openArchive(invocation, settings),
    counterFor: (model) => createTokenCounter({ models: config.models, model: configured ?? model }),
    keep: config.policy,
    state: async (id) => (await loadState(driver, id).catch(() => undefined))?.value,
  };
}

/** Changes with the session's files; empty if the archive is not a folder. */
async function fingerprintOf(location: string, sessionId: string): Promise<string> {
  const folder = join(location, sessionKey(sessionId));
  try {
    const files = (await readdir(folder)).map(async (name) => {
      const stats = await stat(join(folder, name));
      // Folders are skipped: reading a session writes its search index.
      return stats.isFile() ? `${name} ${stats.size} ${stats.mtimeMs}` : "";
    });
    return (await Promise.all(files)).join("\n");
  } catch {
    return "";
  }
}

function noSessions(location: string): CompactError {
  return new CompactError("NotFound", `there is no archived session in ${oneLine(location)}`, {
    place: oneLine(location),
    hint: "Name a transcript or another archive: compact view FILE, or compact view FOLDER.",
  });
}

/** Waits, at most until `stopped`. */
async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: stopped }).catch(() => undefined);
}

const HEAD_BYTES = 64 * 1024;
/** Characters; a longer line is not an event and is skipped. */
const MAX_LINE = 4_000_000;

/** True for a file whose first line is an event of Compact; the line may be longer than the bytes read. */
async function holdsEvents(path: string): Promise<boolean> {
  const line = await readFirstLine(path);
  return (
    readEventLine(line)?.name.startsWith("compact.") ?? /^\{"(?:version":\d+,")?name":"compact\./.test(line)
  );
}

/** The session of an events file; undefined if there is no such file. */
async function eventSessionId(path: string): Promise<string | undefined> {
  return readEventLine(await readFirstLine(path).catch(() => ""))?.sessionId;
}

async function readFirstLine(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString("utf8").split("\n")[0] ?? "";
  } finally {
    await file.close();
  }
}

/** An events file and the lines appended to it. */
async function eventSource({ terminal }: Invocation, name: string, path: string): Promise<ViewSource> {
  const store = new ViewStore();
  const decoder = new TextDecoder();
  let pending = "";
  let isTooLong = false;
  /** Adds the events in a chunk; returns the number of lines that are none. */
  const addChunk = (chunk: Uint8Array): number => {
    const lines = (pending + decoder.decode(chunk, { stream: true })).split("\n");
    pending = lines.pop() ?? "";
    const skipped = lines.filter((line, at) => (at === 0 && isTooLong) || !addEvent(store, line)).length;
    isTooLong = pending.length > MAX_LINE || (isTooLong && lines.length === 0);
    if (isTooLong) pending = "";
    return skipped;
  };
  return {
    store,
    async fill(stopped) {
      for (let offset = 0; !stopped.aborted; ) {
        let skipped = 0;
        // A truncated file continues at its new end.
        const { size } = await stat(path).catch(() => ({ size: offset }));
        const added = size > offset ? createReadStream(path, { start: offset, end: size - 1 }) : [];
        for await (const chunk of added) {
          if (stopped.aborted) break;
          skipped += addChunk(chunk as Uint8Array);
        }
        offset = size;
        if (skipped > 0) terminal.warn(`skipped ${plural(skipped, "line")} of ${name}: not an event`);
        await pause(SCAN_MS, stopped);
      }
    },
  };
}

/** False for a line that is not an event. */
function addEvent(store: ViewStore, line: string): boolean {
  const event = readEventLine(line);
  if (event === undefined) return line.trim() === "";
  store.eventSession(event.sessionId.slice(0, 200), line.length).add(event);
  return true;
}

/** Starts the server and prints its link. */
async function startPage({ flags, ports, terminal }: Invocation, store: ViewStore): Promise<ViewServer> {
  const server = await startViewServer({
    store,
    files: await readPageFiles(new URL("dist/page/", PACKAGE)),
    port: portOf(flags.port, 0),
    newSecret: () => randomBytes(32).toString("base64url"),
    now: ports.clock,
    onNewLink: (link) => terminal.print(["", "  A new link, for one more browser:", `  ${link}`, ""]),
  });
  const link = server.newLink();
  terminal.print([
    "",
    `  ${terminal.paint("strong", link)}`,
    "",
    "  The link works once, in one browser, on this computer. Ctrl-C stops the server.",
    terminal.paint("faint", `  Events of a running agent: COMPACT_TRACING_ARIADNE=${server.ingestUrl}`),
    "",
  ]);
  if (flags.open === true) await openInBrowser(link).catch((error: unknown) => terminal.warn(String(error)));
  return server;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens the link in the default browser; rejects with `NotFound` where the system has no opener. */
async function openInBrowser(link: string): Promise<void> {
  const [program, ...options] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...options, link], { detached: true, stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      reject(
        new CompactError("NotFound", `the browser could not be opened: ${program} was not found`, {
          hint: "Open the link yourself.",
          cause,
        }),
      );
    });
  });
  child.unref();
}
