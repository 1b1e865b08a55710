import type { Redactor } from "../redaction/redactor.ts";
import { messageOf } from "./announce.ts";
import { currentState } from "./next-state.ts";
import { type LiveSession, newSession } from "./session.ts";
import type { SessionState } from "./state.ts";
import type { Store } from "./store.ts";

/** Sessions kept in memory; the oldest is forgotten first and comes back from its stored state. */
const MAX_SESSIONS = 256;

export interface SessionsPorts {
  open(): Promise<Store>;
  readonly redactor: Redactor;
  now(): Date;
  warn(message: string): void;
  /** Hears of sessions that left memory. */
  forgotten(sessionId: string): void;
}

/** The sessions in memory, each loaded from its stored state when it is first asked for. */
export interface Sessions {
  /** Undefined for one that is not in memory. */
  peek(sessionId: string): LiveSession | undefined;
  get(sessionId: string): Promise<LiveSession>;
  ids(): readonly string[];
  /** Drops what is in memory: the stored state counts. */
  forget(sessionId: string): void;
  /** Makes a state durable; rejects with `Conflict` when somebody else was quicker. */
  save(session: LiveSession, state: SessionState): Promise<string>;
  /** Stores what a session learnt since it was stored last; warns where that fails. */
  keep(sessionId: string): Promise<void>;
}

export function createSessions(ports: SessionsPorts): Sessions {
  const live = new Map<string, LiveSession>();
  const forget = (sessionId: string): void => {
    live.delete(sessionId);
    ports.forgotten(sessionId);
  };
  const save = async (session: LiveSession, state: SessionState): Promise<string> => {
    const { states } = await ports.open();
    // The stored summary has secrets taken out; the one in memory is what the list holds.
    const summary = ports.redactor.redactValue(state.summary) as SessionState["summary"];
    const seenAt = new Date(session.seenAt ?? ports.now().getTime()).toISOString();
    return (await states.save(session.id, { ...state, summary, seenAt }, session.storedVersion)).version;
  };
  return {
    peek: (sessionId) => live.get(sessionId),
    ids: () => [...live.keys()],
    forget,
    save,
    async get(sessionId) {
      const known = live.get(sessionId);
      if (known !== undefined) return known;
      const session = await loaded(sessionId, await ports.open());
      const oldest = live.keys().next();
      if (live.size >= MAX_SESSIONS && oldest.done !== true) forget(oldest.value);
      live.set(sessionId, session);
      return session;
    },
    async keep(sessionId) {
      const session = live.get(sessionId);
      if (session === undefined || session.log.length === session.state.log.length) return;
      const state = currentState(session, session.counterId);
      try {
        session.storedVersion = await save(session, state);
        session.state = state;
      } catch (error) {
        ports.warn(`the state of session ${session.id} could not be stored: ${messageOf(error)}`);
      }
    },
  };
}

async function loaded(sessionId: string, store: Store): Promise<LiveSession> {
  const session = newSession(sessionId);
  const stored = await store.states.load(sessionId);
  if (stored === undefined) return session;
  session.state = stored.value;
  session.storedVersion = stored.version;
  const seenAt = Date.parse(stored.value.seenAt ?? "");
  session.seenAt = Number.isNaN(seenAt) ? undefined : seenAt;
  return session;
}
