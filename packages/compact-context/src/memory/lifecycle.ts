import { createHash, randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../core/message.ts";
import { createKeyedMutex, createLruMap, errorMessage, hasCode, later } from "../errors.ts";
import { retryAfter } from "../flush/flush.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { parsedJson } from "../summarizers/extractive/text.ts";
import { WORK_FOLDER } from "./changes/store.ts";
import { consolidate } from "./consolidation/consolidate.ts";
import { upkeep } from "./consolidation/upkeep.ts";
import { claimed, createFile, readMemoryFile, writeMemoryFile } from "./files/write-file.ts";
import { lessonsOf, type TaskContext, tellable } from "./memory-task.ts";
import { isUpdateDue, refreshSession, type UpdateThresholds } from "./session-update/update.ts";

/** Consolidates messages that leave a conversation, each once. */
export interface Intake {
  /** Consolidates now, with or without a model. Rejects on failure, with nothing recorded as consolidated. */
  now(
    sessionId: string,
    messages: readonly Message[],
    signal?: AbortSignal,
  ): Promise<"written" | "unchanged">;
  /** Saves the messages to disk, without secrets, then consolidates in the background, with retries. */
  beside(sessionId: string, messages: readonly Message[]): Promise<"unchanged" | "in_background">;
  /** Consolidates what earlier processes left on disk. */
  resume(): Promise<void>;
}

export function createIntake(
  channelDir: string,
  redactor: Pick<Redactor, "redactValue">,
  context: TaskContext,
  lane: Lane,
): Intake {
  const pending = join(channelDir, WORK_FOLDER, "pending");
  const taken = join(channelDir, WORK_FOLDER, "taken.json");
  // A compaction that stopped waiting and the hook after it may deliver the same messages.
  const inTurn = createKeyedMutex();
  const now: Intake["now"] = async (sessionId, messages, signal) => {
    const lessons = lessonsOf(messages);
    if (lessons.length === 0) return "unchanged";
    return inTurn("intake", async () => {
      const fresh = await freshIn(taken, sessionId, lessons);
      if (fresh.length === 0) return "unchanged";
      const result = await consolidate({ sessionId, messages: fresh }, context, signal);
      await addTaken(taken, sessionId, fresh);
      if (result === "written") lane.keepTrying("the upkeep of the memory", (stop) => upkeep(context, stop));
      return result;
    });
  };
  /** Work that rejects leaves the range on disk; another worker's range, and one that is done, are left alone. */
  const take = ({ id, sessionId, messages }: PendingRange): void => {
    const path = join(pending, id);
    lane.keepTrying(`taking messages in (${id.slice(0, 8)})`, (signal) =>
      claimed(`${path}${CLAIM}`, async () => {
        if ((await readMemoryFile(path)) === undefined) return;
        await now(sessionId, messages, signal);
        await rm(path, { force: true });
      }),
    );
  };
  return {
    now,
    async beside(sessionId, messages) {
      const fresh = await freshIn(taken, sessionId, lessonsOf(messages));
      if (fresh.length === 0) return "unchanged";
      const plain = fresh.map(({ native: _native, format: _format, ...message }) => message);
      const safe = tellable(redactor.redactValue(plain) as readonly Message[], () => false, "wishes");
      const range = { id: `${randomUUID()}.json`, sessionId, messages: safe };
      await createFile(join(pending, range.id), JSON.stringify({ sessionId, messages: safe }));
      take(range);
      return "in_background";
    },
    async resume() {
      for (const range of await rangesIn(pending)) take(range);
    },
  };
}

/** Messages on disk that wait to be consolidated: they outlive the process that was to do it. */
interface PendingRange {
  readonly id: string;
  readonly sessionId: string;
  readonly messages: readonly Message[];
}

const CLAIM = ".claim";

async function rangesIn(folder: string): Promise<readonly PendingRange[]> {
  const names = await readdir(folder).catch((): string[] => []);
  // Left by a process that ended after removing its range and before releasing its claim.
  const done = names.filter((name) => name.endsWith(CLAIM) && !names.includes(name.slice(0, -CLAIM.length)));
  await Promise.all(done.map((name) => rm(join(folder, name), { force: true })));
  const read = names
    .filter((name) => name.endsWith(".json"))
    .map(async (id): Promise<PendingRange[]> => {
      // A file that cannot be read was never finished, and its messages are in the archive.
      const text = (await readMemoryFile(join(folder, id)).catch(() => undefined))?.text ?? "";
      const range = parsedJson(text) as Omit<PendingRange, "id"> | undefined;
      return Array.isArray(range?.messages) ? [{ ...range, id }] : [];
    });
  return (await Promise.all(read)).flat();
}

/** Number of newest keys kept. Older messages may be consolidated again, which adds nothing. */
const MOST_TAKEN = 5_000;
const MOST_CONFLICTS = 6;

/** The keys of consolidated messages. A broken file counts as empty. */
async function takenIn(path: string) {
  const file = await readMemoryFile(path);
  const { taken } = (parsedJson(file?.text ?? "") ?? {}) as { readonly taken?: unknown };
  const keys = Array.isArray(taken) ? taken.filter((key) => typeof key === "string") : [];
  return { keys, ifVersion: file?.version ?? null };
}

async function freshIn(
  path: string,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const known = new Set((await takenIn(path)).keys);
  return messages.filter((message) => !known.has(keyOf(sessionId, message)));
}

/** All processes share the file. */
async function addTaken(path: string, sessionId: string, messages: readonly Message[]): Promise<void> {
  const added = messages.map((message) => keyOf(sessionId, message));
  for (let attempt = 1; ; attempt += 1) {
    const { keys, ifVersion } = await takenIn(path);
    const taken = [...new Set([...keys, ...added])].slice(-MOST_TAKEN);
    try {
      await writeMemoryFile(path, `${JSON.stringify({ taken })}\n`, { ifVersion });
      return;
    } catch (error) {
      if (!hasCode(error, "Conflict") || attempt === MOST_CONFLICTS) throw error;
    }
  }
}

function keyOf(sessionId: string, { id }: Message): string {
  return createHash("sha256").update(`${sessionId}\n${id}`, "utf8").digest("base64url").slice(0, 12);
}

/** Keeps SESSION.md up to date. */
export interface Refresh {
  /** Starts a background update if one is due; true if it did. */
  afterTurn(
    sessionId: string,
    messages: readonly Message[],
    steered: boolean,
    ready: () => Promise<void>,
  ): boolean;
  /** Updates at once, without a model. */
  now(sessionId: string, messages: readonly Message[]): Promise<"written" | "unchanged">;
  /** Updates in the background, with retries until it succeeds. */
  later(sessionId: string, messages: readonly Message[]): void;
  /** Forgets the session: its next list starts fresh. */
  forget(sessionId: string): void;
  /** The most recent session and its messages. */
  last(): { readonly sessionId: string; readonly messages: readonly Message[] } | undefined;
}

/** Number of sessions whose last update is remembered. For others the whole next list counts as new. */
const MOST_KNOWN = 8;

export function createRefresh(context: TaskContext, lane: Lane, thresholds: UpdateThresholds): Refresh {
  /** By session: ids of the messages at its last update. */
  const known = createLruMap<ReadonlySet<string>>(MOST_KNOWN);
  /** The newest list of each session whose update is due. */
  const due = new Map<string, readonly Message[]>();
  const running = new Set<string>();
  let seen: ReturnType<Refresh["last"]>;

  const note = (sessionId: string, messages: readonly Message[]): void => {
    known.set(sessionId, new Set(messages.map(({ id }) => id)));
  };
  const begin = (sessionId: string, ready: () => Promise<void>): void => {
    running.add(sessionId);
    lane.keepTrying(`the update of SESSION.md (${sessionId})`, async (signal) => {
      running.add(sessionId);
      try {
        const messages = due.get(sessionId);
        if (messages === undefined) return;
        await ready();
        await refreshSession(messages, context, signal);
        note(sessionId, messages);
        if (due.get(sessionId) === messages) due.delete(sessionId);
      } finally {
        running.delete(sessionId);
      }
    });
  };
  return {
    afterTurn(sessionId, messages, steered, ready) {
      seen = { sessionId, messages };
      const news = lessonsOf(newsIn(messages, known.get(sessionId)));
      if (!steered && !due.has(sessionId) && !isUpdateDue(news, thresholds)) return false;
      due.set(sessionId, messages);
      if (running.has(sessionId)) return false;
      begin(sessionId, ready);
      return true;
    },
    async now(sessionId, messages) {
      seen = { sessionId, messages };
      // Without a model it is fast enough to await.
      const result = await refreshSession(messages, { ...context, sidecar: undefined });
      note(sessionId, messages);
      due.delete(sessionId);
      return result;
    },
    later(sessionId, messages) {
      due.set(sessionId, messages);
      if (!running.has(sessionId)) begin(sessionId, async () => undefined);
    },
    forget(sessionId) {
      known.delete(sessionId);
      due.delete(sessionId);
      seen = undefined;
    },
    last: () => seen,
  };
}

/** The messages after the newest known one. */
function newsIn(messages: readonly Message[], known: ReadonlySet<string> | undefined): readonly Message[] {
  if (known === undefined) return messages;
  return messages.slice(messages.findLastIndex(({ id }) => known.has(id)) + 1);
}

/** Background work: one task at a time, retried later if it fails. */
export interface Lane {
  /** Queues the work; resolves with its result or rejects with its error. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Runs the work until it succeeds; newer work replaces waiting work of the same name. */
  keepTrying(name: string, work: (signal: AbortSignal) => Promise<unknown>): void;
  /** Resolves when nothing runs, or after `ms`; work waiting for a retry does not count. */
  idle(ms?: number): Promise<void>;
  /** Starts no further retry and aborts the signal of running work. */
  close(): void;
}

export function createLane(warn: (message: string) => void): Lane {
  const controller = new AbortController();
  const waiting = new Map<string, () => void>();
  let last: Promise<unknown> = Promise.resolve();
  let running = 0;

  const run = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    running += 1;
    const next = last.then(() => work(controller.signal));
    const settled = (): void => {
      running -= 1;
    };
    last = next.then(settled, settled);
    return next;
  };

  const attempt = (name: string, work: (signal: AbortSignal) => Promise<unknown>, attempts: number): void => {
    waiting.get(name)?.();
    waiting.delete(name);
    run(work).catch((error: unknown) => {
      if (controller.signal.aborted) return;
      if (attempts === 0) warn(`${name} failed and is tried again: ${errorMessage(error)}`);
      if (!waiting.has(name))
        waiting.set(
          name,
          later(retryAfter(attempts), () => attempt(name, work, attempts + 1)),
        );
    });
  };

  return {
    run,
    keepTrying: (name, work) => attempt(name, work, 0),
    async idle(ms) {
      const over = new AbortController();
      // The timer keeps the process alive, so the wait always ends.
      const late = ms === undefined ? [] : [sleep(ms, true, { signal: over.signal }).catch(() => true)];
      let isLate = false;
      while (running > 0 && !isLate) isLate = (await Promise.race([last, ...late])) === true;
      over.abort();
    },
    close() {
      controller.abort();
      for (const callOff of waiting.values()) callOff();
      waiting.clear();
    },
  };
}
