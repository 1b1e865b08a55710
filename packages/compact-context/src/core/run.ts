import { abortable, CompactError, errorMessage, hasCode } from "../errors.ts";
import { applyPlan, type CompactionReport, type Outcome, type RefusalReason, reportOf } from "./apply.ts";
import type { ArchiveStore, SavedTranscript } from "./archive.ts";
import {
  type Announce,
  archival,
  attemptFailure,
  type EventDescription,
  failure,
  failureOf,
  prunedMessages,
  type StepTimes,
  summaryCreated,
  triggerDecision,
  warning,
} from "./events.ts";
import { contentHash, type Message } from "./message.ts";
import { type CompactionPlan, extendPlan, planRequest } from "./plan.ts";
import { isPinned, type Policy } from "./policy.ts";
import { FALLBACK, type LiveConversation, type Summarizer, type SummaryAttempt } from "./ports.ts";
import type { Session } from "./session.ts";
import { archiveId } from "./transcript.ts";
import { findMalformations, groupUnits } from "./units.ts";
import type { CompactionRequest, PreflightRequest } from "./usage.ts";
import type { ReplacedState, SessionState } from "./view.ts";

// One compaction of a session: plan, archive, apply, commit. It may be prepared in the background and committed later.
// When it fails, the session is unchanged.

/** Work that must be durable before a commit, such as queueing what leaves the list for a memory. */
export interface BeforeCommit {
  queue(session: Session, plan: CompactionPlan, step: number): Promise<QueuedWork | undefined>;
  /** Resolves when no queued work is running, or after `ms`. */
  settle(ms: number): Promise<void>;
}

export interface QueuedWork {
  /** Ids for the state that the compaction commits. */
  readonly flushes: readonly string[];
  handOn(): void;
}

export interface RunContext {
  readonly archive: ArchiveStore;
  readonly summarizers: readonly Summarizer[];
  readonly announce: Announce;
  readonly model: string | undefined;
  readonly storageKind: string;
  /** What a failed archive does: `stop` refuses the compaction, `continue` goes on without. */
  readonly onFailure: "stop" | "continue";
  readonly beforeCommit?: BeforeCommit;
  now(): string;
  /** Milliseconds of a steady clock. */
  clock(): number;
  /** Makes the new state durable; rejects with `Conflict` when another worker was quicker. */
  save(session: Session, state: SessionState): Promise<string>;
  /** Adds provider and cost to an attempt, where they are known. */
  withCost(attempt: SummaryAttempt): SummaryAttempt;
}

/** A compaction that is not committed yet: the session is unchanged. */
export interface PreparedCompaction {
  readonly outcome: Outcome;
  readonly receipt: SavedTranscript | undefined;
  /** Its number in the session and of its archive files. */
  readonly step: number;
  readonly spentMs: number;
  /** ISO 8601: when the plan was made. */
  readonly decidedAt: string;
  readonly times: StepTimes;
}

/** Compacts a session, or returns why it is unchanged. */
export async function compactSession(
  session: Session,
  request: CompactionRequest,
  context: RunContext,
): Promise<CompactionReport | RefusalReason> {
  const prepared = await prepareCompaction(session, request, context);
  return typeof prepared === "string" ? prepared : commitCompaction(session, request, prepared, context);
}

/** Plans, archives and summarizes; changes nothing in the session. */
export async function prepareCompaction(
  session: Session,
  request: CompactionRequest,
  context: RunContext,
): Promise<PreparedCompaction | RefusalReason> {
  const { announce } = context;
  const started = context.clock();
  const plan = planRequest(request);
  const refused = refusalOf(request, plan);
  if (refused !== undefined) return refused;
  const decidedAt = context.now();
  announceMalformed(request.messages, announce);
  const receipt = await archiveView(session, context, decidedAt);
  const step = receipt?.step ?? session.state.step + 1;
  const startedAt = context.now();
  const outcome = await applyPlan(request, plan, {
    summarizers: context.summarizers,
    step: receipt?.step,
    onAttempt: (attempt) => announce(attemptFailure(context.withCost(attempt), step)),
    onFailure: ({ error, fallback, attempt }) =>
      announce(failureOf(error, fallback, { attempt: attempt && context.withCost(attempt), step })),
  }).catch((error: unknown) => {
    // A step that was archived needs a last event.
    if (request.signal?.aborted) announce(failureOf(error, FALLBACK.nothingPruned, { step }));
    throw error;
  });
  const times = { startedAt, endedAt: context.now() };
  return { outcome, receipt, step, decidedAt, spentMs: context.clock() - started, times };
}

/** Commits a compaction to the session whose view it was prepared for. */
async function commitCompaction(
  session: Session,
  request: CompactionRequest,
  prepared: PreparedCompaction,
  context: RunContext,
): Promise<CompactionReport> {
  const started = context.clock();
  const startedAt = context.now();
  const { outcome, receipt } = prepared;
  const { plan } = outcome;
  // Without an archive, another compaction may have used the number since.
  const step = Math.max(prepared.step, session.state.step + (receipt === undefined ? 1 : 0));
  const rewrote = request.reason !== "tool_output";
  const next = session.next(plan, outcome, { step, at: context.now(), rewrote });
  const queued = await queueBeforeCommit(session, plan, step, context);
  const flushes = queued?.flushes ?? session.state.flushes;
  const state = flushes === undefined ? next.state : { ...next.state, flushes };
  const storedVersion = await saveState(session, state, step, context);
  session.commit({ ...next, state }, outcome.messages);
  session.storedVersion = storedVersion;
  queued?.handOn();
  const elapsedMs = prepared.spentMs + context.clock() - started;
  const report = reportOf(request, outcome, { archive: receipt, elapsedMs });
  await saveSummary(session, request, report, outcome, context);
  announceDone(request, prepared, report, startedAt, context);
  return report;
}

/**
 * FIT-8. Refuses a compaction that gains nothing, also a manual one: everything must stay, only the earlier summary would
 * be summarized again, or the list would not become shorter.
 */
function refusalOf(
  { reason, budget, target = budget, messages }: CompactionRequest,
  plan: CompactionPlan,
): RefusalReason | undefined {
  const changed = plan.entries.filter((entry) => entry.action !== "keep");
  if (changed.length === 0) return "nothing_to_compact";
  if (reason === "max_bytes") return undefined;
  const onlySummary = changed.every(({ index }) => messages[index]?.meta?.summaryVersion !== undefined);
  if (onlySummary && plan.tokensBefore <= Math.min(budget, target)) return "nothing_to_compact";
  return plan.tokensAfter < plan.tokensBefore ? undefined : "no_gain";
}

function announceMalformed(messages: readonly Message[], announce: Announce): void {
  const faults = findMalformations(messages);
  if (faults.length === 0) return;
  const shown = faults.slice(0, 8).map((fault) => `messages[${fault.index}]: ${fault.explanation}`);
  announce(
    failure({
      errorType: "MalformedMessages",
      message: shown.join("; "),
      fallback: FALLBACK.asTheyAre,
    }),
  );
}

/** Archives the view before anything is dropped; undefined where it fails and `onFailure` is `continue`. */
async function archiveView(
  session: Session,
  { archive, announce, storageKind, onFailure }: RunContext,
  startedAt: string,
): Promise<SavedTranscript | undefined> {
  const step = session.state.step + 1;
  try {
    const saved = await archive.saveTranscript(session.id, step, session.view);
    const { location, ids } = saved;
    const event = { sessionId: session.id, step: saved.step, storageAdapter: storageKind, location };
    announce(archival({ ...event, messages: ids.length }), { startedAt });
    return saved;
  } catch (error) {
    if (announceSkipped(error, FALLBACK.withoutArchive, { announce, onFailure, step })) return undefined;
    throw storageFailed("the archive could not be written", error, "an archive");
  }
}

/** Reports a failure; true where the compaction continues without what failed. */
function announceSkipped(
  error: unknown,
  fallback: string,
  { announce, onFailure, step }: Pick<RunContext, "announce" | "onFailure"> & { readonly step: number },
): boolean {
  const goesOn = onFailure === "continue";
  announce(failureOf(error, goesOn ? fallback : FALLBACK.nothingPruned, { step }));
  return goesOn;
}

/** RUN-5: what leaves is queued before the commit and handed on after it. */
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
    const overtaken = hasCode(error, "Conflict");
    announce(failureOf(error, overtaken ? FALLBACK.readAgain : FALLBACK.nothingPruned, { step }));
    throw error;
  }
}

async function saveSummary(
  { id }: Session,
  { policy }: CompactionRequest,
  report: CompactionReport,
  outcome: Outcome,
  { archive, announce, now }: RunContext,
): Promise<void> {
  if (outcome.summary === undefined || report.archive === undefined) return;
  const { step } = report.archive;
  try {
    await archive.saveSummary(id, step, {
      version: outcome.summary.version,
      text: outcome.summary.text,
      strategy: policy.strategy,
      summarizer: outcome.summarizer ?? "none",
      at: now(),
      tokens: outcome.summaryTokens,
      tokensBefore: report.tokensBefore,
      tokensAfter: report.tokensAfter,
    });
  } catch (error) {
    announce(failureOf(error, FALLBACK.summaryNotArchived, { step }));
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
  request: CompactionRequest,
  { outcome, step, decidedAt, times }: PreparedCompaction,
  report: CompactionReport,
  startedAt: string,
  { announce, withCost, model }: RunContext,
): void {
  const { policy, reason, note } = request;
  const decision = { triggered: true, reason };
  const moment = { startedAt: decidedAt, endedAt: decidedAt };
  announce(triggerDecision(decision, policy, { model, report, note, step }), moment);
  if (outcome.summary !== undefined) {
    const costed = { ...report, attempts: report.attempts.map(withCost) };
    announce(summaryCreated(costed, policy.strategy, { text: outcome.summary.text, step }), times);
  }
  announce(prunedMessages(report, { model, step }), { startedAt });
  const cut = latestMessageCut(report);
  if (cut !== undefined) announce(cut);
}

/** The warning where the user's latest message was cut. */
function latestMessageCut({ plan }: CompactionReport): EventDescription | undefined {
  const entry = plan?.newestAsk?.fate === "cut" ? plan.entries[plan.newestAsk.index] : undefined;
  if (entry === undefined) return undefined;
  const message =
    `the user's newest request was cut from ${entry.tokens} to ${entry.tokensAfter} tokens: with the system prompt, ` +
    "tools and protected messages it does not fit; the archive has all of it";
  return warning({ severity: "medium", code: "ask_cut", message });
}

// ---- undoing one

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

// ---- background compactions

interface BackgroundCompaction {
  /** The session at its start. */
  readonly snapshot: Session;
  /** Undefined while it runs, and where it failed or gains nothing. */
  prepared: PreparedCompaction | undefined;
  running: boolean;
  /** Resolves when it no longer runs; never rejects. */
  readonly done: Promise<void>;
  cancel(): void;
}

/** Compactions in preparation, at most one for each session; they change nothing before they are committed. */
export class BackgroundCompactions {
  readonly #compactions = new Map<string, BackgroundCompaction>();

  /** Starts `work` on a snapshot, unless one runs already; `onError` receives its failure. */
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

  /** Cancels a session's compaction. */
  forget(sessionId: string): void {
    this.#compactions.get(sessionId)?.cancel();
    this.#compactions.delete(sessionId);
  }

  /**
   * Waits for a prepared compaction and commits it; a manual compaction cancels it instead. Undefined when there is
   * none, the session no longer begins with its snapshot, or the result would not fit.
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
 * The prepared compaction for the session's current list: later messages stay after it, and fixed tokens are those of
 * this call. Undefined when the session no longer begins with the snapshot, message by message.
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

/** The conversation for a model that continues it; undefined where calls are open or the format is unknown. */
export function liveConversation(
  session: Session,
  { system, tools, compact }: PreflightRequest,
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

/** The setting of the layer that takes most of the list after a compaction. */
export function adviceFor({ fixedTokens }: Session, report: CompactionReport, policy: Policy): string {
  const { pinned, recent, toolPairs } = report.layers.after;
  const fixed = fixedTokens + pinned.tokens;
  if (fixed >= Math.max(recent.tokens, toolPairs.tokens)) {
    return "shorten the system prompt, the tools or the protected messages";
  }
  if (recent.tokens >= toolPairs.tokens) {
    return `lower policy.keepRecentTurns, now ${policy.keepRecentTurns}`;
  }
  return `set policy.maxToolResultTokens, or lower policy.keepToolIoPairs, now ${policy.keepToolIoPairs}`;
}
