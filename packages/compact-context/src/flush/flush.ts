import { archiveLine, readTranscriptText } from "../archive/transcript.ts";
import type { Message } from "../core/message.ts";
import { archiveId } from "../core/message.ts";
import type { CompactionPlan } from "../core/plan.ts";
import type { Claim, ClaimedItem, Outbox, OutboxItem, StorageDriver } from "../core/ports.ts";
import { sessionKey, sha256Hex } from "../core/records.ts";
import type { BeforeCommit, QueuedWork } from "../core/run.ts";
import type { Session } from "../core/session.ts";
import { loadState } from "../core/store.ts";
import { inConversation } from "../core/view.ts";
import { CompactError, errorMessage, later } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";

// Handling of the messages that a compaction discards: they are shown to the `beforeCompaction` hook, and
// queued durably for the memory flush hook, which receives them at least once after the compaction is
// committed.

/** Describes a compaction that is about to be committed. */
export interface CompactionMoment {
  readonly sessionId: string;
  /** The messages whose content leaves the list. */
  readonly discarded: readonly Message[];
  /** Aborted when the compaction stops waiting and proceeds. */
  readonly signal: AbortSignal;
}

/**
 * Called with the complete list before a compaction: messages to be summarized or cleared are still
 * unchanged.
 */
export type BeforeCompaction = (
  messages: readonly Message[],
  moment: CompactionMoment,
) => void | Promise<void>;

/** Second argument of a memory flush hook. */
export interface MemoryFlush {
  readonly sessionId: string;
  /** The archive step whose compaction discards the messages. */
  readonly step: number;
  /** Identical for every delivery of the same messages: skip the flush if this key was already processed. */
  readonly idempotencyKey: string;
  /** Starts at 1. */
  readonly attempt: number;
  /** Aborted when the hook times out; the flush is retried later. */
  readonly signal: AbortSignal;
}

/**
 * Receives the messages that leave the list, with secrets redacted. Delivery is at least once: if the hook
 * throws or rejects, it is called again later.
 */
export type MemoryFlushHook = (messages: readonly Message[], flush: MemoryFlush) => void | Promise<void>;

/** Outcome of `recover`. */
export interface Recovery {
  /** Flushes that the hook accepted. */
  readonly handedOn: number;
  /** Failed attempts; those flushes are retried later. */
  readonly failed: number;
}

/** The manager ports that concern memory. */
interface MemoryPorts {
  readonly memoryFlushHook?: MemoryFlushHook;
  readonly memoryFlushTimeoutMs?: number;
  readonly beforeCompaction?: BeforeCompaction;
  readonly beforeCompactionWaitMs?: number;
}

interface FlushContext {
  /** Identifies this worker among those that share the storage. */
  readonly worker: string;
  readonly redact: Pick<Redactor, "redactText" | "redactValue">;
  /** `quick` for work that can be skipped if the storage does not answer at once. Default: `patient`. */
  open(way?: "quick" | "patient"): Promise<{ readonly outbox: Outbox; readonly stateDriver: StorageDriver }>;
  now(): Date;
  warn(message: string): void;
}

/** How long a compaction waits for the `beforeCompaction` hook. */
const WAIT_MS = 500;
const HOOK_TIMEOUT_MS = 60_000;

/** Maximum number of concurrent hooks; further items wait in the outbox. */
const AT_ONCE = 8;
/** Claim lifetime: how long other workers leave an item alone after its worker stops renewing. */
const CLAIM_MS = 5000;
/**
 * An item whose compaction is neither committed nor overtaken after this time belongs to a process that died.
 */
const UNDECIDED_MS = 60 * 60_000;
const LOOK_AGAIN_MS = 30_000;
const LOOK_AGAIN_SOONEST_MS = 100;

/** Queues the messages that compactions discard and delivers them to a hook in the background. */
export class MemoryFlushing implements BeforeCommit {
  readonly #ports: MemoryPorts;
  readonly #context: FlushContext;
  readonly #claim: Claim;
  readonly #running = new Set<Promise<void>>();
  readonly #counted = { handedOn: 0, failed: 0 };
  /** A problem was reported and nothing has succeeded since. */
  #told = false;
  #passing: Promise<void> | undefined;
  #callOff = (): void => undefined;

  constructor(ports: MemoryPorts, context: FlushContext) {
    this.#ports = ports;
    this.#context = context;
    this.#claim = { by: context.worker, ms: CLAIM_MS };
  }

  async queue(session: Session, plan: CompactionPlan, step: number): Promise<QueuedWork | undefined> {
    const discarded = discardedMessages(session, plan);
    const looking = this.#look(session, plan, discarded);
    const [queued] = await Promise.all([this.#queue(session, discarded, step), looking]);
    return queued;
  }

  /** Calls `beforeCompaction` before a plan is committed; waits a limited time and never rejects. */
  async #look(session: Session, plan: CompactionPlan, discarded: readonly Message[]): Promise<void> {
    const { beforeCompaction, beforeCompactionWaitMs = WAIT_MS } = this.#ports;
    const leaves = plan.entries.some(({ action }) => action === "summarize" || action === "clear");
    if (beforeCompaction === undefined || !leaves) return;
    await within(beforeCompactionWaitMs, async (signal) => {
      try {
        await beforeCompaction([...session.view.messages], { sessionId: session.id, discarded, signal });
      } catch (error) {
        this.#context.warn(`what was to come before a compaction failed: ${errorMessage(error)}`);
      }
    });
  }

  async #queue(
    session: Session,
    messages: readonly Message[],
    step: number,
  ): Promise<QueuedWork | undefined> {
    if (messages.length === 0 || this.#ports.memoryFlushHook === undefined) return undefined;
    const { redact, now } = this.#context;
    const claim = this.#claim;
    const { outbox } = await this.#context.open(session.urgent ? "patient" : "quick");
    // Delivery runs outside the call, so it uses the patient outbox.
    const { outbox: beside } = await this.#context.open();
    const at = now().toISOString();
    const queued = { sessionId: session.id, step, base: session.storedVersion, at, messages };
    const item = encodeFlushItem(queued, redact);
    const mine = await outbox.add(item, claim);
    const pending = new Set(await outbox.pending(item.session));
    const earlier = (session.state.flushes ?? []).filter((id) => id !== item.id && pending.has(id));
    const start = (): void => this.start();
    return {
      flushes: [...earlier, item.id],
      handOn: () => {
        if (!mine) start();
        else if (this.#free > 0) this.#begin(beside, { ...item, attempts: 0 });
        else void beside.retry(item, claim.by, { inMs: 0, attempts: 0 }).then(start, start);
      },
    };
  }

  /** Starts delivering what earlier processes queued and whatever becomes due later. */
  start(): void {
    if (this.#ports.memoryFlushHook !== undefined) void this.#run();
  }

  /** Resolves when every queued and committed flush has been delivered or has failed. */
  async recover(): Promise<Recovery> {
    if (this.#ports.memoryFlushHook === undefined) return { handedOn: 0, failed: 0 };
    const before = { ...this.#counted };
    // Adds up the waits instead of reading the clock, which a test may replace.
    for (let waited = 0; waited <= CLAIM_MS; ) {
      await this.#run();
      await this.#idle();
      const due = await (await this.#context.open()).outbox.nextDue();
      if (due === undefined || due > CLAIM_MS) break;
      // A claim of a process that died expires soon.
      const wait = Math.max(due, 20);
      await new Promise<void>((done) => setTimeout(done, wait));
      waited += wait;
    }
    const { handedOn, failed } = this.#counted;
    return { handedOn: handedOn - before.handedOn, failed: failed - before.failed };
  }

  /** Resolves when no hook is running, or after `ms`. */
  settle(ms: number): Promise<void> {
    return Promise.race([this.#idle(), new Promise<void>((done) => later(ms, done))]);
  }

  // ---- hooks

  get #free(): number {
    return AT_ONCE - this.#running.size;
  }

  #begin(outbox: Outbox, item: ClaimedItem): void {
    const run = this.#attempt(outbox, item).then(() => {
      this.#running.delete(run);
      this.start();
    });
    this.#running.add(run);
  }

  async #attempt(outbox: Outbox, item: ClaimedItem): Promise<void> {
    try {
      await this.#deliver(outbox, item);
      this.#counted.handedOn += 1;
      this.#told = false;
    } catch (error) {
      this.#counted.failed += 1;
      this.#tell(`messages of the session ${item.session} could not be handed to memory`, error);
      const later = { inMs: retryAfter(item.attempts), attempts: item.attempts + 1 };
      await outbox.retry(item, this.#claim.by, later).catch(() => undefined);
    }
  }

  /** Delivers an item and renews the claim on it meanwhile; removes it from the outbox, or rejects. */
  async #deliver(outbox: Outbox, item: ClaimedItem): Promise<void> {
    const { memoryFlushHook: hook, memoryFlushTimeoutMs: ms = HOOK_TIMEOUT_MS } = this.#ports;
    const { sessionId, step, messages } = decodeFlushItem(item);
    const idempotencyKey = `${item.session}/${item.id}`;
    const about = { sessionId, step, idempotencyKey, attempt: item.attempts + 1 };
    const renew = (): void => void outbox.renew(item, this.#claim).catch(() => undefined);
    const stopRenewing = later(CLAIM_MS / 3, renew, true);
    try {
      const inTime = await within(ms, async (signal) => hook?.(messages, { ...about, signal }));
      if (!inTime) throw new Error(`the hook took longer than ${ms} ms`);
    } finally {
      stopRenewing();
    }
    await outbox.remove(item);
  }

  async #idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Reports a problem once until something succeeds again. */
  #tell(problem: string, error: unknown): void {
    if (!this.#told) this.#context.warn(`${problem}; this is tried again later: ${errorMessage(error)}`);
    this.#told = true;
  }

  // ---- items

  /** Claims due items, one pass at a time. */
  #run(): Promise<void> {
    this.#passing ??= this.#pass().finally(() => {
      this.#passing = undefined;
    });
    return this.#passing;
  }

  async #pass(): Promise<void> {
    this.#callOff();
    try {
      const { outbox } = await this.#context.open();
      while (this.#free > 0) {
        const items = await outbox.claim(this.#claim, this.#free);
        if (items.length === 0) break;
        for (const item of items) await this.#decide(outbox, item);
      }
      const due = await outbox.nextDue();
      if (due !== undefined) this.#again(due);
    } catch (error) {
      this.#tell("queued messages could not be read", error);
      this.#again(LOOK_AGAIN_MS);
    }
  }

  #again(ms: number): void {
    const wait = Math.min(Math.max(ms, LOOK_AGAIN_SOONEST_MS), LOOK_AGAIN_MS);
    this.#callOff = later(wait, () => this.start());
  }

  async #decide(outbox: Outbox, item: ClaimedItem): Promise<void> {
    const fate = await this.#fateOf(item);
    if (fate === "committed") this.#begin(outbox, item);
    else if (fate === "overtaken") await outbox.remove(item);
    else await outbox.retry(item, this.#claim.by, { inMs: LOOK_AGAIN_MS, attempts: item.attempts });
  }

  /**
   * Outcome of the compaction that an item was queued for. Only the stored state can tell: the process may
   * have died between queueing and commit, or may be about to commit. If the compaction was overtaken, its
   * messages are still in the list.
   */
  async #fateOf(item: OutboxItem): Promise<"committed" | "overtaken" | "undecided"> {
    const { open, now } = this.#context;
    let head: Partial<Header> = {};
    try {
      head = decodeFlushItem(item);
    } catch {
      // Unreadable items fail with their own error on delivery.
    }
    const { sessionId, base, at = "" } = head;
    if (sessionId === undefined || base === undefined) return "committed";
    const stored = await open()
      .then(({ stateDriver }) => loadState(stateDriver, sessionId))
      .catch(() => null);
    if (stored === null) return "undecided";
    // The state was deleted since: delivering twice is better than never.
    if (stored === undefined && base !== null) return "committed";
    if (stored?.value.flushes?.includes(item.id) === true) return "committed";
    if ((stored?.version ?? null) !== base) return "overtaken";
    return now().getTime() - Date.parse(at) > UNDECIDED_MS ? "committed" : "undecided";
  }
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10 * 60_000;

/** Exponential backoff: doubles after each failure, capped at ten minutes. */
export function retryAfter(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
}

/** Resolves to false if `work` exceeds `ms`: its signal is aborted and its later outcome is ignored. */
async function within(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const controller = new AbortController();
  let callOff = (): void => undefined;
  const late = new Promise<boolean>((resolve) => {
    callOff = later(ms, () => {
      controller.abort(new Error(`it took longer than ${ms} ms`));
      resolve(false);
    });
  });
  try {
    return await Promise.race([work(controller.signal).then(() => true), late]);
  } finally {
    callOff();
  }
}

// ---- an item

/** The messages that a compaction discards, as stored in the outbox. */
interface FlushItem {
  readonly sessionId: string;
  /** The archive step of that compaction. */
  readonly step: number;
  /** Version of the stored state that the compaction started from; null if the session had none. */
  readonly base: string | null;
  /** ISO 8601. */
  readonly at: string;
  readonly messages: readonly Message[];
}

type Header = Omit<FlushItem, "messages">;

/**
 * The messages whose content leaves the list: summarized, cleared or truncated for the first time. Messages
 * cleared or truncated earlier have already left, and an earlier summary was never a message of the session.
 */
function discardedMessages(session: Session, plan: CompactionPlan): Message[] {
  const leaving = session.view.entries.filter(({ message, edit }, index) => {
    const leaves = (plan.entries[index]?.action ?? "keep") !== "keep";
    const left = edit?.clear === true || edit?.elideTo !== undefined || edit?.resultsTo !== undefined;
    return leaves && !left && message.meta?.summaryVersion === undefined;
  });
  const gone = new Set(leaving);
  return inConversation(session.view.entries, session.activeState.summary)
    .filter((entry) => gone.has(entry))
    .map(({ message }) => message);
}

/**
 * Encodes the item with secrets redacted. The id is the same whenever the same messages are queued in the
 * same step.
 */
function encodeFlushItem(
  { messages, ...header }: FlushItem,
  redact: Pick<Redactor, "redactText" | "redactValue">,
): OutboxItem {
  const { sessionId, step, base, at } = header;
  const key = { session_id: sessionId, step, base, at };
  const of = messages.length;
  const lines = messages.map((message, index) => archiveLine(message, { n: index + 1, of }, redact));
  const content = sha256Hex(messages.map((message) => `${message.id} ${archiveId(message)}`).join("\n"));
  return {
    session: sessionKey(sessionId),
    id: `${String(step).padStart(3, "0")}-${content.slice(0, 20)}`,
    body: `${JSON.stringify(key)}\n${lines.join("")}`,
  };
}

/** Throws `StorageFailed` for a damaged item. */
function decodeFlushItem({ session, id, body }: OutboxItem): FlushItem {
  const end = body.indexOf("\n");
  const { messages, problems } = readTranscriptText(body.slice(end + 1));
  if (end === -1 || problems.length > 0) {
    throw new CompactError("StorageFailed", "a queued memory flush is damaged", {
      place: `${session}/${id}`,
      hint: "The messages are in the session's archive as well.",
    });
  }
  const header = JSON.parse(body.slice(0, end)) as { session_id: string } & Omit<Header, "sessionId">;
  const { session_id, step, base, at } = header;
  return { sessionId: session_id, step, base, at, messages: messages.map(({ message }) => message) };
}
