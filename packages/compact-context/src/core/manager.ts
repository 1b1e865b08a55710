import {
  CompactError,
  createKeyedMutex,
  errorMessage,
  hasCode,
  requireList,
  requireOptions,
} from "../errors.ts";
import type { CompactionReport, CompactionResult, RefusalReason } from "./apply.ts";
import { conflict } from "./archive.ts";
import {
  type Announce,
  type EventRecorder,
  failureOf,
  tokenEstimate,
  triggerDecision,
  unchangedReport,
  warning,
} from "./events.ts";
import { unsentResults } from "./plan.ts";
import { budgetOf, type Policy, type TriggerDecision, type TriggerReason } from "./policy.ts";
import {
  type Environment,
  FALLBACK,
  type Fence,
  type LiveConversation,
  type Redaction,
  type Summarizer,
  type SummaryAttempt,
} from "./ports.ts";
import {
  BackgroundCompactions,
  type BeforeCommit,
  compactSession,
  prepareCompaction,
  type RunContext,
} from "./run.ts";
import { Session, type SessionSettings } from "./session.ts";
import { Sessions, type Store } from "./store.ts";
import { groupUnits, isProjectInstructions } from "./units.ts";
import type { CompactionRequest, ManualRequest, PreflightRequest } from "./usage.ts";

// The entry to the core: one manager, any number of sessions. Calls for one session run one after the other.

export interface ManagerSettings extends SessionSettings {
  /** The model's name, for events. */
  readonly model: string | undefined;
  /** Most tokens of a summary; a tenth of the window, at most 8,192, when left out. */
  readonly maxSummaryTokens: number | undefined;
  /** The model takes signed reasoning back only behind an unchanged prefix. */
  readonly reasoningBound: boolean;
  /** The driver's kind, such as `fs`, for events. */
  readonly storageKind: string;
  /** What a failed archive does: `stop` refuses the compaction, `continue` goes on without. */
  readonly onStorageFailure: "stop" | "continue";
}

export interface ManagerParts {
  readonly environment: Environment;
  /** Opens archive and session states when they are first needed. */
  open(): Promise<Store>;
  /** The name of this worker among those that share the storage. */
  readonly worker: string;
  readonly redaction: Redaction;
  /** Tried in order. */
  readonly summarizers: readonly Summarizer[];
  readonly recorder: EventRecorder;
  readonly beforeCommit?: BeforeCommit;
  /** Checks the lists of calls before they are read; `report` sends what it finds to the exporters. */
  lists?(report: (sessionId: string, code: string, message: string) => void): ListCheck;
  /** Adds provider and cost to an attempt where they are known. */
  withCost(attempt: SummaryAttempt): SummaryAttempt;
  warn(message: string): void;
}

/** Checks the lists of sessions before they are read. */
export interface ListCheck {
  /** The list to read: repaired where that is asked for, else the same list. */
  prepare<T>(
    sessionId: string,
    list: readonly T[],
    request: Pick<PreflightRequest, "format" | "repair">,
  ): readonly T[];
  /** Finishes the checks that are pending. */
  lintWaiting(): void;
  forget(sessionId: string): void;
}

/** What is known of a session at any time. */
export interface ManagerState {
  /** Tokens of the newest request. */
  readonly totalTokens: number;
  readonly maxContextTokens: number;
  /** Messages of the view: what the model gets. */
  readonly messageCount: number;
  readonly summaryCount: number;
  /** ISO 8601. */
  readonly lastSummaryAt: string | undefined;
  readonly summaryVersion: number | undefined;
  readonly archiveSteps: number;
}

/** The running summary of a session and how far it reaches. */
export interface RunningSummary {
  readonly summary: string;
  readonly summarizedMessageIds: readonly string[];
  readonly lastSummarizedMessageId: string | undefined;
}

/** Sent to listeners after a compaction. */
export interface CompactionNotice {
  readonly sessionId: string;
  readonly report: CompactionReport;
}

/** Conflicts in one call before it fails: each means that another worker went on, so many mean another fault. */
const MAX_CONFLICTS = 20;
/** A summary gets at most a tenth of the window, and never more than this. */
const MAX_SUMMARY_TOKENS = 8192;
/** How long `flush` waits for hooks that take in memories. */
const FLUSH_WAIT_MS = 2000;
/** Recalled results are put back up to this share of the trigger, so that no compaction follows at once. */
const ROOM_TO_GROW = 0.75;

interface Call<T> {
  readonly sessionId: string;
  readonly messages: readonly T[];
  readonly request: ManualRequest;
  readonly manual: boolean;
  /** Milliseconds of the steady clock. */
  readonly started: number;
}

/** Keeps sessions inside the window: `preflight` before every model call gives back the list to send. */
export class SessionManager {
  readonly #settings: ManagerSettings;
  readonly #parts: ManagerParts;
  readonly #sessions: Sessions;
  readonly #recorder: EventRecorder;
  readonly #lists: ListCheck | undefined;
  #background: BackgroundCompactions | undefined;
  readonly #listeners = new Set<(notice: CompactionNotice) => void>();
  readonly #inTurn = createKeyedMutex();
  #toldServerManaged = false;

  constructor(settings: ManagerSettings, parts: ManagerParts) {
    this.#settings = settings;
    this.#parts = parts;
    const { open, redaction, worker, environment, warn, recorder } = parts;
    const now = (): Date => environment.now();
    this.#sessions = new Sessions({
      open,
      redaction,
      worker,
      now,
      warn,
      inTurn: this.#inTurn,
      onForget: (sessionId) => this.#background?.forget(sessionId),
    });
    this.#recorder = recorder;
    this.#lists = parts.lists?.((...found) => this.warn(...found));
  }

  /** The model's window in tokens. */
  get maxContextTokens(): number {
    return this.#settings.maxContextTokens;
  }

  /**
   * Compacts the list that is about to be sent, raw or our last output followed by new messages, when a threshold is
   * reached. Returns the caller's own array when nothing has to change. Entries are recognised by object: replace an
   * entry instead of changing it in place, else its old text and count are used.
   * Throws `InsufficientBudget` when what must stay does not fit, `StorageFailed` when the archive cannot be
   * written and the list is over the budget, `InvalidMessages` for entries that cannot be read, `Conflict` when
   * other workers continued the session and the list is behind: read it again.
   */
  preflight<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: PreflightRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: false, started: this.#clock() });
  }

  /** Compacts at any usage, unless nothing is new since the last compaction; errors as `preflight`. */
  manualCompact<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: ManualRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: true, started: this.#clock() });
  }

  /** True for a request over its budget; throws as `preflight` for a list that cannot be read. */
  isOverBudget(messages: readonly unknown[], request: PreflightRequest = {}): boolean {
    requireList(messages);
    requireOptions(request, "request");
    const session = new Session("");
    session.observe(messages, request, this.#settings, this.#parts.environment.now());
    return session.isOver(this.#settings);
  }

  /** What is known of a session in memory; zeros for any other. */
  getState(sessionId: string): ManagerState {
    const session = this.#sessions.peek(sessionId);
    return {
      totalTokens: session?.requestTokens ?? 0,
      maxContextTokens: this.maxContextTokens,
      messageCount: session?.view.length ?? 0,
      summaryCount: session?.state.summaryCount ?? 0,
      lastSummaryAt: session?.state.summary?.at,
      summaryVersion: session?.state.summary?.version,
      archiveSteps: session?.state.step ?? 0,
    };
  }

  /** The session's summary and the messages that it covers; undefined while its list has none. */
  getRunningSummary(sessionId: string): RunningSummary | undefined {
    const state = this.#sessions.peek(sessionId)?.activeState;
    if (state?.summary === undefined) return undefined;
    const { summary, summarizedMessageIds } = state;
    return {
      summary: summary.text,
      summarizedMessageIds,
      lastSummarizedMessageId: summarizedMessageIds.at(-1),
    };
  }

  /** Sends a warning to the exporters; `code` is a stable word. That nothing is compacted is also told to `onWarning`, once. */
  warn(sessionId: string, code: string, message: string): void {
    if (code === "server_managed_history" && !this.#toldServerManaged) {
      this.#toldServerManaged = true;
      this.#parts.warn(message);
    }
    this.#recorder.announcer(sessionId)(warning({ severity: "medium", code, message }));
  }

  /** Calls back after every compaction; the returned function removes the listener. */
  onCompaction(listener: (notice: CompactionNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Resolves when every session's state and all events so far are stored and exported; a later process then resumes
   * without counting or summarizing anything again. An exporter that delivers nothing for two seconds is skipped, and
   * a warning says how many events it missed. Waits up to two seconds for memory flush hooks.
   */
  async flush(): Promise<void> {
    this.#lists?.lintWaiting();
    for (const id of this.#sessions.ids()) await this.#inTurn(id, () => this.#sessions.keep(id));
    await this.#recorder.flush();
    await this.#parts.beforeCommit?.settle(FLUSH_WAIT_MS);
  }

  /** Removes a session from memory after its pending calls; archive and stored state stay. */
  release(sessionId: string): Promise<void> {
    this.#lists?.forget(sessionId);
    return this.#inTurn(sessionId, async () => this.#sessions.forget(sessionId));
  }

  async #run<T>(call: Call<T>): Promise<CompactionResult<T>> {
    requireList(call.messages);
    requireOptions(call.request, "request");
    const messages = this.#lists?.prepare(call.sessionId, call.messages, call.request) ?? call.messages;
    return this.#inTurn(call.sessionId, () => this.#retryConflicts({ ...call, messages }));
  }

  /** After a conflict with another worker, reads the session's state again and retries. */
  async #retryConflicts<T>(call: Call<T>): Promise<CompactionResult<T>> {
    let overtaken = false;
    for (let attempt = 0; ; attempt += 1) {
      const session = await this.#sessions.get(call.sessionId);
      try {
        return await this.#attempt(call, session, overtaken);
      } catch (error) {
        if (!hasCode(error, "Conflict") || attempt >= MAX_CONFLICTS) throw error;
        // Others continued the session beyond this list.
        if (overtaken && session.reset) throw error;
        overtaken ||= !session.reset;
        this.#sessions.forget(call.sessionId);
      }
    }
  }

  async #attempt<T>(call: Call<T>, session: Session, overtaken: boolean): Promise<CompactionResult<T>> {
    const announce = this.#recorder.announcer(call.sessionId);
    session.observe(call.messages, call.request, this.#settings, this.#parts.environment.now());
    // The list may continue a state that another worker stored.
    if (session.reset && (overtaken || (await this.#sessions.isOutdated(session))))
      throw conflict(session.id);
    this.#announceEstimate(session, announce);
    const truncated = await this.#truncateUnsent(call, session, announce);
    if (truncated !== undefined) {
      const again = { ...call.request, usage: undefined, cacheCold: session.cacheCold };
      session.observe(call.messages, again, this.#settings, this.#parts.environment.now());
    }
    const { model, policy } = this.#settings;
    const decision = session.decide(call.manual, this.#settings);
    const outcome = decision.triggered
      ? await this.#compact(call, session, decision, announce)
      : refusalFor(decision.reason);
    if (typeof outcome === "object") {
      session.stall = undefined;
      this.#warnOfFrequent(session, outcome, announce);
      return this.#compacted(session, outcome);
    }
    const reason = outcome === undefined ? decision.reason : reasonFor(outcome);
    if (decision.triggered && outcome !== "in_background") session.fail(reason);
    if (reason === "below_trigger") this.#startBackground(call, session, announce);
    if (reason === "fixed_over_trigger") this.#warnOfFixedPart(session, announce);
    if (session.isOver(this.#settings)) throw this.#refused(session, decision, announce);
    if (truncated !== undefined) return this.#compacted(session, truncated);
    // A failed attempt was reported where it failed.
    const announced = decision.triggered && outcome === "attempts_failed";
    if (!announced) announce(triggerDecision({ triggered: false, reason }, policy, { model }));
    return this.#passed(call, session, reason, outcome);
  }

  /** Cuts tool results over the limit before they are first sent: later it would break the cached prefix. */
  async #truncateUnsent<T>(
    call: Call<T>,
    session: Session,
    announce: Announce,
  ): Promise<CompactionReport | undefined> {
    const { policy } = this.#settings;
    if (call.manual || policy.maxToolResultTokens === undefined) return undefined;
    if (unsentResults(session.view, policy, session.current.edit.countText).length === 0) return undefined;
    const usagePct = session.usage.tokens / this.maxContextTokens;
    const decision: TriggerDecision = { triggered: true, reason: "tool_output", usagePct };
    const outcome = await this.#compact(call, session, decision, announce);
    return typeof outcome === "string" ? undefined : outcome;
  }

  /** A reason instead of a report when nothing can be gained, or when it failed and the list fits. */
  async #compact<T>(
    call: Call<T>,
    session: Session,
    decision: TriggerDecision,
    announce: Announce,
  ): Promise<CompactionReport | RefusalReason> {
    try {
      const report = await this.#runAlone(call, session, decision, announce);
      if (typeof report !== "string") this.#notify({ sessionId: session.id, report });
      return report;
    } catch (error) {
      const refused = this.#canSendUncompacted(call, session) ? recoverableRefusal(error) : undefined;
      // A conflict is retried; nothing to compact is reported as a decision.
      if (!hasCode(error, "Conflict") && refused !== "nothing_to_compact") {
        const { model, policy } = this.#settings;
        announce(triggerDecision(decision, policy, { model, error, note: call.request.note }));
      }
      if (refused !== undefined) return refused;
      if (hasCode(error, "InsufficientBudget")) announce(failureOf(error, FALLBACK.none));
      throw error;
    } finally {
      await this.#recorder.write(session.id);
    }
  }

  #notify(notice: CompactionNotice): void {
    for (const listener of this.#listeners) {
      (async () => listener(notice))().catch((error: unknown) =>
        this.#parts.warn(`a compaction listener failed: ${errorMessage(error)}`),
      );
    }
  }

  async #runAlone<T>(
    call: Call<T>,
    session: Session,
    decision: TriggerDecision,
    announce: Announce,
  ): Promise<CompactionReport | RefusalReason> {
    const request = this.#requestFor(call, session, decision);
    const mayUsePrepared = decision.reason !== "tool_output";
    if (
      mayUsePrepared &&
      this.#background?.isRunning(session.id) &&
      this.#canSendUncompacted(call, session)
    ) {
      return "in_background";
    }
    return this.#sessions.runAlone(
      session,
      async (fence) => {
        const context = await this.#runContext(announce, fence);
        const prepared = mayUsePrepared
          ? await this.#background?.commit(session, request, context)
          : undefined;
        return prepared ?? compactSession(session, request, context);
      },
      call.request.signal,
    );
  }

  #requestFor<T>(call: Call<T>, session: Session, decision: TriggerDecision): CompactionRequest {
    const { policy, maxContextTokens, maxSummaryTokens, reasoningBound, summaryRole } = this.#settings;
    const { codec, counter, edit } = session.current;
    const { note, targetTokens, signal } = call.request;
    const tenth = Math.max(256, Math.floor(maxContextTokens / 10));
    return {
      messages: session.view,
      format: codec.format,
      counter,
      policy,
      reason: decision.reason,
      fixedTokens: session.fixedTokens,
      budget: session.budget(this.#settings),
      answerTokens: session.answerTokens,
      target: call.manual ? targetTokens : policy.targetContextTokens,
      preferred: call.manual ? undefined : this.#triggerTokens(session) * ROOM_TO_GROW,
      maxSummaryTokens: maxSummaryTokens ?? Math.min(MAX_SUMMARY_TOKENS, tenth),
      summaryRole,
      lastSummaryVersion: session.state.summary?.version,
      reasoningBound,
      archiveId: edit.archiveId,
      pinned: new Set(session.view.filter(isProjectInstructions)),
      recalled: session.recalled(),
      note: call.manual ? note : undefined,
      signal,
      live: () => liveConversation(session, call.request),
    };
  }

  async #runContext(announce: Announce, fence?: Fence): Promise<RunContext> {
    const { open, environment, summarizers, beforeCommit, withCost } = this.#parts;
    const { archive } = await open();
    return {
      archive,
      summarizers,
      announce,
      model: this.#settings.model,
      storageKind: this.#settings.storageKind,
      onFailure: this.#settings.onStorageFailure,
      beforeCommit,
      now: () => environment.now().toISOString(),
      clock: () => environment.clock(),
      save: (session, state) => this.#sessions.save(session, state, fence),
      withCost,
    };
  }

  /** Over `backgroundTriggerPct`, prepares a compaction in the background. */
  #startBackground<T>(call: Call<T>, session: Session, announce: Announce): void {
    const { backgroundTriggerPct } = this.#settings.policy;
    const usagePct = session.usage.tokens / this.maxContextTokens;
    if (backgroundTriggerPct === undefined || usagePct < backgroundTriggerPct) return;
    if (!session.hasGrown(this.maxContextTokens)) return;
    const decision: TriggerDecision = { triggered: true, reason: "trigger_pct", usagePct };
    this.#background ??= new BackgroundCompactions();
    this.#background.start(
      session,
      async (snapshot, signal) => {
        const request = this.#requestFor(
          { ...call, request: { ...call.request, signal } },
          snapshot,
          decision,
        );
        return prepareCompaction(snapshot, request, await this.#runContext(announce));
      },
      (error) => announce(failureOf(error, FALLBACK.atTrigger)),
    );
  }

  /** The list fits, and no compaction was requested. */
  #canSendUncompacted<T>(call: Call<T>, session: Session): boolean {
    const fits = !session.isOver(this.#settings) && session.bytes <= this.#settings.policy.maxRequestBytes;
    return fits && !call.manual;
  }

  /** Tokens at which an automatic compaction starts. */
  #triggerTokens({ answerTokens }: Session): number {
    const { policy, maxContextTokens } = this.#settings;
    return Math.min(maxContextTokens * policy.triggerPct, budgetOf(maxContextTokens, policy, answerTokens));
  }

  #compacted<T>(session: Session, report: CompactionReport): CompactionResult<T> {
    session.setTokens(report.tokensAfter);
    const messages = session.current.codec.encode(session.view) as T[];
    return { messages, summary: session.state.summary?.text, report };
  }

  /** The result of a call that changed nothing: the caller's array, or the view of an earlier compaction. */
  #passed<T>(
    call: Call<T>,
    session: Session,
    reason: TriggerReason,
    refused: RefusalReason | undefined,
  ): CompactionResult<T> {
    const { codec } = session.current;
    const size = { messages: session.view.length, elapsedMs: this.#clock() - call.started, refused };
    return {
      messages: session.asGiven ? (call.messages as T[]) : (codec.encode(session.view) as T[]),
      summary: session.activeState.summary?.text,
      report: unchangedReport(reason, codec.format, session.usage, size),
    };
  }

  /** FIT-6: the error for a list over its budget of which nothing can leave. */
  #refused({ usage, answerTokens }: Session, decision: TriggerDecision, announce: Announce): CompactError {
    const { model, policy } = this.#settings;
    const budget = budgetOf(this.maxContextTokens, policy, answerTokens);
    const error = new CompactError(
      "InsufficientBudget",
      `the request takes ${usage.tokens} tokens, but only ${budget} are available, and nothing of it can leave`,
      { hint: "Shorten the newest messages, the system prompt or the tools, or raise the context limit." },
    );
    announce(triggerDecision({ ...decision, triggered: true }, policy, { model, error }));
    announce(failureOf(error, FALLBACK.none));
    return error;
  }

  /** Warns once where compactions are frequent, and names the setting that helps. */
  #warnOfFrequent(session: Session, report: CompactionReport, announce: Announce): void {
    if (report.reason === "manual" || !session.noteInterval()) return;
    const message =
      `session ${session.id} is compacted every few calls: ${report.tokensAfter} of ${this.maxContextTokens} tokens ` +
      `have to stay each time. To compact less often, ${adviceFor(session, report, this.#settings.policy)}, or use a ` +
      "larger window";
    this.#parts.warn(message);
    announce(warning({ severity: "medium", code: "compacts_often", message }));
  }

  #announceEstimate(session: Session, announce: Announce): void {
    if (session.reset) {
      session.reset = false;
      const message = "messages that were already summarized have changed; the list is used as it is now";
      announce(warning({ severity: "low", code: "history_changed", message }));
    }
    announce(tokenEstimate(this.#settings.model ?? "unknown", session.usage, this.maxContextTokens));
  }

  #warnOfFixedPart(session: Session, announce: Announce): void {
    if (session.warnedOfFixedPart) return;
    session.warnedOfFixedPart = true;
    const message =
      `the system prompt, tools and protected messages take ${session.fixedPart()} of ${this.maxContextTokens} ` +
      "tokens, which is over the trigger: compacting cannot help until the hard cap. Reduce them, or raise the trigger";
    this.#parts.warn(message);
    announce(warning({ severity: "high", code: "fixed_over_trigger", message }));
  }

  #clock(): number {
    return this.#parts.environment.clock();
  }
}

/** The setting of the layer that takes most of the list after a compaction. */
function adviceFor({ fixedTokens }: Session, report: CompactionReport, policy: Policy): string {
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

/** The refusal for failures that are no reason to reject a list that fits. */
function recoverableRefusal(error: unknown): RefusalReason | undefined {
  if (hasCode(error, "StorageFailed")) return "attempts_failed";
  return hasCode(error, "InsufficientBudget") ? "nothing_to_compact" : undefined;
}

/** The refusal of a decision against a compaction that was due. */
function refusalFor(reason: TriggerReason): RefusalReason | undefined {
  if (reason === "nothing_eligible") return "nothing_to_compact";
  const isRefusal =
    reason === "just_compacted" || reason === "attempts_failed" || reason === "fixed_over_trigger";
  return isRefusal ? reason : undefined;
}

function reasonFor(refused: RefusalReason): TriggerReason {
  return refused === "nothing_to_compact" || refused === "no_gain" ? "nothing_eligible" : refused;
}

/** The conversation for a model that continues it; undefined where calls are open or the format is unknown. */
function liveConversation(
  session: Session,
  { system, tools }: PreflightRequest,
): LiveConversation | undefined {
  const { codec } = session.current;
  if (codec.neutral || codec.format === undefined) return undefined;
  if (groupUnits(session.view).some((unit) => unit.open > 0)) return undefined;
  return {
    prefix: { format: codec.format, messages: codec.encode(session.view), system, tools },
    messages: session.view,
    tokens: session.usage.tokens,
  };
}
