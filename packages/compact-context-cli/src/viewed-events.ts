import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Invocation } from "./flags.ts";
import { changesOf } from "./view/changes.ts";
import { readEventLine } from "./view/event-reader.ts";
import { createViewStore, type ViewStore } from "./view/view-store.ts";
import type { Viewed } from "./view-page.ts";

const HEAD_BYTES = 64 * 1024;
const PIECE_BYTES = 256 * 1024;
/** A longer line is no event: it is left out, and counted. */
const LONGEST_LINE = 4_000_000;
const LOOK_EVERY_MS = 500;

/** True for a file whose first line is an event of ours. */
export async function holdsEvents(name: string, cwd: string): Promise<boolean> {
  const line = await firstLineOf(resolve(cwd, name));
  return (
    readEventLine(line)?.name.startsWith("compact.") ?? /^\{"(?:version":\d+,")?name":"compact\./.test(line)
  );
}

/** The session that a file of events is about; undefined where there is no such file. */
export async function sessionTold(path: string): Promise<string | undefined> {
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
export async function viewedEvents({ ports, terminal }: Invocation, name: string): Promise<Viewed> {
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
        await changes.next(LOOK_EVERY_MS);
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
