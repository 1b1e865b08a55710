import { createHash, randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../core/message.ts";
import { createKeyedMutex, createLruMap, errorMessage, hasCode, later } from "../../errors.ts";
import { retryAfter } from "../../flush/flush.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";
import { WORK_FOLDER } from "../changes/store.ts";
import { consolidate } from "../consolidation/llm.ts";
import { upkeep } from "../consolidation/upkeep.ts";
import { createFile, readMemoryFile, takeClaim, writeMemoryFile } from "../files/write-file.ts";
import { lessonsOf, type TaskContext, tellable } from "../memory-task.ts";
import { isUpdateDue, progressIn, refreshSession, type UpdateThresholds } from "../session-update/update.ts";

/** Consolidates messages that leave a conversation, each once. */
export interface Intake {
  /** Consolidates now, with or without a model. Rejects on failure, with nothing recorded as consolidated. */
  now(
    sessionId: string,
    messages: readonly Message[],
    signal?: AbortSignal,
  ): Promise<"written" | "unchanged">;
  /** Saves the messages to disk, then consolidates in the background, with retries. */
  beside(sessionId: string, messages: readonly Message[]): Promise<"unchanged" | "in_background">;
  /** Consolidates what earlier processes left on disk. */
  resume(): Promise<void>;
}

export function createIntake(
  channelDir: string,
  redactor: Pick<Redactor, "redactValue">,
  { context, lane }: { readonly context: TaskContext; readonly lane: Lane },
): Intake {
  const [taken, pending] = [createTaken(channelDir), createPending(channelDir, redactor)];
  // A compaction that stopped waiting and the hook after it may deliver the same messages.
  const inTurn = createKeyedMutex();
  const takeIn: Intake["now"] = async (sessionId, lessons, signal) => {
    const fresh = await taken.fresh(sessionId, lessons);
    if (fresh.length === 0) return "unchanged";
    const result = await consolidate({ sessionId, messages: fresh }, context, signal);
    await taken.add(sessionId, fresh);
    if (result === "written") lane.keepTrying("the upkeep of the memory", (stop) => upkeep(context, stop));
    return result;
  };
  const now: Intake["now"] = async (sessionId, messages, signal) => {
    const lessons = lessonsOf(messages);
    if (lessons.length === 0) return "unchanged";
    return inTurn("intake", () => takeIn(sessionId, lessons, signal));
  };
  const take = (range: PendingRange): void => {
    lane.keepTrying(`taking messages in (${range.id.slice(0, 8)})`, (signal) =>
      pending.takeIn(range, () => now(range.sessionId, range.messages, signal)),
    );
  };
  return {
    now,
    async beside(sessionId, messages) {
      const fresh = await taken.fresh(sessionId, lessonsOf(messages));
      if (fresh.length === 0) return "unchanged";
      take(await pending.add(sessionId, fresh));
      return "in_background";
    },
    async resume() {
      for (const range of await pending.all()) take(range);
    },
  };
}

// ---- pending messages

/** Messages waiting to be consolidated. */
interface PendingRange {
  readonly id: string;
  readonly sessionId: string;
  readonly messages: readonly Message[];
}

/** Pending ranges on disk: they outlive the process that was to consolidate them. */
interface Pending {
  /** Durable when it resolves; secrets are redacted. */
  add(sessionId: string, messages: readonly Message[]): Promise<PendingRange>;
  all(): Promise<readonly PendingRange[]>;
  /**
   * Consolidates a range with `work`, then removes it. If `work` rejects, the range stays pending. A no-op if
   * another worker, in this process or another, is processing the range or has done so.
   */
  takeIn(range: PendingRange, work: () => Promise<unknown>): Promise<void>;
}

const CLAIM = ".claim";

export function createPending(channelDir: string, redactor: Pick<Redactor, "redactValue">): Pending {
  const folder = join(channelDir, WORK_FOLDER, "pending");
  return {
    async add(sessionId, messages) {
      const plain = messages.map(({ native: _native, format: _format, ...message }) => message);
      const safe = tellable(redactor.redactValue(plain) as readonly Message[], () => false, "wishes");
      const range = { id: `${randomUUID()}.json`, sessionId, messages: safe };
      await createFile(join(folder, range.id), JSON.stringify({ sessionId, messages: safe }));
      return range;
    },
    async all() {
      const names = await readdir(folder).catch((): string[] => []);
      // Left by a process that ended after removing its range and before releasing its claim.
      const done = names.filter(
        (name) => name.endsWith(CLAIM) && !names.includes(name.slice(0, -CLAIM.length)),
      );
      await Promise.all(done.map((name) => rm(join(folder, name), { force: true })));
      const read = names.filter((name) => name.endsWith(".json")).map((name) => readRange(folder, name));
      return (await Promise.all(read)).flat();
    },
    async takeIn({ id }, work) {
      const path = join(folder, id);
      const taken = await takeClaim(`${path}${CLAIM}`, { fromItself: false });
      if ("owner" in taken) return;
      const stopKeeping = taken.claim.keep();
      try {
        if ((await readMemoryFile(path)) === undefined) return;
        await work();
        await rm(path, { force: true });
      } finally {
        stopKeeping();
        await taken.claim.release();
      }
    },
  };
}

/** Empty for a file that cannot be read: it was never finished, and its messages are in the archive. */
async function readRange(folder: string, id: string): Promise<PendingRange[]> {
  const text = (await readMemoryFile(join(folder, id)).catch(() => undefined))?.text ?? "";
  const range = parsedJson(text) as Omit<PendingRange, "id"> | undefined;
  return Array.isArray(range?.messages) ? [{ ...range, id }] : [];
}

// ---- consolidated messages

/** Number of newest keys kept. Older messages may be consolidated again, which adds nothing. */
const MOST = 5_000;
const MOST_CONFLICTS = 6;

/**
 * Records which messages a channel's memory has consolidated, so that none is consolidated twice. Stored in
 * the work folder, shared by all processes.
 */
function createTaken(channelDir: string) {
  const path = join(channelDir, WORK_FOLDER, "taken.json");
  const read = async (): Promise<{ readonly keys: readonly string[]; readonly version: string | null }> => {
    const file = await readMemoryFile(path);
    return { keys: keysIn(file?.text), version: file?.version ?? null };
  };
  return {
    /** The messages that are not consolidated yet. */
    async fresh(sessionId: string, messages: readonly Message[]): Promise<readonly Message[]> {
      const known = new Set((await read()).keys);
      return messages.filter((message) => !known.has(keyOf(sessionId, message)));
    },
    async add(sessionId: string, messages: readonly Message[]): Promise<void> {
      const added = messages.map((message) => keyOf(sessionId, message));
      for (let attempt = 1; ; attempt += 1) {
        const { keys, version } = await read();
        const all = [...new Set([...keys, ...added])].slice(-MOST);
        try {
          await writeMemoryFile(path, `${JSON.stringify({ taken: all })}\n`, { ifVersion: version });
          return;
        } catch (error) {
          if (!hasCode(error, "Conflict") || attempt === MOST_CONFLICTS) throw error;
        }
      }
    },
  };
}

/** A broken file counts as empty: its messages may be consolidated again, which adds nothing. */
function keysIn(text: string | undefined): readonly string[] {
  const { taken } = (parsedJson(text ?? "") ?? {}) as { readonly taken?: unknown };
  return Array.isArray(taken) ? taken.filter((key) => typeof key === "string") : [];
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

export interface RefreshPorts {
  /** Without a model: fast enough to await. */
  readonly program: TaskContext;
  readonly context: TaskContext;
  readonly lane: Lane;
  readonly thresholds: UpdateThresholds;
}

/** Number of sessions whose last update is remembered. For others the whole next list counts as new. */
const MOST_KNOWN = 8;

export function createRefresh({ program, context, lane, thresholds }: RefreshPorts): Refresh {
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
      if (!steered && !due.has(sessionId) && !isUpdateDue(progressIn(news), thresholds)) return false;
      due.set(sessionId, messages);
      if (running.has(sessionId)) return false;
      begin(sessionId, ready);
      return true;
    },
    async now(sessionId, messages) {
      seen = { sessionId, messages };
      const result = await refreshSession(messages, program);
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
    last = next
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        running -= 1;
      });
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
