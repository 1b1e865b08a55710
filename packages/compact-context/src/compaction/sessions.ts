import type { Redactor } from "../redaction/redactor.ts";
import type { Fence } from "../storage/shared.ts";
import { messageOf } from "./announce.ts";
import { isError } from "./failures.ts";
import { currentState } from "./next-state.ts";
import { type LiveSession, newSession } from "./session.ts";
import type { SessionState } from "./state.ts";
import type { Store } from "./store.ts";

/** Sessions kept in memory; the one longest unused is forgotten first and comes back from its stored state. */
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
  /** As it is in memory; where workers share the storage, as it is stored. */
  get(sessionId: string): Promise<LiveSession>;
  /** True when somebody else stored a newer state than the session in memory has. */
  isOutdated(session: LiveSession): Promise<boolean>;
  ids(): readonly string[];
  /** Drops what is in memory: the stored state counts. */
  forget(sessionId: string): void;
  /** Makes a state durable; rejects with `Conflict` when somebody else was quicker. */
  save(session: LiveSession, state: SessionState, fence?: Fence): Promise<string>;
  /** Stores what a session learnt since it was stored last; warns where that fails. */
  keep(sessionId: string): Promise<void>;
}

export function createSessions(ports: SessionsPorts): Sessions {
  const live = new Map<string, LiveSession>();
  const forget = (sessionId: string): void => {
    live.delete(sessionId);
    ports.forgotten(sessionId);
  };
  const save: Sessions["save"] = async (session, state, fence) => {
    const { states } = await ports.open();
    // The stored summary has secrets taken out; the one in memory is what the list holds.
    const summary = ports.redactor.redactValue(state.summary) as SessionState["summary"];
    const seenAt = new Date(session.seenAt ?? ports.now().getTime()).toISOString();
    const stored = { ...state, summary, seenAt };
    return (await states.save(session.id, stored, session.storedVersion, fence)).version;
  };
  return {
    peek: (sessionId) => live.get(sessionId),
    ids: () => [...live.keys()],
    forget,
    save,
    async get(sessionId) {
      const known = live.get(sessionId);
      const store = await ports.open();
      if (known !== undefined && !(await store.sharing.isStale(known))) {
        live.delete(sessionId);
        live.set(sessionId, known);
        return known;
      }
      if (known !== undefined) forget(sessionId);
      const session = await loaded(sessionId, store, ports);
      const oldest = live.keys().next();
      if (live.size >= MAX_SESSIONS && oldest.done !== true) forget(oldest.value);
      live.set(sessionId, session);
      return session;
    },
    async isOutdated({ id, storedVersion }) {
      const stored = await (await ports.open()).states.load(id);
      return (stored?.version ?? null) !== storedVersion;
    },
    async keep(sessionId) {
      const session = live.get(sessionId);
      // The state of a history that was left behind is still good for it, and dear: the list may come back to it.
      if (session === undefined || session.leftBehind) return;
      if (session.log.length === session.state.log.length) return;
      const state = currentState(session, session.counterId);
      try {
        session.storedVersion = await save(session, state);
        session.state = state;
      } catch (error) {
        // Somebody else went on with the session: what they stored counts.
        if (isError(error, "Conflict")) forget(sessionId);
        else ports.warn(`the state of session ${session.id} could not be stored: ${messageOf(error)}`);
      }
    },
  };
}

async function loaded(
  sessionId: string,
  store: Store,
  ports: Pick<SessionsPorts, "warn">,
): Promise<LiveSession> {
  const session = newSession(sessionId);
  const stored = await store.states.load(sessionId);
  if (stored === undefined) return session;
  session.state = stored.value;
  session.storedVersion = stored.version;
  const seenAt = Date.parse(stored.value.seenAt ?? "");
  session.seenAt = Number.isNaN(seenAt) ? undefined : seenAt;
  try {
    await store.completeArchive(sessionId, stored.value);
  } catch (error) {
    ports.warn(`a summary of session ${sessionId} is missing in the archive: ${messageOf(error)}`);
  }
  return session;
}
