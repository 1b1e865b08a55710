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
import type { ArchiveStore } from "./archive.ts";
import { contentHash, type Message } from "./message.ts";
import { type CompactionPlan, extendPlan, planInSteps } from "./plan.ts";
import type { TriggerReason } from "./policy.ts";
import { type Environment, FALLBACK, type LiveConversation, type Summarizer } from "./ports.ts";
import {
  type Announce,
  type ArchiveReceipt,
  type CompactionReport,
  type Malformation,
  type RefusalReason,
  reportOf,
  type StepTimes,
} from "./report.ts";
import type { Session } from "./session.ts";
import { groupUnits, isProjectInstructions } from "./units.ts";
import type { CompactionRequest, ManualRequest } from "./usage.ts";
import type { SessionState } from "./view.ts";

// One compaction of a session: plan, archive, apply, commit. It may be prepared in the background and committed later.
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
  readonly archive: ArchiveStore;
  readonly announce: Announce;
  readonly model: string | undefined;
  /** On archive failure: `stop` refuses the compaction, `continue` compacts without an archive. */
  readonly onFailure: "stop" | "continue";
  /** Finds malformations of a list that no provider accepts. */
  findFaults?(messages: readonly Message[]): Steps<readonly Malformation[]>;
  /** Makes the new state durable; rejects with `Conflict` if another worker saved first. */
  save(session: Session, state: SessionState): Promise<string>;
}

function timeOf({ environment }: RunContext): string {
  return environment.now().toISOString();
}

/** A compaction that has not been committed yet; the session is unchanged. */
export interface PreparedCompaction {
  readonly outcome: Outcome;
  readonly receipt: ArchiveReceipt | undefined;
  /** Its number in the session, also used for its archive files. */
  readonly step: number;
  readonly spentMs: number;
  /** When the plan was made, ISO 8601. */
  readonly decidedAt: string;
  readonly times: StepTimes;
}

/** Compacts a session, or returns the reason why it is unchanged. */
export async function compactSession(
  session: Session,
  request: CompactionRequest,
  context: RunContext,
): Promise<CompactionReport | RefusalReason> {
  const prepared = await prepareCompaction(session, request, context);
  return typeof prepared === "string" ? prepared : commitCompaction(session, request, prepared, context);
}

/** Plans, archives and summarizes; does not change the session. */
export async function prepareCompaction(
  session: Session,
  request: CompactionRequest,
  context: RunContext,
): Promise<PreparedCompaction | RefusalReason> {
  const { announce, pause, environment } = context;
  const started = environment.clock();
  await pause();
  const plan = await runInSteps(planInSteps(request), pause);
  const refused = refusalOf(request, plan);
  if (refused !== undefined) return refused;
  const decidedAt = timeOf(context);
  const looking = context.findFaults?.(request.messages);
  const faults = looking === undefined ? [] : await runInSteps(looking, pause);
  if (faults.length > 0) announce({ kind: "malformed", faults });
  await pause();
  const receipt = await archiveView(session, context, decidedAt);
  const step = receipt?.step ?? session.state.step + 1;
  const startedAt = timeOf(context);
  const outcome = await applyPlan(request, receipt === undefined ? unarchived(plan) : plan, {
    summarizers: context.summarizers,
    pause,
    step: receipt?.step,
    onAttempt: (attempt) => announce({ kind: "attemptFailed", attempt, step }),
    onFailure: ({ error, fallback, attempt }) => announce({ kind: "failed", error, fallback, attempt, step }),
  }).catch((error: unknown) => {
    // An archived step needs a final event.
    if (request.signal?.aborted) announce({ kind: "failed", error, fallback: FALLBACK.nothingPruned, step });
    throw error;
  });
  const times = { startedAt, endedAt: timeOf(context) };
  return { outcome, receipt, step, decidedAt, spentMs: environment.clock() - started, times };
}

function unarchived(plan: CompactionPlan): CompactionPlan {
  const entries = plan.entries.map((entry) =>
    entry.edit === undefined ? entry : { ...entry, edit: { ...entry.edit, unarchived: true as const } },
  );
  return { ...plan, entries };
}

/** Commits a compaction to the session whose view it was prepared for. */
async function commitCompaction(
  session: Session,
  request: CompactionRequest,
  prepared: PreparedCompaction,
  context: RunContext,
): Promise<CompactionReport> {
  const started = context.environment.clock();
  const startedAt = timeOf(context);
  const { outcome, receipt } = prepared;
  const { plan } = outcome;
  await context.pause();
  // Without an archive, another compaction may have used the number in the meantime.
  const step = Math.max(prepared.step, session.state.step + (receipt === undefined ? 1 : 0));
  const rewrote = request.reason !== "tool_output";
  const commit = { step, at: timeOf(context), rewrote };
  const next = await runInSteps(stateAfter(session, plan, outcome, commit), context.pause);
  const queued = await queueBeforeCommit(session, plan, step, context);
  const flushes = queued?.flushes ?? session.state.flushes;
  const state = flushes === undefined ? next.state : { ...next.state, flushes };
  await context.pause();
  const tokensBefore = session.providerTokens(plan.tokensBefore);
  const storedVersion = await saveState(session, state, step, context);
  session.commit({ ...next, state }, outcome.messages);
  session.setTokens(outcome.tokensAfter);
  session.storedVersion = storedVersion;
  queued?.handOn();
  const elapsedMs = prepared.spentMs + context.environment.clock() - started;
  const tokensAfter = session.requestTokens;
  const report = reportOf(request, outcome, { archive: receipt, elapsedMs, tokensBefore, tokensAfter });
  await saveSummary(session, request, report, outcome, context);
  announceDone(request, prepared, report, startedAt, context);
  return report;
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

/** Archives the view before anything is dropped; undefined if that fails and `onFailure` is `continue`. */
async function archiveView(
  session: Session,
  { archive, announce, onFailure }: RunContext,
  startedAt: string,
): Promise<ArchiveReceipt | undefined> {
  const step = session.state.step + 1;
  try {
    const saved = await archive.saveTranscript(session.id, step, session.view, session.originals);
    const { location, ids } = saved;
    announce({ kind: "archived", step: saved.step, location, messages: ids.length }, { startedAt });
    return saved;
  } catch (error) {
    if (announceSkipped(error, FALLBACK.withoutArchive, { announce, onFailure, step })) return undefined;
    throw storageFailed("the archive could not be written", error, "an archive");
  }
}

/** Reports a failure; true if the compaction continues without the failed part. */
function announceSkipped(
  error: unknown,
  fallback: string,
  { announce, onFailure, step }: Pick<RunContext, "announce" | "onFailure"> & { readonly step: number },
): boolean {
  const goesOn = onFailure === "continue";
  announce({ kind: "failed", error, fallback: goesOn ? fallback : FALLBACK.nothingPruned, step });
  return goesOn;
}

/** RUN-5: removed messages are queued before the commit and delivered after it. */
async function queueBeforeCommit(
  session: Session,
  plan: CompactionPlan,
  step: number,
  { beforeCommit, announce, onFailure }: RunContext,
): Promise<QueuedWork | undefined> {
  try {
    return await beforeCommit?.queue(session, plan, step);
  } catch (error) {
    if (announceSkipped(error, FALLBACK.withoutMemory, { announce, onFailure, step })) return undefined;
    throw storageFailed("the memory flush could not be queued", error, "a memory");
  }
}

async function saveState(
  session: Session,
  state: SessionState,
  step: number,
  { save, announce }: RunContext,
): Promise<string> {
  try {
    return await save(session, state);
  } catch (error) {
    const fallback = hasCode(error, "Conflict") ? FALLBACK.readAgain : FALLBACK.nothingPruned;
    announce({ kind: "failed", error, fallback, step });
    throw error;
  }
}

async function saveSummary(
  { id }: Session,
  { policy }: CompactionRequest,
  report: CompactionReport,
  outcome: Outcome,
  context: RunContext,
): Promise<void> {
  if (outcome.summary === undefined || report.archive === undefined) return;
  const { archive, announce } = context;
  const { step } = report.archive;
  try {
    await archive.saveSummary(id, step, {
      version: outcome.summary.version,
      text: outcome.summary.text,
      strategy: policy.strategy,
      summarizer: outcome.summarizer ?? "none",
      at: timeOf(context),
      tokens: outcome.summaryTokens,
      tokensBefore: report.tokensBefore,
      tokensAfter: report.tokensAfter,
    });
  } catch (error) {
    announce({ kind: "failed", error, fallback: FALLBACK.summaryNotArchived, step });
  }
}

function storageFailed(what: string, error: unknown, skipped: string): CompactError {
  const { hint = "", place } = CompactError.isInstance(error) ? error : {};
  const first = hint === "" ? "Fix the storage." : hint;
  return new CompactError("StorageFailed", `${what}: ${errorMessage(error)}`, {
    hint: `${first} Or set storage.onFailure to "continue" to prune without ${skipped}.`,
    place,
    cause: error,
  });
}

function announceDone(
  { policy, reason, note }: CompactionRequest,
  { outcome, step, decidedAt, times }: PreparedCompaction,
  report: CompactionReport,
  startedAt: string,
  { announce, model }: RunContext,
): void {
  const decision = { triggered: true, reason };
  const moment = { startedAt: decidedAt, endedAt: decidedAt };
  announce({ kind: "decision", decision, policy, model, report, note, step }, moment);
  if (outcome.summary !== undefined) {
    const { text } = outcome.summary;
    announce({ kind: "summary", report, strategy: policy.strategy, text, step }, times);
  }
  announce({ kind: "pruned", report, model, step }, { startedAt });
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
  readonly #later: Environment["later"];
  /** Cancel functions of compactions scheduled to start later, by session. */
  readonly #timers = new Map<string, () => void>();

  constructor(later: Environment["later"]) {
    this.#later = later;
  }

  /** Calls `start` after `ms`, unless cancelled. */
  startLater(sessionId: string, ms: number, start: () => void): void {
    const begin = (): void => {
      // A compaction prepared for a shorter list does not justify a second one in the same pause.
      if (!this.isRunning(sessionId)) this.forget(sessionId);
      start();
    };
    this.#timers.set(sessionId, this.#later(ms, begin));
  }

  callOff(sessionId: string): void {
    this.#timers.get(sessionId)?.();
    this.#timers.delete(sessionId);
  }

  /** Starts `work` on a snapshot, unless one is already running; failures go to `onError`. */
  start(
    session: Session,
    work: (snapshot: Session, signal: AbortSignal) => Promise<PreparedCompaction | RefusalReason>,
    onError: (error: unknown) => void,
  ): void {
    if (this.#compactions.has(session.id)) return;
    const controller = new AbortController();
    const snapshot = session.snapshot();
    const finished = work(snapshot, controller.signal).then(
      (prepared) => {
        if (typeof prepared !== "string") compaction.prepared = prepared;
      },
      (error: unknown) => {
        if (!controller.signal.aborted) onError(error);
      },
    );
    const compaction: BackgroundCompaction = {
      snapshot,
      prepared: undefined,
      running: true,
      done: finished.then(() => {
        compaction.running = false;
      }),
      cancel: () => controller.abort(),
    };
    this.#compactions.set(session.id, compaction);
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
   * Waits for a prepared compaction and commits it; a manual compaction cancels it instead. Undefined if
   * there is none, the session no longer begins with its snapshot, or the result would not fit.
   */
  async commit(
    session: Session,
    request: CompactionRequest,
    context: RunContext,
  ): Promise<CompactionReport | undefined> {
    const compaction = this.#compactions.get(session.id);
    if (compaction === undefined) return undefined;
    if (request.reason !== "manual") await abortable(compaction.done, request.signal);
    this.forget(session.id);
    const prepared = request.reason === "manual" ? undefined : carryOver(compaction, session, request);
    if (prepared === undefined || prepared.outcome.tokensAfter > request.budget) return undefined;
    return commitCompaction(session, request, prepared, context);
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
  const { length } = snapshot.view;
  if (prepared === undefined || session.view.length < length) return undefined;
  const { outcome } = prepared;
  if (!snapshot.view.every((message, index) => isSame(message, session.view[index]))) return undefined;
  const added = session.view.slice(length);
  const { counter } = session.current;
  const extended = extendPlan(outcome.plan, added, (message) => counter.countMessage(message));
  const moved = fixedTokens - extended.fixedTokens;
  const plan = {
    ...extended,
    fixedTokens,
    tokensBefore: extended.tokensBefore + moved,
    tokensAfter: extended.tokensAfter + moved,
  };
  return {
    ...prepared,
    outcome: {
      ...outcome,
      plan,
      messages: [...outcome.messages, ...added],
      tokensAfter: outcome.tokensAfter + plan.tokensAfter - outcome.plan.tokensAfter,
    },
  };
}

function isSame(before: Message, now: Message | undefined): boolean {
  if (before === now) return true;
  return now !== undefined && before.id === now.id && contentHash(before) === contentHash(now);
}

// ---- the request for a compaction

/** A summary gets at most a tenth of the window, and never more than this. */
const MAX_SUMMARY_TOKENS = 8192;
/**
 * Recalled results are restored up to this share of the trigger, so that no compaction follows immediately.
 */
const ROOM_TO_GROW = 0.75;

/** The compaction of a session's view. */
export function compactionRequest(
  session: Session,
  request: ManualRequest,
  reason: TriggerReason,
  maxSummaryTokens: number | undefined,
): CompactionRequest {
  const { policy, maxContextTokens, reasoningBound, summaryRole } = session.settings;
  const { codec, counter, edit } = session.current;
  const isManual = reason === "manual";
  const tenth = Math.max(256, Math.floor(maxContextTokens / 10));
  // With too many messages, filling up to the target would keep them.
  const target = reason === "max_messages" ? undefined : policy.targetContextTokens;
  return {
    messages: session.view,
    format: codec.format,
    counter,
    policy,
    reason,
    fixedTokens: session.fixedTokens,
    budget: session.budget(),
    mostImages: session.mostImages(),
    answerTokens: session.answerTokens,
    target: isManual ? request.targetTokens : target,
    preferred: isManual ? undefined : session.triggerTokens() * ROOM_TO_GROW,
    maxSummaryTokens: maxSummaryTokens ?? Math.min(MAX_SUMMARY_TOKENS, tenth),
    summaryRole,
    lastSummaryVersion: session.state.summary?.version,
    reasoningBound,
    archiveId: edit.archiveId,
    instructions: new Set(session.view.filter(isProjectInstructions)),
    recalled: session.recalled(),
    note: isManual ? request.note : session.requested || undefined,
    signal: request.signal,
    live: () => liveConversation(session, request),
  };
}

/** The conversation for a model that continues it; undefined if calls are open or the format is unknown. */
function liveConversation(
  session: Session,
  { system, tools, compact }: ManualRequest,
): LiveConversation | undefined {
  const { codec } = session.current;
  if (codec.neutral || codec.format === undefined) return undefined;
  if (groupUnits(session.view).some((unit) => unit.open > 0)) return undefined;
  return {
    prefix: { format: codec.format, messages: codec.encode(session.view), system, tools },
    messages: session.view,
    tokens: session.usage.tokens,
    compact,
  };
}
