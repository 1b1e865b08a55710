import {
  abortable,
  CompactError,
  errorMessage,
  hasCode,
  type Pause,
  runInSteps,
  type Steps,
} from "../errors.ts";
import { applyPlan, type Outcome, stateAfter } from "./apply.ts";
import type { Malformation } from "./lists.ts";
import { archiveId, contentHash, type Message } from "./message.ts";
import { type CompactionPlan, type PlannedMessage, planInSteps } from "./plan.ts";
import { coldShare, isPinned } from "./policy.ts";
import { type Environment, FALLBACK, type Summarizer } from "./ports.ts";
import {
  type Announce,
  type ArchiveReceipt,
  type CompactionReport,
  type EventRecorder,
  type RefusalReason,
  reportOf,
  type StepTimes,
  type TranscriptStore,
  type UndoneCompaction,
} from "./report.ts";
import type { CompactionRequest, ManualRequest } from "./request.ts";
import type { Session } from "./session.ts";
import { type ReplacedState, type SessionState, stateWithout } from "./view.ts";

// One compaction of a session: plan, archive, apply, commit. It may be prepared in the background, committed later,
// and undone.
// When it fails, the session is unchanged. Durable, in this order, so that a kill between any two loses nothing:
//   1. the transcript of the whole view      a step that no state names is compared and used again
//   2. what leaves, queued for a memory      handed on only when the stored state names it
//   3. the state: this is the commit         a summary without a file is written from it by the next process
//   4. the summary file, then the events

/** Work that must be durable before a commit, such as queueing removed messages for a memory. */
export interface BeforeCommit {
  queue(session: Session, plan: CompactionPlan, step: number): Promise<QueuedWork | undefined>;
  /** Resolves when no queued work is running, or after `ms`. */
  settle(ms: number): Promise<void>;
}

export interface QueuedWork {
  /** Ids to store in the state committed by the compaction. */
  readonly flushes: readonly string[];
  handOn(): void;
}

export interface RunContext {
  readonly environment: Environment;
  /** Awaited between steps of long work. */
  readonly pause: Pause;
  /** Tried in order. */
  readonly summarizers: readonly Summarizer[];
  readonly beforeCommit?: BeforeCommit;
  readonly archive: TranscriptStore;
  readonly announce: Announce;
  readonly model: string | undefined;
  /** On archive failure: `stop` refuses the compaction, `continue` compacts without an archive. */
  readonly onFailure: "stop" | "continue";
  /** Finds malformations of a list that no provider accepts. */
  findFaults?(messages: readonly Message[]): Steps<readonly Malformation[]>;
  /** Makes the new state durable; rejects with `Conflict` if another worker saved first. */
  save(session: Session, state: SessionState): Promise<string>;
}

/** A compaction that has not been committed yet; the session is unchanged. */
interface PreparedCompaction {
  readonly outcome: Outcome;
  readonly receipt: ArchiveReceipt | undefined;
  /** Its number in the session, also used for its archive files. */
  readonly step: number;
  readonly spentMs: number;
  /** When the plan was made, ISO 8601. */
  readonly decidedAt: string;
  readonly times: StepTimes;
}

export class Compaction {
  readonly #session: Session;
  readonly #request: CompactionRequest;
  readonly #context: RunContext;

  constructor(session: Session, request: CompactionRequest, context: RunContext) {
    this.#session = session;
    this.#request = request;
    this.#context = context;
  }

  /** Compacts the session, or returns the reason why it is unchanged. */
  async run(): Promise<CompactionReport | RefusalReason> {
    const prepared = await this.prepare();
    return typeof prepared === "string" ? prepared : this.commit(prepared);
  }

  /** Plans, archives and summarizes; does not change the session. */
  async prepare(): Promise<PreparedCompaction | RefusalReason> {
    const { announce, pause, environment, findFaults, summarizers } = this.#context;
    const { messages, signal } = this.#request;
    const started = environment.clock();
    await pause();
    const plan = await runInSteps(planInSteps(this.#request), pause);
    const refused = refusalOf(this.#request, plan);
    if (refused !== undefined) return refused;
    const decidedAt = this.#time();
    const faults = findFaults === undefined ? [] : await runInSteps(findFaults(messages), pause);
    if (faults.length > 0) announce({ kind: "malformed", faults });
    await pause();
    const receipt = await this.#archiveView(decidedAt);
    const step = receipt?.step ?? this.#session.state.step + 1;
    const startedAt = this.#time();
    const outcome = await applyPlan(this.#request, receipt === undefined ? unarchived(plan) : plan, {
      summarizers,
      pause,
      step: receipt?.step,
      onAttempt: (attempt) => announce({ kind: "attemptFailed", attempt, step }),
      onFailure: ({ error, fallback, attempt }) =>
        announce({ kind: "failed", error, fallback, attempt, step }),
    }).catch((error: unknown) => {
      // An archived step needs a final event.
      if (signal?.aborted) announce({ kind: "failed", error, fallback: FALLBACK.nothingPruned, step });
      throw error;
    });
    const times = { startedAt, endedAt: this.#time() };
    return { outcome, receipt, step, decidedAt, spentMs: environment.clock() - started, times };
  }

  /** Commits what was prepared for the session's view, or for the beginning of it. */
  async commit(prepared: PreparedCompaction): Promise<CompactionReport> {
    const { environment, pause, save, announce } = this.#context;
    const session = this.#session;
    const { outcome, receipt } = prepared;
    const started = environment.clock();
    const startedAt = this.#time();
    await pause();
    // Without an archive, another compaction may have used the number in the meantime.
    const step = Math.max(prepared.step, session.state.step + (receipt === undefined ? 1 : 0));
    const rewrote = this.#request.reason !== "tool_output";
    const commit = { step, at: startedAt, rewrote };
    const next = await runInSteps(stateAfter(session, outcome, commit), pause);
    const queued = await this.#queue(outcome.plan, step);
    const flushes = queued?.flushes ?? session.state.flushes;
    const state = flushes === undefined ? next.state : { ...next.state, flushes };
    await pause();
    const tokensBefore = session.providerTokens(outcome.plan.tokensBefore);
    const storedVersion = await save(session, state).catch((error: unknown) => {
      const fallback = hasCode(error, "Conflict") ? FALLBACK.readAgain : FALLBACK.nothingPruned;
      announce({ kind: "failed", error, fallback, step });
      throw error;
    });
    session.commit(state, next.entries, outcome.tokensAfter);
    session.storedVersion = storedVersion;
    queued?.handOn();
    const elapsedMs = prepared.spentMs + environment.clock() - started;
    const tokensAfter = session.requestTokens;
    const told = { archive: receipt, elapsedMs, tokensBefore, tokensAfter };
    const report = reportOf(this.#request, outcome, told);
    await this.#saveSummary(report, outcome);
    this.#announceDone(prepared, report, startedAt);
    return report;
  }

  #time(): string {
    return this.#context.environment.now().toISOString();
  }

  /** Archives the view before anything is dropped. */
  #archiveView(startedAt: string): Promise<ArchiveReceipt | undefined> {
    const { archive, announce } = this.#context;
    const { id, state, view } = this.#session;
    const step = state.step + 1;
    const work = async (): Promise<ArchiveReceipt> => {
      const saved = await archive.saveTranscript(id, step, view.messages);
      const { location, ids } = saved;
      announce({ kind: "archived", step: saved.step, location, messages: ids.length }, { startedAt });
      return saved;
    };
    const without = { fallback: FALLBACK.withoutArchive, skipped: "an archive", step };
    return this.#unlessStopped(work, "the archive could not be written", without);
  }

  /** RUN-5: removed messages are queued before the commit and delivered after it. */
  #queue(plan: CompactionPlan, step: number): Promise<QueuedWork | undefined> {
    const work = async () => this.#context.beforeCommit?.queue(this.#session, plan, step);
    const without = { fallback: FALLBACK.withoutMemory, skipped: "a memory", step };
    return this.#unlessStopped(work, "the memory flush could not be queued", without);
  }

  /** Undefined if the work fails and `onFailure` is `continue`. */
  async #unlessStopped<T>(
    work: () => Promise<T>,
    problem: string,
    without: { readonly fallback: string; readonly skipped: string; readonly step: number },
  ): Promise<T | undefined> {
    const { announce, onFailure } = this.#context;
    const { fallback, skipped, step } = without;
    try {
      return await work();
    } catch (error) {
      const goesOn = onFailure === "continue";
      announce({ kind: "failed", error, fallback: goesOn ? fallback : FALLBACK.nothingPruned, step });
      if (goesOn) return undefined;
      const { hint, place } = CompactError.isInstance(error) ? error : {};
      throw new CompactError("StorageFailed", `${problem}: ${errorMessage(error)}`, {
        hint: `${hint || "Fix the storage."} Or set storage.onFailure to "continue" to prune without ${skipped}.`,
        place,
        cause: error,
      });
    }
  }

  async #saveSummary({ archive: receipt, tokensBefore, tokensAfter }: CompactionReport, outcome: Outcome) {
    const { summary, summarizer = "none", summaryTokens: tokens } = outcome;
    if (summary === undefined || receipt === undefined) return;
    const { archive, announce } = this.#context;
    const { step } = receipt;
    const { version, text } = summary;
    const { strategy } = this.#request.policy;
    const made = { version, text, strategy, summarizer, at: this.#time(), tokens, tokensBefore, tokensAfter };
    await archive
      .saveSummary(this.#session.id, step, made)
      .catch((error: unknown) =>
        announce({ kind: "failed", error, fallback: FALLBACK.summaryNotArchived, step }),
      );
  }

  #announceDone(prepared: PreparedCompaction, report: CompactionReport, startedAt: string): void {
    const { announce, model } = this.#context;
    const { policy, reason, note } = this.#request;
    const { outcome, step, decidedAt, times } = prepared;
    const decision = { triggered: true, reason };
    const moment = { startedAt: decidedAt, endedAt: decidedAt };
    announce({ kind: "decision", decision, policy, model, report, note, step }, moment);
    if (outcome.summary !== undefined) {
      const { text } = outcome.summary;
      announce({ kind: "summary", report, strategy: policy.strategy, text, step }, times);
    }
    announce({ kind: "pruned", report, model, step }, { startedAt });
  }
}

/** Without an archive, stubs name no archive id. */
function unarchived(plan: CompactionPlan): CompactionPlan {
  const entries = plan.entries.map((entry) =>
    entry.edit === undefined ? entry : { ...entry, edit: { ...entry.edit, unarchived: true as const } },
  );
  return { ...plan, entries };
}

/**
 * FIT-8. Refuses a compaction that gains nothing, also a manual one: everything must stay, only the earlier
 * summary would be summarized again, or the list would not become shorter.
 */
function refusalOf(
  { reason, budget, target = budget, messages }: CompactionRequest,
  plan: CompactionPlan,
): RefusalReason | undefined {
  const changed = plan.entries.filter((entry) => entry.action !== "keep");
  if (changed.length === 0) return "nothing_to_compact";
  if (reason === "max_bytes" || reason === "max_images") return undefined;
  const onlySummary = changed.every(({ index }) => messages[index]?.meta?.summaryVersion !== undefined);
  if (onlySummary && plan.tokensBefore <= Math.min(budget, target)) return "nothing_to_compact";
  return plan.tokensAfter < plan.tokensBefore ? undefined : "no_gain";
}

// ---- background compactions

interface BackgroundCompaction {
  /** The session when the compaction started. */
  readonly snapshot: Session;
  /** Undefined while it runs, and if it failed or gains nothing. */
  prepared: PreparedCompaction | undefined;
  running: boolean;
  /** Resolves when it has ended; never rejects. */
  readonly done: Promise<void>;
  cancel(): void;
}

/** Compactions in preparation, at most one per session; they change nothing until committed. */
export class BackgroundCompactions {
  readonly #compactions = new Map<string, BackgroundCompaction>();
  /** Cancel functions of compactions scheduled to start later, by session. */
  readonly #timers = new Map<string, () => void>();
  readonly #parts: { readonly environment: Environment; readonly recorder: EventRecorder };
  readonly #contextOf: (session: Session) => Promise<RunContext>;

  constructor(
    parts: { readonly environment: Environment; readonly recorder: EventRecorder },
    contextOf: (session: Session) => Promise<RunContext>,
  ) {
    this.#parts = parts;
    this.#contextOf = contextOf;
  }

  /** Prepares the compaction of a list that is large enough, shortly before the provider's cache expires. */
  startBeforeLapse(session: Session, request: ManualRequest): void {
    const { policy } = session.settings;
    const { beforeCacheLapse, cacheTtlSeconds } = policy;
    if (beforeCacheLapse === undefined) return;
    const begin = (): void => {
      // A compaction prepared for a shorter list does not justify a second one in the same pause.
      if (!this.isRunning(session.id)) this.forget(session.id);
      this.start(session, request, coldShare(policy));
    };
    const ms = Math.max(0, cacheTtlSeconds - beforeCacheLapse) * 1000;
    this.#timers.set(session.id, this.#parts.environment.later(ms, begin));
  }

  callOff(sessionId: string): void {
    this.#timers.get(sessionId)?.();
    this.#timers.delete(sessionId);
  }

  /**
   * Prepares a compaction of a list over this share of the window, unless one is there already or would gain
   * nothing.
   */
  start(session: Session, request: ManualRequest, share: number = Number.POSITIVE_INFINITY): void {
    const { id, requestTokens } = session;
    if (this.#compactions.has(id) || !session.hasGrown()) return;
    if ((requestTokens * session.strictness()) / session.settings.maxContextTokens < share) return;
    const controller = new AbortController();
    const { signal } = controller;
    const snapshot = session.snapshot();
    const work = async (): Promise<void> => {
      try {
        const context = await this.#contextOf(snapshot);
        const own = snapshot.compactionRequest({ ...request, signal }, "trigger_pct");
        const prepared = await new Compaction(snapshot, own, context).prepare();
        if (typeof prepared !== "string") compaction.prepared = prepared;
      } catch (error) {
        const announce = this.#parts.recorder.announcer(id);
        if (!signal.aborted) announce({ kind: "failed", error, fallback: FALLBACK.atTrigger });
      }
      compaction.running = false;
    };
    const compaction: BackgroundCompaction = {
      snapshot,
      prepared: undefined,
      running: true,
      done: work(),
      cancel: () => controller.abort(),
    };
    this.#compactions.set(id, compaction);
  }

  isRunning(sessionId: string): boolean {
    return this.#compactions.get(sessionId)?.running === true;
  }

  /** Cancels a session's compaction, running or scheduled. */
  forget(sessionId: string): void {
    this.callOff(sessionId);
    this.#compactions.get(sessionId)?.cancel();
    this.#compactions.delete(sessionId);
  }

  /**
   * Waits for a prepared compaction and returns it; a manual compaction cancels it instead. Undefined if
   * there is none, the session no longer begins with its snapshot, or the result would not fit.
   */
  async take(session: Session, request: CompactionRequest): Promise<PreparedCompaction | undefined> {
    const compaction = this.#compactions.get(session.id);
    if (compaction === undefined) return undefined;
    if (request.reason !== "manual") await abortable(compaction.done, request.signal);
    this.forget(session.id);
    if (request.reason === "manual") return undefined;
    const prepared = carryOver(compaction, session, request);
    return prepared === undefined || prepared.outcome.tokensAfter > request.budget ? undefined : prepared;
  }
}

/**
 * The prepared compaction applied to the session's current list: later messages follow it, and fixed tokens
 * are those of the current call. Undefined if the session no longer begins with the snapshot, message by
 * message.
 */
function carryOver(
  { snapshot, prepared }: BackgroundCompaction,
  session: Session,
  { fixedTokens }: CompactionRequest,
): PreparedCompaction | undefined {
  const { length } = snapshot.view.messages;
  if (prepared === undefined || session.view.messages.length < length) return undefined;
  const { outcome } = prepared;
  const { plan, list } = outcome;
  if (!snapshot.view.messages.every((message, index) => isSame(message, session.view.messages[index])))
    return undefined;
  const added = session.view.entries
    .slice(length)
    .map((entry, offset) => ({ ...entry, index: length + offset }));
  const planned = added.map(
    ({ message: { id, role }, index, tokens }): PlannedMessage => ({
      index,
      id,
      role,
      layer: "recent",
      action: "keep",
      tokens,
      tokensAfter: tokens,
      reason: "came while the compaction was prepared",
    }),
  );
  const more = planned.reduce((total, { tokens }) => total + tokens, fixedTokens - plan.fixedTokens);
  return {
    ...prepared,
    outcome: {
      ...outcome,
      plan: {
        ...plan,
        entries: [...plan.entries, ...planned],
        fixedTokens,
        tokensBefore: plan.tokensBefore + more,
        tokensAfter: plan.tokensAfter + more,
      },
      list: [...list, ...added.map(({ message, pinned, index }) => ({ message, pinned, index }))],
      tokensAfter: outcome.tokensAfter + more,
    },
  };
}

function isSame(before: Message, now: Message | undefined): boolean {
  if (before === now) return true;
  return now !== undefined && before.id === now.id && contentHash(before) === contentHash(now);
}

// ---- undo

/** Puts the state before the newest compaction back. Rejects with `NotFound` if there is nothing to undo. */
export async function undoCompaction<T>(
  session: Session,
  { archive, announce, save, model }: RunContext,
): Promise<UndoneCompaction<T>> {
  const { before } = session.activeState;
  if (before === undefined) throw nothingToUndo(session.id);
  const state = stateWithout(before, session.resumableState());
  const messages =
    session.view.context === undefined ? undefined : await listBefore<T>(session, before, archive);
  session.storedVersion = await save(session, state);
  const { step } = before;
  const { tokensAfter } = state;
  const tokensBefore = session.state.tokensAfter + tokensAfter - before.tokens;
  session.goBack(state, messages?.length ?? 0);
  announce({ kind: "undone", model, step, tokensBefore, tokensAfter });
  return { step, tokens: tokensAfter, messages };
}

export function nothingToUndo(sessionId: string): CompactError {
  return new CompactError("NotFound", `session ${JSON.stringify(sessionId)} has no compaction to undo`, {
    hint: "Only the newest compaction of a session can be undone, once. `recall(sessionId).restore()` gives earlier lists.",
  });
}

/**
 * The list before a compaction, followed by later messages: the caller's own objects if still in the view,
 * otherwise the archive's. Undefined if the archive does not have all of it.
 */
async function listBefore<T>(
  { id, view, settings }: Session,
  { step, kept, logged }: ReplacedState,
  archive: TranscriptStore,
): Promise<T[] | undefined> {
  const steps = await archive.steps(id);
  if (!steps.includes(step)) return undefined;
  const { messages, problems } = await archive.readTranscript(id, step);
  if (problems.length > 0) return undefined;
  const shown = new Map(view.messages.map((message) => [archiveId(message), message]));
  const before = messages.map(({ archiveId: known, message }): Message => shown.get(known) ?? message);
  const unpinned = before.filter(
    (message) => !isPinned(message, settings.policy) && message.meta?.summaryVersion === undefined,
  );
  // A compaction prepared in the background archived a shorter list than the one it was committed to.
  const from = kept[unpinned.length]?.at ?? logged;
  const archived = new Set(messages.map((message) => message.archiveId));
  const since = view.entries.filter(({ at, message }) => {
    if (message.meta?.summaryVersion !== undefined) return false;
    return at === undefined ? !archived.has(archiveId(message)) : at >= from;
  });
  return view.current.codec.encode([...before, ...since.map(({ message }) => message)]) as T[];
}
