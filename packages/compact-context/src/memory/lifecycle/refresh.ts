import type { Message } from "../../core/message.ts";
import { errorMessage, later } from "../../errors.ts";
import { retryAfter } from "../../flush/delivery.ts";
import type { TaskContext } from "../memory-task.ts";
import { lessonsOf } from "../memory-task.ts";
import { isUpdateDue, progressIn, refreshSession, type UpdateThresholds } from "../session-update/update.ts";

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
  const known = new Map<string, ReadonlySet<string>>();
  /** The newest list of sessions whose update is due. */
  const due = new Map<string, readonly Message[]>();
  const running = new Set<string>();
  let seen: ReturnType<Refresh["last"]>;

  const note = (sessionId: string, messages: readonly Message[]): void => {
    known.delete(sessionId);
    const [oldest] = known.keys();
    if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
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
      let over = false;
      let callOff = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        if (ms !== undefined) {
          // It keeps the process alive: who waits for the end of the work gets there.
          const timer = setTimeout(() => {
            over = true;
            resolve();
          }, ms);
          callOff = () => clearTimeout(timer);
        }
      });
      while (running > 0 && !over) await Promise.race([last, late]);
      callOff();
    },
    close() {
      controller.abort();
      for (const callOff of waiting.values()) callOff();
      waiting.clear();
    },
  };
}
