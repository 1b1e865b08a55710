import { createHash, randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../core/message.ts";
import { createKeyedMutex, createLruMap, errorMessage, hasCode, later } from "../../errors.ts";
import { retryAfter } from "../../flush/delivery.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";
import { WORK_FOLDER } from "../changes/store.ts";
import { consolidate } from "../consolidation/llm.ts";
import { upkeep } from "../consolidation/upkeep.ts";
import { createFile, readMemoryFile, takeClaim, writeMemoryFile } from "../files/write-file.ts";
import { lessonsOf, type TaskContext, tellable } from "../memory-task.ts";
import { isUpdateDue, progressIn, refreshSession, type UpdateThresholds } from "../session-update/update.ts";

/** Takes messages in that leave a conversation, each once. */
export interface Intake {
  /** Takes them in now, by program or model; rejects when that failed, with nothing taken in. */
  now(
    sessionId: string,
    messages: readonly Message[],
    signal?: AbortSignal,
  ): Promise<"written" | "unchanged">;
  /** Puts them on disk first, then takes them in beside the run, again after a failure. */
  beside(sessionId: string, messages: readonly Message[]): Promise<"unchanged" | "in_background">;
  /** Takes in what earlier processes left on disk. */
  resume(): Promise<void>;
}

export function createIntake(
  channelDir: string,
  redactor: Pick<Redactor, "redactValue">,
  { context, lane }: { readonly context: TaskContext; readonly lane: Lane },
): Intake {
  const [taken, pending] = [createTaken(channelDir), createPending(channelDir, redactor)];
  // A compaction that did not wait any longer and the hook behind it may come with the same messages.
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

// ---- what waits

/** Messages that wait to be taken in. */
interface PendingRange {
  readonly id: string;
  readonly sessionId: string;
  readonly messages: readonly Message[];
}

/** Ranges on disk: they outlive the process that was to take them in. */
interface Pending {
  /** Durable when it resolves, secrets taken out. */
  add(sessionId: string, messages: readonly Message[]): Promise<PendingRange>;
  all(): Promise<readonly PendingRange[]>;
  /**
   * Takes a range in with `work`, after which it waits no more; it does after a rejection. Nothing where somebody else is
   * at it, of this process or another one, or was.
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
      // Left by a process that ended between its range and its claim.
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

/** None for a file that cannot be read: it was never finished, and its messages are in the archive. */
async function readRange(folder: string, id: string): Promise<PendingRange[]> {
  const text = (await readMemoryFile(join(folder, id)).catch(() => undefined))?.text ?? "";
  const range = parsedJson(text) as Omit<PendingRange, "id"> | undefined;
  return Array.isArray(range?.messages) ? [{ ...range, id }] : [];
}

// ---- what was taken in

/** The newest so many are remembered; what is older is told apart by what it says. */
const MOST = 5_000;
const MOST_CONFLICTS = 6;

/** Which messages a channel's memory took in, so that none is taken in twice; kept in its work folder, across processes. */
function createTaken(channelDir: string) {
  const path = join(channelDir, WORK_FOLDER, "taken.json");
  const read = async (): Promise<{ readonly keys: readonly string[]; readonly version: string | null }> => {
    const file = await readMemoryFile(path);
    return { keys: keysIn(file?.text), version: file?.version ?? null };
  };
  return {
    /** Those of the messages that were not taken in yet. */
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

/** A file that is broken forgets: what it knew may be taken in again, which adds nothing. */
function keysIn(text: string | undefined): readonly string[] {
  const { taken } = (parsedJson(text ?? "") ?? {}) as { readonly taken?: unknown };
  return Array.isArray(taken) ? taken.filter((key) => typeof key === "string") : [];
}

function keyOf(sessionId: string, { id }: Message): string {
  return createHash("sha256").update(`${sessionId}\n${id}`, "utf8").digest("base64url").slice(0, 12);
}

/** Keeps SESSION.md up to date. */
export interface Refresh {
  /** Begins an update beside the run where one is due; true when it did. */
  afterTurn(
    sessionId: string,
    messages: readonly Message[],
    steered: boolean,
    ready: () => Promise<void>,
  ): boolean;
  /** An update by program, at once. */
  now(sessionId: string, messages: readonly Message[]): Promise<"written" | "unchanged">;
  /** An update beside the run, until it succeeds. */
  later(sessionId: string, messages: readonly Message[]): void;
  /** The next list of the session begins anew. */
  forget(sessionId: string): void;
  /** What was seen last. */
  last(): { readonly sessionId: string; readonly messages: readonly Message[] } | undefined;
}

export interface RefreshPorts {
  /** Without a model: quick enough to be waited for. */
  readonly program: TaskContext;
  readonly context: TaskContext;
  readonly lane: Lane;
  readonly thresholds: UpdateThresholds;
}

/** Sessions whose last update is remembered, the newest of them; the next list of any other is looked at as a whole. */
const MOST_KNOWN = 8;

export function createRefresh({ program, context, lane, thresholds }: RefreshPorts): Refresh {
  /** By session the messages that its last update knew. */
  const known = createLruMap<ReadonlySet<string>>(MOST_KNOWN);
  /** The newest list of sessions whose update is due. */
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

/** What came after the newest message that is known. */
function newsIn(messages: readonly Message[], known: ReadonlySet<string> | undefined): readonly Message[] {
  if (known === undefined) return messages;
  return messages.slice(messages.findLastIndex(({ id }) => known.has(id)) + 1);
}

/** Work beside the run: one piece at a time, each again later when it fails. */
export interface Lane {
  /** Begins behind what is there; resolves with what the work gives, rejects when it fails. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Does it now or later, until it succeeds; a newer work of the same name takes the place of one that waits. */
  keepTrying(name: string, work: (signal: AbortSignal) => Promise<unknown>): void;
  /** Resolves when nothing runs, or after `ms`; what waits for another try does not count. */
  idle(ms?: number): Promise<void>;
  /** No other try begins, and what runs is told by its signal to make an end. */
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
      // The timer keeps the process alive: whoever waits for the end of the work gets there.
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
