import type { Message } from "../../core/message.ts";
import { lessonsOf } from "../lessons.ts";
import type { TaskContext } from "../memory-task.ts";
import { isUpdateDue, progressIn, type UpdateThresholds } from "../session-update/due.ts";
import { refreshSession } from "../session-update/update.ts";
import type { Lane } from "./lane.ts";

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
