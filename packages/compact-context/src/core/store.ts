import { abortError, CompactError, errorMessage, hasCode, later } from "../errors.ts";
import { type ArchiveStore, archiveFiles, conflict, sessionKey } from "./archive.ts";
import type { Fence, Leases, Redaction, StorageDriver } from "./ports.ts";
import { Session } from "./session.ts";
import { readState, type SessionState, writeState } from "./view.ts";

// The sessions of a manager: in memory while they are used, their state stored so that a later process resumes them.

/** Where a manager keeps what leaves the prompt. */
export interface Store {
  readonly archive: ArchiveStore;
  /** The medium of the archive, and that of the session states. */
  readonly archiveDriver: StorageDriver;
  readonly stateDriver: StorageDriver;
}

/** A stored state with its version. */
export interface StoredState {
  readonly value: SessionState;
  readonly version: string;
}

/** Nothing for a session never saved; rejects with `StorageFailed` when what is stored cannot be read. */
export async function loadState(driver: StorageDriver, sessionId: string): Promise<StoredState | undefined> {
  const key = stateKey(sessionId);
  const stored = await driver.get(key);
  if (stored === undefined) return undefined;
  const place = `${driver.location}/${key}`;
  try {
    return { value: readState(stored.value, place), version: stored.version };
  } catch (cause) {
    if (CompactError.isInstance(cause)) throw cause;
    const problem = `the stored state of the session is damaged: ${errorMessage(cause)}`;
    throw new CompactError("StorageFailed", problem, {
      place,
      hint: "Move the file away to start the session anew: its archived transcripts stay readable.",
      cause,
    });
  }
}

function stateKey(sessionId: string): string {
  return archiveFiles.state(sessionKey(sessionId));
}

export interface SessionsOptions {
  open(): Promise<Store>;
  readonly redaction: Redaction;
  /** Names this worker among those that share the storage. */
  readonly worker: string;
  now(): Date;
  warn(message: string): void;
  /** Called with each session that leaves memory. */
  onForget(sessionId: string): void;
}

/** The sessions in memory, each loaded from its stored state when it is first asked for. */
export interface Sessions {
  /** Undefined for one that is not in memory. */
  peek(sessionId: string): Session | undefined;
  /** As it is in memory; where workers share the storage, as it is stored. */
  get(sessionId: string): Promise<Session>;
  /** True when another worker stored a newer state than the session in memory has. */
  isOutdated(session: Session): Promise<boolean>;
  ids(): readonly string[];
  /** Drops what is in memory: the stored state counts. */
  forget(sessionId: string): void;
  /** Makes a state durable; rejects with `Conflict` when another worker was quicker. */
  save(session: Session, state: SessionState, fence?: Fence): Promise<string>;
  /** Stores what a session learnt since it was stored last; warns where that fails. */
  keep(sessionId: string): Promise<void>;
  /**
   * Runs `work` while no other worker compacts the session; rejects with `Conflict` when one did before its turn came,
   * and with `Aborted` when the signal is. A medium without leases notices by the version who wrote last.
   */
  runAlone<T>(
    session: Session,
    work: (fence: Fence | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T>;
}

/** Sessions kept in memory; the one longest unused is forgotten first and comes back from its stored state. */
const MAX_SESSIONS = 256;

export function createSessions(options: SessionsOptions): Sessions {
  const { open, redaction, worker, now, warn } = options;
  const live = new Map<string, Session>();
  const forget = (sessionId: string): void => {
    live.delete(sessionId);
    options.onForget(sessionId);
  };
  const isStale = async ({ id, storedVersion }: Session): Promise<boolean> => {
    const { stateDriver } = await open();
    return ((await stateDriver.version(stateKey(id))) ?? null) !== storedVersion;
  };
  const save: Sessions["save"] = async (session, state, fence) => {
    const { stateDriver } = await open();
    // The stored summary has its secrets removed; the one in memory is what the list holds.
    const summary = redaction.redactValue(state.summary) as SessionState["summary"];
    const seenAt = new Date(session.seenAt ?? now().getTime()).toISOString();
    const value = writeState({ ...state, summary, seenAt });
    const put = { ifVersion: session.storedVersion, fence };
    return (await stateDriver.put(stateKey(session.id), value, put)).version;
  };
  return {
    peek: (sessionId) => live.get(sessionId),
    ids: () => [...live.keys()],
    forget,
    save,
    isOutdated: async (session) => {
      const stored = await loadState((await open()).stateDriver, session.id);
      return (stored?.version ?? null) !== session.storedVersion;
    },
    async get(sessionId) {
      const known = live.get(sessionId);
      const store = await open();
      if (known !== undefined && (store.stateDriver.leases === undefined || !(await isStale(known)))) {
        live.delete(sessionId);
        live.set(sessionId, known);
        return known;
      }
      if (known !== undefined) forget(sessionId);
      const session = await restore(sessionId, store, warn);
      const oldest = live.keys().next();
      if (live.size >= MAX_SESSIONS && oldest.done !== true) forget(oldest.value);
      live.set(sessionId, session);
      return session;
    },
    async keep(sessionId) {
      const session = live.get(sessionId);
      // The state of a history that was left behind still holds for it: the list may come back to it.
      if (session?.context === undefined || session.leftBehind || !session.hasLearnt()) return;
      const state = session.resumableState();
      try {
        session.storedVersion = await save(session, state);
        session.keep(state);
      } catch (error) {
        // Another worker went on with the session: what it stored counts.
        if (hasCode(error, "Conflict")) forget(sessionId);
        else warn(`the state of session ${session.id} could not be stored: ${errorMessage(error)}`);
      }
    },
    async runAlone(session, work, signal) {
      const { leases } = (await open()).stateDriver;
      if (leases === undefined) return work(undefined);
      const fence = await takeLease(leases, sessionKey(session.id), worker, signal);
      const stopRenewing = later(leases.ms / 3, () => void leases.renew(fence).catch(() => false), true);
      try {
        if (await isStale(session)) throw conflict(session.id);
        return await work(fence);
      } finally {
        stopRenewing();
        // A lease that was lost with the connection ends by itself.
        await leases.release(fence).catch(() => undefined);
      }
    },
  };
}

/** A session as it was stored last; a new one where nothing is stored. */
async function restore(sessionId: string, store: Store, warn: (message: string) => void): Promise<Session> {
  const session = new Session(sessionId);
  const stored = await loadState(store.stateDriver, sessionId);
  if (stored === undefined) return session;
  session.keep(stored.value);
  session.storedVersion = stored.version;
  const seenAt = Date.parse(stored.value.seenAt ?? "");
  session.seenAt = Number.isNaN(seenAt) ? undefined : seenAt;
  try {
    await completeArchive(sessionId, stored.value, store);
  } catch (error) {
    warn(`a summary of session ${sessionId} is missing in the archive: ${errorMessage(error)}`);
  }
  return session;
}

/** Writes the summary file that a worker still owed which died right after its state was stored. */
async function completeArchive(
  sessionId: string,
  { summary, tokensAfter }: SessionState,
  { archive, archiveDriver }: Store,
): Promise<void> {
  if (summary?.step === undefined) return;
  const key = archiveFiles.summary(sessionKey(sessionId), summary.step);
  if ((await archiveDriver.get(key)) !== undefined) return;
  const { version, text, at, tokens } = summary;
  await archive.saveSummary(sessionId, summary.step, { version, text, at, tokens, tokensAfter });
}

const POLL_MS = 100;

/** Waits for the lease as long as other workers keep it alive. */
async function takeLease(
  leases: Leases,
  name: string,
  worker: string,
  signal: AbortSignal | undefined,
): Promise<Fence> {
  for (;;) {
    if (signal?.aborted === true) throw abortError(signal.reason);
    const fence = await leases.take(name, worker);
    if (fence !== undefined) return fence;
    await new Promise<void>((done) => setTimeout(done, POLL_MS));
  }
}
