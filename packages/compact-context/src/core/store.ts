import {
  batches,
  CompactError,
  conflict,
  errorMessage,
  hasCode,
  isObject,
  type KeyedMutex,
  later,
  refuseAborted,
} from "../errors.ts";
import { contentHash, type Message, summaryOf } from "./message.ts";
import { isPinned, type Policy } from "./policy.ts";
import type { Environment, Fence, Leases, Redaction, StorageDriver } from "./ports.ts";
import { archiveFiles, crc32Hex, openRecord, sealRecord, sessionKey } from "./records.ts";
import type { TranscriptStore } from "./report.ts";
import { Session } from "./session.ts";
import {
  emptyState,
  fingerprintOf,
  type KeptMessage,
  type LoggedMessage,
  type SessionState,
  type StoredSummary,
} from "./view.ts";

// The sessions of a manager: in memory while in use, with persisted state from which a later process resumes.

/** Archive and session states of a manager, with short timeouts on storage calls. */
export interface Store extends StoreFace {
  /** The same without short timeouts, for a list that cannot be sent without the storage. */
  readonly patient: StoreFace;
}

interface StoreFace {
  readonly archive: TranscriptStore;
  readonly archiveDriver: StorageDriver;
  readonly stateDriver: StorageDriver;
}

// ---- the stored form of a state

/**
 * Layout version of stored states. Version 1 had `format: 1` instead and no checksum; version 2 stored all
 * ids in full.
 */
const STATE_SCHEMA = 3;

export function writeState({ before, ...state }: SessionState): string {
  const places = new Map(state.log.map(([hash], index) => [hash, index]));
  const packed = <T extends { readonly summarizedMessageIds: readonly string[] }>(part: T) => ({
    ...part,
    summarizedMessageIds: packIds(part.summarizedMessageIds, places),
  });
  return sealRecord(STATE_SCHEMA, { ...packed(state), before: before && packed(before) });
}

/** Ids as runs `[index, count]` in the log; an id not derived from the log is stored unchanged. */
function packIds(ids: readonly string[], places: ReadonlyMap<string, number>): (string | [number, number])[] {
  const packed: (string | [number, number])[] = [];
  for (const id of ids) {
    const place = places.get(id);
    const last = packed.at(-1);
    if (place === undefined) packed.push(id);
    else if (typeof last === "object" && last[0] + last[1] === place) last[1] += 1;
    else packed.push([place, 1]);
  }
  return packed;
}

function unpackIds<T extends { readonly summarizedMessageIds: readonly string[] }>(
  part: T,
  log: SessionState["log"],
): T {
  const packed = part.summarizedMessageIds as readonly (string | readonly [number, number])[];
  const ids = packed.flatMap((one) =>
    typeof one === "string" ? [one] : log.slice(one[0], one[0] + one[1]).map(([hash]) => hash),
  );
  return { ...part, summarizedMessageIds: ids };
}

/**
 * Parses a stored state. Throws for text that is not a state, is damaged, or was written by a newer release.
 */
export function readState(text: string, place: string): SessionState {
  const { schema, record } = openRecord(text, STATE_SCHEMA, place);
  // Older states had a `prefix` that nothing read.
  const { format, prefix: _, ...state } = record;
  if (format !== (schema === 1 ? 1 : undefined)) throw new Error(`its format is ${String(format)}, not 1`);
  const { log, kept, summarizedMessageIds, calibration } = state;
  const whole = [log, kept, summarizedMessageIds].every(Array.isArray) && isObject(calibration);
  if (!whole) throw new Error("parts of it are missing");
  const { before, ...read } = unpackIds(state as unknown as SessionState, state.log as SessionState["log"]);
  return before === undefined ? read : { ...read, before: unpackIds(before, read.log) };
}

export interface StoredState {
  readonly value: SessionState;
  readonly version: string;
}

/**
 * Undefined for a session that was never saved; rejects for a state that is damaged or from a newer release.
 */
export async function loadState(driver: StorageDriver, sessionId: string): Promise<StoredState | undefined> {
  const key = stateKey(sessionId);
  const stored = await driver.get(key);
  return stored && { value: readState(stored.value, `${driver.location}/${key}`), version: stored.version };
}

function stateKey(sessionId: string): string {
  return archiveFiles.state(sessionKey(sessionId));
}

// ---- the sessions in memory

export interface StoreParts {
  readonly environment: Environment;
  /** Awaited before each call of a session. */
  enter(): Promise<void>;
  /** Opens archive and session states on first use. */
  open(): Promise<Store>;
  /** Identifies this worker among those that share the storage. */
  readonly worker: string;
  readonly redaction: Redaction;
  warn(message: string): void;
}

interface SessionsOptions extends StoreParts {
  readonly policy: Pick<Policy, "rolesNeverPrune">;
  /** Runs work on a session after its pending calls. */
  readonly inTurn: KeyedMutex;
  onForget(sessionId: string): void;
  onEvict(sessionId: string): void;
}

/**
 * Minimum number of sessions in memory, more while their lists are small; the least recently used one is
 * stored and evicted first.
 */
const MIN_SESSIONS = 256;
const MAX_SESSIONS = 4096;
/** Tokens of all lists in memory, above which only `MIN_SESSIONS` stay. */
const MAX_TOKENS = 16_000_000;

/** More at a time do not make a disk quicker. */
const SAVED_AT_ONCE = 8;

/** The sessions in memory; each is loaded from its stored state at its first call. */
export class Sessions {
  readonly #options: SessionsOptions;
  /** Least recently used first. */
  readonly #live = new Map<string, Session>();
  /** Tokens of each session's latest list, as of its last call. */
  readonly #tokens = new Map<string, number>();
  #allTokens = 0;
  readonly #clean = new WeakMap<StoredSummary, StoredSummary>();
  #makingRoom = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  peek(sessionId: string): Session | undefined {
    return this.#live.get(sessionId);
  }

  /**
   * From memory; if workers share the storage, from the stored state if that is newer. If the state cannot be
   * read, a session with `unread` set, or the one in memory.
   */
  async get(sessionId: string): Promise<Session> {
    await this.#options.enter();
    const known = this.#live.get(sessionId);
    try {
      return await this.#read(sessionId, await this.#options.open());
    } catch (error) {
      if (!hasCode(error, "StorageFailed")) throw error;
      const session = this.#live.get(sessionId) ?? new Session(sessionId);
      if (known === undefined || session !== known) session.unread = error;
      return this.#remember(session);
    }
  }

  /** Like `get`, without short timeouts; rejects with `StorageFailed` for a state that cannot be read. */
  async require(sessionId: string): Promise<Session> {
    return this.#read(sessionId, (await this.#options.open()).patient);
  }

  async #read(sessionId: string, store: StoreFace): Promise<Session> {
    const known = this.#live.get(sessionId);
    const isCurrent = async (session: Session): Promise<boolean> =>
      session.unread === undefined &&
      (store.stateDriver.leases === undefined || !(await this.#isStale(session, store)));
    if (known !== undefined && (await isCurrent(known))) return this.#remember(known);
    // A state that could not be read before may be readable now.
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

  /** True if another worker stored a newer state; false if that cannot be determined. */
  async isOutdated(session: Session): Promise<boolean> {
    try {
      return await this.#isStale(session, await this.storeFor(session));
    } catch (error) {
      if (hasCode(error, "StorageFailed") && !session.urgent) return false;
      throw error;
    }
  }

  /** The storage that waits as long as the session's list needs. */
  async storeFor({ urgent }: Session): Promise<StoreFace> {
    const store = await this.#options.open();
    return urgent ? store.patient : store;
  }

  forget(sessionId: string): void {
    this.#live.delete(sessionId);
    this.#weigh(sessionId, 0);
    this.#options.onForget(sessionId);
  }

  /** Stores a state; rejects with `Conflict` if another worker stored one in the meantime. */
  async save(session: Session, state: SessionState, fence?: Fence): Promise<string> {
    const { redaction, environment } = this.#options;
    const { stateDriver } = await this.storeFor(session);
    // Stored summaries are redacted; the one in memory matches the list. A provider's own compaction is
    // signed: it was checked when it was created, and is stored unchanged.
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

  /** Stores what each session learned, after its pending calls. */
  async saveAll(): Promise<void> {
    const ids = [...this.#live.keys()];
    const save = (id: string) => this.#options.inTurn(id, () => this.#saveLearned(id));
    for (const some of batches(ids, SAVED_AT_ONCE)) await Promise.all(some.map(save));
  }

  /** Stores what a session learned since it was last stored; storage failures were already reported. */
  async #saveLearned(sessionId: string): Promise<void> {
    const session = this.#live.get(sessionId);
    // The list may return to the history of the stored state.
    if (session?.view.context === undefined || session.unread !== undefined) return;
    if (session.view.leftBehind || !session.hasLearned()) return;
    const state = session.resumableState();
    try {
      session.storedVersion = await this.save(session, state);
      session.setState(state);
    } catch (error) {
      // The other worker's state wins.
      if (hasCode(error, "Conflict")) this.forget(sessionId);
      else if (!hasCode(error, "StorageFailed"))
        this.#options.warn(`the state of session ${session.id} could not be stored: ${errorMessage(error)}`);
    }
  }

  /**
   * Runs `work` while no other worker compacts the session; rejects with `Conflict` if one did in the
   * meantime, and with `Aborted` if the signal is aborted. Without leases, a conflict is detected by version
   * when the state is saved.
   */
  async withLease<T>(
    session: Session,
    work: (fence: Fence | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const store = await this.storeFor(session);
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

  /** A session as last stored; a new one if nothing is stored. */
  async #restore(sessionId: string, store: StoreFace): Promise<Session> {
    const session = new Session(sessionId);
    const stored = await this.#load(sessionId, store);
    if (stored === undefined) return session;
    session.setState(stored.value);
    session.storedVersion = stored.version;
    const seenAt = Date.parse(stored.value.seenAt ?? "");
    session.seenAt = Number.isNaN(seenAt) ? undefined : seenAt;
    await completeArchive(sessionId, stored.value, store).catch((error: unknown) => {
      if (!hasCode(error, "StorageFailed"))
        this.#options.warn(
          `a summary of session ${sessionId} is missing in the archive: ${errorMessage(error)}`,
        );
    });
    return session;
  }

  /** If a state is damaged, keeps its file as a copy and rebuilds the state from the archive. */
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
        await this.#saveLearned(sessionId);
        this.forget(sessionId);
        this.#options.onEvict(sessionId);
      });
    }
    this.#makingRoom = false;
  }
}

/** Writes the summary file if a worker exited after storing its state and before writing the file. */
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
    refuseAborted(signal);
    const fence = await leases.take(name, worker);
    if (fence !== undefined) return fence;
    await new Promise<void>((done) => setTimeout(done, POLL_MS));
  }
}

// ---- a state that was lost

// Each transcript is the whole view before a compaction, so together they contain every message in order.

interface Logged {
  readonly id: string;
  readonly hash: string;
}

/**
 * The state of a session after its newest compaction, except that everything in the list before it stays:
 * which messages that compaction kept is not archived. Counts and calibration are learned again.
 */
async function rebuildState(
  sessionId: string,
  archive: TranscriptStore,
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
  archive: TranscriptStore,
): Promise<StoredSummary | undefined> {
  const record = (await archive.readSummary(sessionId, step)) as Partial<StoredSummary> | undefined;
  if (typeof record?.version !== "number" || typeof record.text !== "string") return undefined;
  const { version, text, at = "", tokens = 0 } = record;
  return { version, text, fingerprint: fingerprintOf(text), at, tokens, step };
}

/** The messages of a view in the log: those already in it, possibly edited since, followed by new ones. */
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
