import { abortError, CompactError, errorMessage, hasCode, type KeyedMutex, later } from "../errors.ts";
import { type ArchiveStore, archiveFiles, conflict, sessionKey } from "./archive.ts";
import type { Fence, Leases, Redaction, StorageDriver } from "./ports.ts";
import { Session } from "./session.ts";
import { readState, type SessionState, writeState } from "./view.ts";

// The sessions of a manager: in memory while in use, with stored state so that a later process resumes them.

/** Archive and session states of a manager. */
export interface Store {
  readonly archive: ArchiveStore;
  readonly archiveDriver: StorageDriver;
  readonly stateDriver: StorageDriver;
}

export interface StoredState {
  readonly value: SessionState;
  readonly version: string;
}

/** Undefined for a session that was never saved; rejects with `StorageFailed` for a state that cannot be read. */
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
      hint: "Move the file away to start the session again: its archived transcripts stay readable.",
      cause,
    });
  }
}

function stateKey(sessionId: string): string {
  return archiveFiles.state(sessionKey(sessionId));
}

interface SessionsOptions {
  open(): Promise<Store>;
  readonly redaction: Redaction;
  /** Names this worker among those that share the storage. */
  readonly worker: string;
  now(): Date;
  warn(message: string): void;
  /** Runs work on a session after its calls under way. */
  readonly inTurn: KeyedMutex;
  onForget(sessionId: string): void;
}

/** Sessions in memory; the least recently used one is stored and forgotten first. */
const MAX_SESSIONS = 256;

/** The sessions in memory; each is loaded from its stored state at its first call. */
export class Sessions {
  readonly #options: SessionsOptions;
  /** Least recently used first. */
  readonly #live = new Map<string, Session>();
  #makingRoom = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Undefined for one that is not in memory. */
  peek(sessionId: string): Session | undefined {
    return this.#live.get(sessionId);
  }

  ids(): readonly string[] {
    return [...this.#live.keys()];
  }

  /** From memory; where workers share the storage, from the stored state if that is newer. */
  async get(sessionId: string): Promise<Session> {
    const known = this.#live.get(sessionId);
    const store = await this.#options.open();
    if (known !== undefined && (store.stateDriver.leases === undefined || !(await this.#isStale(known)))) {
      this.#live.delete(sessionId);
      this.#live.set(sessionId, known);
      return known;
    }
    if (known !== undefined) this.forget(sessionId);
    const session = await restore(sessionId, store, this.#options.warn);
    this.#live.set(sessionId, session);
    void this.#makeRoom();
    return session;
  }

  /** True when another worker stored a newer state. */
  async isOutdated(session: Session): Promise<boolean> {
    const stored = await loadState((await this.#options.open()).stateDriver, session.id);
    return (stored?.version ?? null) !== session.storedVersion;
  }

  forget(sessionId: string): void {
    this.#live.delete(sessionId);
    this.#options.onForget(sessionId);
  }

  /** Stores a state; rejects with `Conflict` when another worker stored one since. */
  async save(session: Session, state: SessionState, fence?: Fence): Promise<string> {
    const { open, redaction, now } = this.#options;
    const { stateDriver } = await open();
    // Secrets are removed from stored summaries; the one in memory matches the list. A provider's own compaction is
    // signed: it was looked through before it was taken, and is stored as it came.
    const clean = (summary: SessionState["summary"]) =>
      summary && { ...summary, text: redaction.redactText(summary.text) };
    const { summary, before } = state;
    const seenAt = new Date(session.seenAt ?? now().getTime()).toISOString();
    const value = writeState({
      ...state,
      summary: clean(summary),
      before: before && { ...before, summary: clean(before.summary) },
      seenAt,
    });
    const put = { ifVersion: session.storedVersion, fence };
    return (await stateDriver.put(stateKey(session.id), value, put)).version;
  }

  /** Stores what a session learned since it was stored; warns where that fails. */
  async keep(sessionId: string): Promise<void> {
    const session = this.#live.get(sessionId);
    // The list may return to the history that the stored state belongs to.
    if (session?.context === undefined || session.leftBehind || !session.hasLearned()) return;
    const state = session.resumableState();
    try {
      session.storedVersion = await this.save(session, state);
      session.keep(state);
    } catch (error) {
      // The state of the other worker counts.
      if (hasCode(error, "Conflict")) this.forget(sessionId);
      else
        this.#options.warn(`the state of session ${session.id} could not be stored: ${errorMessage(error)}`);
    }
  }

  /**
   * Runs `work` while no other worker compacts the session; rejects with `Conflict` when one did meanwhile, and with
   * `Aborted` when the signal is. Without leases, versions show a conflict when the state is saved.
   */
  async runAlone<T>(
    session: Session,
    work: (fence: Fence | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { leases } = (await this.#options.open()).stateDriver;
    if (leases === undefined) return work(undefined);
    const fence = await takeLease(leases, sessionKey(session.id), this.#options.worker, signal);
    const stopRenewing = later(leases.ms / 3, () => void leases.renew(fence).catch(() => false), true);
    try {
      if (await this.#isStale(session)) throw conflict(session.id);
      return await work(fence);
    } finally {
      stopRenewing();
      // A lost lease expires.
      await leases.release(fence).catch(() => undefined);
    }
  }

  async #isStale({ id, storedVersion }: Session): Promise<boolean> {
    const { stateDriver } = await this.#options.open();
    return ((await stateDriver.version(stateKey(id))) ?? null) !== storedVersion;
  }

  async #makeRoom(): Promise<void> {
    if (this.#makingRoom) return;
    this.#makingRoom = true;
    for (const sessionId of this.#live.keys()) {
      if (this.#live.size <= MAX_SESSIONS) break;
      await this.#options.inTurn(sessionId, async () => {
        await this.keep(sessionId);
        this.forget(sessionId);
      });
    }
    this.#makingRoom = false;
  }
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

/** Writes the summary file where a worker ended after storing its state and before writing the file. */
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
