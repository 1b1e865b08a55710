import {
  abortError,
  CompactError,
  crc32Hex,
  errorMessage,
  hasCode,
  type KeyedMutex,
  later,
} from "../errors.ts";
import { type ArchiveStore, archiveFiles, conflict, sessionKey } from "./archive.ts";
import { contentHash, type Message, summaryOf } from "./message.ts";
import { isPinned, type Policy } from "./policy.ts";
import type { Environment, Fence, Leases, Redaction, StorageDriver } from "./ports.ts";
import { Session } from "./session.ts";
import { archiveId } from "./transcript.ts";
import {
  emptyState,
  fingerprintOf,
  type KeptMessage,
  type LoggedMessage,
  type ReplacedState,
  readState,
  type SessionState,
  type StoredSummary,
  writeState,
} from "./view.ts";

// The sessions of a manager: in memory while in use, with stored state so that a later process resumes them.

/** Archive and session states of a manager, over calls that wait a moment only. */
export interface Store extends StoreFace {
  /** The same over calls that wait as long as the medium does, for a list that cannot go out without it. */
  readonly patient: StoreFace;
}

interface StoreFace {
  readonly archive: ArchiveStore;
  readonly archiveDriver: StorageDriver;
  readonly stateDriver: StorageDriver;
}

export interface StoredState {
  readonly value: SessionState;
  readonly version: string;
}

/** Undefined for a session that was never saved; rejects for a state that is damaged or of a newer release. */
export async function loadState(driver: StorageDriver, sessionId: string): Promise<StoredState | undefined> {
  const key = stateKey(sessionId);
  const stored = await driver.get(key);
  return stored && { value: readState(stored.value, `${driver.location}/${key}`), version: stored.version };
}

function stateKey(sessionId: string): string {
  return archiveFiles.state(sessionKey(sessionId));
}

/** What the sessions take of a manager's parts. */
export interface StoreParts {
  readonly environment: Environment;
  /** Awaited before a call of a session begins. */
  enter(): Promise<void>;
  /** Opens archive and session states when they are first needed. */
  open(): Promise<Store>;
  /** The name of this worker among those that share the storage. */
  readonly worker: string;
  readonly redaction: Redaction;
  warn(message: string): void;
}

interface SessionsOptions extends StoreParts {
  readonly policy: Pick<Policy, "rolesNeverPrune">;
  /** Runs work on a session after its calls under way. */
  readonly inTurn: KeyedMutex;
  onForget(sessionId: string): void;
  /** Told of a session that had to make room, besides. */
  onEvict(sessionId: string): void;
}

/** So many sessions stay in memory, and more of them while their lists are small; the least recently used one is stored and forgotten first. */
const MIN_SESSIONS = 256;
const MAX_SESSIONS = 4096;
/** Tokens of all lists in memory, above which no more than the fewest stay. */
const MAX_TOKENS = 16_000_000;

/** The sessions in memory; each is loaded from its stored state at its first call. */
export class Sessions {
  readonly #options: SessionsOptions;
  /** Least recently used first. */
  readonly #live = new Map<string, Session>();
  /** Tokens of the newest list of each, as its last call found them. */
  readonly #tokens = new Map<string, number>();
  #allTokens = 0;
  /** Summaries with their secrets removed. */
  readonly #clean = new WeakMap<StoredSummary, StoredSummary>();
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

  /**
   * From memory; where workers share the storage, from the stored state if that is newer. Where the state cannot be read
   * now, a session with `unread` set, or what is in memory.
   */
  async get(sessionId: string): Promise<Session> {
    await this.#options.enter();
    const known = this.#live.get(sessionId);
    try {
      return await this.#read(sessionId, await this.#options.open());
    } catch (error) {
      if (!hasCode(error, "StorageFailed") || !CompactError.isInstance(error)) throw error;
      const session = this.#live.get(sessionId) ?? new Session(sessionId);
      if (known === undefined || session !== known) session.unread = error;
      return this.#remember(session);
    }
  }

  /** The same, with the patience of the medium; rejects with `StorageFailed` for a state that cannot be read. */
  async require(sessionId: string): Promise<Session> {
    return this.#read(sessionId, (await this.#options.open()).patient);
  }

  async #read(sessionId: string, store: StoreFace): Promise<Session> {
    const known = this.#live.get(sessionId);
    const isCurrent = async (session: Session): Promise<boolean> =>
      session.unread === undefined &&
      (store.stateDriver.leases === undefined || !(await this.#isStale(session, store)));
    if (known !== undefined && (await isCurrent(known))) return this.#remember(known);
    // A state that could not be read before may be there now.
    if (known !== undefined && known.unread === undefined) this.forget(sessionId);
    return this.#remember(await this.#restore(sessionId, store));
  }

  #remember(session: Session): Session {
    this.#live.delete(session.id);
    this.#live.set(session.id, session);
    this.#weigh(session.id, session.requestTokens);
    void this.#makeRoom();
    return session;
  }

  #weigh(sessionId: string, tokens: number): void {
    this.#allTokens += tokens - (this.#tokens.get(sessionId) ?? 0);
    if (tokens > 0) this.#tokens.set(sessionId, tokens);
    else this.#tokens.delete(sessionId);
  }

  /** True when another worker stored a newer state; false where that cannot be seen now. */
  async isOutdated(session: Session): Promise<boolean> {
    try {
      return await this.#isStale(session, await this.#storeFor(session));
    } catch (error) {
      if (hasCode(error, "StorageFailed") && !session.urgent) return false;
      throw error;
    }
  }

  async #storeFor({ urgent }: Session): Promise<StoreFace> {
    const store = await this.#options.open();
    return urgent ? store.patient : store;
  }

  forget(sessionId: string): void {
    this.#live.delete(sessionId);
    this.#weigh(sessionId, 0);
    this.#options.onForget(sessionId);
  }

  /** Stores a state; rejects with `Conflict` when another worker stored one since. */
  async save(session: Session, state: SessionState, fence?: Fence): Promise<string> {
    const { redaction, environment } = this.#options;
    const { stateDriver } = await this.#storeFor(session);
    // Secrets are removed from stored summaries; the one in memory matches the list. A provider's own compaction is
    // signed: it was looked through before it was taken, and is stored as it came.
    const clean = (summary: SessionState["summary"]) => {
      if (summary === undefined) return undefined;
      const known = this.#clean.get(summary) ?? { ...summary, text: redaction.redactText(summary.text) };
      this.#clean.set(summary, known);
      return known;
    };
    const { summary, before } = state;
    const seenAt = new Date(session.seenAt ?? environment.now()).toISOString();
    const value = writeState({
      ...state,
      summary: clean(summary),
      before: before && { ...before, summary: clean(before.summary) },
      seenAt,
    });
    const put = { ifVersion: session.storedVersion, fence };
    return (await stateDriver.put(stateKey(session.id), value, put)).version;
  }

  /** Stores what a session learned since it was stored; a storage that fails was told already. */
  async saveLearned(sessionId: string): Promise<void> {
    const session = this.#live.get(sessionId);
    // The list may return to the history that the stored state belongs to.
    if (session?.context === undefined || session.unread !== undefined) return;
    if (session.leftBehind || !session.hasLearned()) return;
    const state = session.resumableState();
    try {
      session.storedVersion = await this.save(session, state);
      session.setState(state);
    } catch (error) {
      // The state of the other worker counts.
      if (hasCode(error, "Conflict")) this.forget(sessionId);
      else if (!hasCode(error, "StorageFailed"))
        this.#options.warn(`the state of session ${session.id} could not be stored: ${errorMessage(error)}`);
    }
  }

  /**
   * Runs `work` while no other worker compacts the session; rejects with `Conflict` when one did meanwhile, and with
   * `Aborted` when the signal is. Without leases, versions show a conflict when the state is saved.
   */
  async withLease<T>(
    session: Session,
    work: (fence: Fence | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const store = await this.#storeFor(session);
    const { leases } = store.stateDriver;
    if (leases === undefined) return work(undefined);
    const fence = await takeLease(leases, sessionKey(session.id), this.#options.worker, signal);
    const stopRenewing = later(leases.ms / 3, () => void leases.renew(fence).catch(() => false), true);
    try {
      if (await this.#isStale(session, store)) throw conflict(session.id);
      return await work(fence);
    } finally {
      stopRenewing();
      // A lost lease expires.
      await leases.release(fence).catch(() => undefined);
    }
  }

  async #isStale({ id, storedVersion }: Session, { stateDriver }: StoreFace): Promise<boolean> {
    return ((await stateDriver.version(stateKey(id))) ?? null) !== storedVersion;
  }

  /** A session as it was stored last; a new one where nothing is stored. */
  async #restore(sessionId: string, store: StoreFace): Promise<Session> {
    const session = new Session(sessionId);
    const stored = await this.#load(sessionId, store);
    if (stored === undefined) return session;
    session.setState(stored.value);
    session.storedVersion = stored.version;
    const seenAt = Date.parse(stored.value.seenAt ?? "");
    session.seenAt = Number.isNaN(seenAt) ? undefined : seenAt;
    try {
      await completeArchive(sessionId, stored.value, store);
    } catch (error) {
      if (!hasCode(error, "StorageFailed"))
        this.#options.warn(
          `a summary of session ${sessionId} is missing in the archive: ${errorMessage(error)}`,
        );
    }
    return session;
  }

  /** Of a damaged state the file is kept beside it, and the state is made again from the archive. */
  async #load(sessionId: string, store: StoreFace): Promise<StoredState | undefined> {
    const { warn, policy } = this.#options;
    const { stateDriver, archive } = store;
    const key = stateKey(sessionId);
    const stored = await stateDriver.get(key);
    if (stored === undefined) return undefined;
    const { value: text, version: ifVersion } = stored;
    try {
      return { value: readState(text, `${stateDriver.location}/${key}`), version: ifVersion };
    } catch (error) {
      if (CompactError.isInstance(error)) {
        const told = this.#live.get(sessionId)?.unread?.message === error.message;
        if (!told) warn(`${error.message}: lists that fit go out as they are. ${error.hint}`);
        throw error;
      }
      const aside = key.replace(/\.json$/, `-damaged-${crc32Hex(text)}.json`);
      await stateDriver.put(aside, text);
      const value = await rebuildState(sessionId, archive, policy);
      const { version } = await stateDriver.put(key, writeState(value), { ifVersion });
      warn(
        `the stored state of session ${sessionId} is damaged (${errorMessage(error)}); it is kept as ` +
          `${stateDriver.location}/${aside}, and was made again from the archive`,
      );
      return { value, version };
    }
  }

  async #makeRoom(): Promise<void> {
    if (this.#makingRoom) return;
    this.#makingRoom = true;
    for (const sessionId of this.#live.keys()) {
      const most = this.#allTokens > MAX_TOKENS ? MIN_SESSIONS : MAX_SESSIONS;
      if (this.#live.size <= most) break;
      await this.#options.inTurn(sessionId, async () => {
        await this.saveLearned(sessionId);
        this.forget(sessionId);
        this.#options.onEvict(sessionId);
      });
    }
    this.#makingRoom = false;
  }
}

/** Writes the summary file where a worker ended after storing its state and before writing the file. */
async function completeArchive(
  sessionId: string,
  { summary, tokensAfter }: SessionState,
  { archive, archiveDriver }: StoreFace,
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

// ---- a state that was lost

// Each transcript is the whole view before a compaction, so together they hold every message in order.

interface Logged {
  readonly id: string;
  readonly hash: string;
}

/**
 * The state of a session after its newest compaction, except that everything stays that was in the list before it:
 * which messages that compaction kept is not archived. Counts and calibration are learned again.
 */
async function rebuildState(
  sessionId: string,
  archive: ArchiveStore,
  policy: Pick<Policy, "rolesNeverPrune">,
): Promise<SessionState> {
  const log: Logged[] = [];
  let kept: KeptMessage[] = [];
  let step = 0;
  let summary: StoredSummary | undefined;
  for (step of await archive.steps(sessionId)) {
    const view = (await archive.readTranscript(sessionId, step)).messages.map(({ message }) => message);
    kept = keptOf(view, log, policy);
    const own = view.map(summaryOf).find((found) => found !== undefined);
    if (own !== undefined) summary = { ...own, fingerprint: fingerprintOf(own.text), at: "", tokens: 0 };
  }
  if (step === 0) return emptyState();
  summary = (await newestSummary(sessionId, step, archive)) ?? summary;
  const stays = new Set(kept.map(({ at }) => at));
  return {
    ...emptyState(),
    log: log.map(({ hash }): LoggedMessage => [hash, 0]),
    kept,
    summary,
    summaryCount: summary?.version ?? 0,
    summarizedMessageIds:
      summary === undefined ? [] : log.flatMap(({ id }, at) => (stays.has(at) ? [] : [id])),
    step,
    epochStart: log.length,
  };
}

async function newestSummary(
  sessionId: string,
  step: number,
  archive: ArchiveStore,
): Promise<StoredSummary | undefined> {
  const record = (await archive.readSummary(sessionId, step)) as Partial<StoredSummary> | undefined;
  if (typeof record?.version !== "number" || typeof record.text !== "string") return undefined;
  const { version, text, at = "", tokens = 0 } = record;
  return { version, text, fingerprint: fingerprintOf(text), at, tokens, step };
}

/** The messages of a view in the log: those that stand in it already, perhaps edited since, and new ones behind them. */
function keptOf(
  view: readonly Message[],
  log: Logged[],
  policy: Pick<Policy, "rolesNeverPrune">,
): KeptMessage[] {
  const kept: KeptMessage[] = [];
  let next = 0;
  for (const message of view) {
    if (isPinned(message, policy) || summaryOf(message) !== undefined) continue;
    const hash = contentHash(message);
    const found = log.findIndex(({ id }, at) => at >= next && id === message.id);
    const at = found === -1 ? log.push({ id: message.id, hash }) - 1 : found;
    kept.push(log[at]?.hash === hash ? { at } : { at, hash });
    next = at + 1;
  }
  return kept;
}

// ---- the list before a compaction

/**
 * The list before a compaction, followed by what came since: the caller's own objects where they are still in the view,
 * the archive's otherwise. Undefined where the archive does not have all of it.
 */
export async function listBefore<T>(
  { id, view, entries, current, settings }: Session,
  { step, kept, logged }: ReplacedState,
  archive: ArchiveStore,
): Promise<T[] | undefined> {
  const steps = await archive.steps(id);
  if (!steps.includes(step)) return undefined;
  const { messages, problems } = await archive.readTranscript(id, step);
  if (problems.length > 0) return undefined;
  const shown = new Map(view.map((message) => [archiveId(message), message]));
  const before = messages.map(({ archiveId: known, message }): Message => shown.get(known) ?? message);
  const unpinned = before.filter(
    (message) => !isPinned(message, settings.policy) && message.meta?.summaryVersion === undefined,
  );
  // A compaction that was prepared in the background archived a shorter list than it was committed to.
  const from = kept[unpinned.length]?.at ?? logged;
  const archived = new Set(messages.map((message) => message.archiveId));
  const since = entries.filter(({ at, message }) =>
    at === undefined ? !archived.has(archiveId(message)) : at >= from,
  );
  return current.codec.encode([...before, ...since.map(({ message }) => message)]) as T[];
}
