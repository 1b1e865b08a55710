import {
  CompactError,
  conflict,
  createKeyedMutex,
  errorMessage,
  hasCode,
  requireList,
  runInSteps,
  type Steps,
} from "../errors.ts";
import type { Message } from "./message.ts";
import { unsentResults } from "./plan.ts";
import { coldShare, type TriggerDecision, type TriggerReason } from "./policy.ts";
import { FALLBACK, type Fence } from "./ports.ts";
import {
  type Announce,
  type CompactionNotice,
  type CompactionReport,
  type CompactionResult,
  type EventRecorder,
  type Malformation,
  type ManagerState,
  type RefusalReason,
  type RequestedCompaction,
  type RunningSummary,
  reasonFor,
  recoverableRefusal,
  refusalFor,
  type UndoneCompaction,
  unchangedReport,
} from "./report.ts";
import { BackgroundCompactions, Compaction, nothingToUndo, type RunContext, undoCompaction } from "./run.ts";
import { Session } from "./session.ts";
import { Sessions, type StoreParts } from "./store.ts";
import { type ManualRequest, type PreflightRequest, requireRequest, type SessionSettings } from "./usage.ts";

// The entry point of the core: one manager, any number of sessions. Calls for one session run sequentially.

export interface ManagerSettings extends SessionSettings {
  /** Maximum tokens of a summary. Default: a tenth of the window, at most 8,192. */
  readonly maxSummaryTokens: number | undefined;
  /** On archive failure: `stop` refuses the compaction, `continue` compacts without an archive. */
  readonly onStorageFailure: "stop" | "continue";
  /** The settings of a call that names another model; always returns the same object for the same name. */
  forModel?(model: string): SessionSettings;
}

export interface ManagerParts
  extends StoreParts,
    Pick<RunContext, "environment" | "pause" | "summarizers" | "beforeCommit"> {
  readonly recorder: EventRecorder;
  /** Checks the lists of calls before they are read; `report` sends its findings to the exporters. */
  lists?(report: (sessionId: string, code: string, message: string) => void): ListCheck;
}

/** Checks the lists of sessions before they are read. */
export interface ListCheck {
  /** The list to read: repaired if requested, else the same list. */
  prepare<T>(
    sessionId: string,
    list: readonly T[],
    request: Pick<PreflightRequest, "format" | "repair">,
  ): Promise<readonly T[]>;
  /** Completes pending checks. */
  lintWaiting(): Promise<void>;
  /** Finds malformations that no provider accepts. */
  findFaults(messages: readonly Message[]): Steps<readonly Malformation[]>;
  forget(sessionId: string): void;
}

/**
 * A model can request a compaction from this share of the trigger, and this many calls after the last one.
 */
const MIN_REQUESTED_SHARE = 0.5;
const MIN_REQUESTED_CALLS = 10;
/** Maximum conflicts per call; after each, the session is reloaded and the call retried. */
const MAX_CONFLICTS = 20;
/** Warnings that nothing is compacted, or that calls are made without thinking. */
const TOLD_CODES: ReadonlySet<string> = new Set(["server_managed_history", "reasoning_refused"]);
/** How long `flush` waits for memory flush hooks. */
const FLUSH_WAIT_MS = 2000;

interface Call {
  readonly sessionId: string;
  readonly messages: readonly unknown[];
  readonly request: ManualRequest;
  readonly manual: boolean;
  /** Milliseconds of the monotonic clock. */
  readonly started: number;
  /** Another worker stored the session during the call. */
  readonly overtaken?: boolean;
}

/** Keeps sessions within the window: `preflight`, before every model call, returns the list to send. */
export class SessionManager {
  readonly #settings: ManagerSettings;
  readonly #parts: ManagerParts;
  readonly #sessions: Sessions;
  readonly #lists: ListCheck | undefined;
  /** Made when one is first prepared. */
  #background: BackgroundCompactions | undefined;
  readonly #listeners = new Set<(notice: CompactionNotice) => void>();
  readonly #inTurn = createKeyedMutex();
  readonly #told = new Set<string>();

  constructor(settings: ManagerSettings, parts: ManagerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#sessions = new Sessions({
      ...parts,
      policy: settings.policy,
      inTurn: this.#inTurn,
      onForget: (sessionId) => this.#background?.forget(sessionId),
      onEvict: (sessionId) => this.#lists?.forget(sessionId),
    });
    this.#lists = parts.lists?.((...found) => this.warn(...found));
  }

  /** The model's window in tokens. */
  get maxContextTokens(): number {
    return this.#settings.maxContextTokens;
  }

  /**
   * Compacts the list to be sent, raw or our last output followed by new messages, when a threshold is
   * reached. Returns the caller's own array if nothing changes. Entries are compared by object identity:
   * replace an entry instead of mutating it, otherwise its old text and count are used. Throws
   * `InsufficientBudget` if what must stay does not fit, `StorageFailed` if the archive cannot be written and
   * the list is over the budget, `InvalidMessages` for entries that cannot be read, `Conflict` if the list is
   * over the budget and other workers continued the session meanwhile: reload the conversation.
   */
  preflight<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: PreflightRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: false });
  }

  /**
   * Compacts regardless of usage, unless nothing is new since the last compaction; throws like `preflight`.
   */
  manualCompact<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: ManualRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: true });
  }

  /**
   * Undoes the session's newest compaction, once; earlier ones remain. The next preflight returns the list as
   * before the compaction, followed by later messages, and compacts it again only if it is over its budget,
   * on a manual call, or once it has grown by 5 % of the window. An application that passes raw lists needs
   * nothing else; one that stores our output passes it as `messages` and continues with those of the result.
   * Rejects with `NotFound` if there is nothing to undo.
   */
  async undo<T = unknown>(
    sessionId: string,
    messages?: readonly T[],
    request: PreflightRequest = {},
  ): Promise<UndoneCompaction<T>> {
    if (messages !== undefined) requireList(messages);
    requireRequest(request);
    return this.#inTurn(sessionId, async () => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await this.#undo(sessionId, messages, request);
        } catch (error) {
          if (!hasCode(error, "Conflict")) throw error;
          this.#sessions.forget(sessionId);
          if (attempt >= MAX_CONFLICTS) throw overtakenByOthers(sessionId, error);
        }
      }
    });
  }

  /**
   * Requests a compaction at the next preflight, as a model's own tool does; `note` says what the summary
   * should preserve. Refused below half of the trigger, and for ten calls after a compaction.
   */
  requestCompaction(sessionId: string, note = ""): RequestedCompaction {
    const session = this.#sessions.peek(sessionId);
    if (session?.context === undefined) return { accepted: false, tokens: 0, triggerTokens: 0, waitCalls: 0 };
    const triggerTokens = session.triggerTokens();
    const tokens = session.requestTokens;
    const large = tokens >= triggerTokens * MIN_REQUESTED_SHARE;
    const waitCalls = large ? Math.max(0, MIN_REQUESTED_CALLS - session.callsSince) : 0;
    const accepted = large && waitCalls === 0;
    if (accepted) session.requested = note;
    return { accepted, tokens, triggerTokens, waitCalls };
  }

  /** True for a request over its budget; throws like `preflight` for a list that cannot be read. */
  isOverBudget(messages: readonly unknown[], request: PreflightRequest = {}): boolean {
    requireList(messages);
    requireRequest(request);
    const session = new Session("");
    session.observe(messages, request, this.#settingsFor(request), this.#parts.environment.now());
    return session.isOver();
  }

  /** The state of a session in memory; zeros for any other. */
  getState(sessionId: string): ManagerState {
    const session = this.#sessions.peek(sessionId);
    return {
      totalTokens: session?.requestTokens ?? 0,
      maxContextTokens:
        session?.context === undefined ? this.maxContextTokens : session.settings.maxContextTokens,
      messageCount: session?.view.length ?? 0,
      summaryCount: session?.state.summaryCount ?? 0,
      lastSummaryAt: session?.state.summary?.at,
      summaryVersion: session?.state.summary?.version,
      archiveSteps: session?.state.step ?? 0,
    };
  }

  /** The session's summary and the messages that it covers; undefined if its list has none. */
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

  /**
   * Sends a warning to the exporters; `code` is a stable identifier. Warnings that affect the host's run also
   * go to `onWarning`, once.
   */
  warn(sessionId: string, code: string, message: string): void {
    if (TOLD_CODES.has(code) && !this.#told.has(code)) {
      this.#told.add(code);
      this.#parts.warn(message);
    }
    this.#parts.recorder.announcer(sessionId)({ kind: "warning", severity: "medium", code, message });
  }

  /** Calls `listener` after every compaction; the returned function removes it. */
  onCompaction(listener: (notice: CompactionNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Resolves when every session's state and all events so far are stored and exported; a later process then
   * resumes without recounting or summarizing again. An exporter that delivers nothing for two seconds is
   * skipped, and a warning reports how many events it missed. Waits up to two seconds for memory flush hooks.
   */
  async flush(): Promise<void> {
    await this.#lists?.lintWaiting();
    for (const id of this.#sessions.ids()) await this.#inTurn(id, () => this.#sessions.saveLearned(id));
    await this.#parts.recorder.flush();
    await this.#parts.beforeCommit?.settle(FLUSH_WAIT_MS);
  }

  /** Removes a session from memory after its pending calls; its archive and stored state are kept. */
  release(sessionId: string): Promise<void> {
    this.#lists?.forget(sessionId);
    return this.#inTurn(sessionId, async () => this.#sessions.forget(sessionId));
  }

  async #undo<T>(
    sessionId: string,
    messages: readonly T[] | undefined,
    request: PreflightRequest,
  ): Promise<UndoneCompaction<T>> {
    const session = await this.#sessions.require(sessionId);
    // Before the list is read: usage that is reported later belongs to the list of the latest request.
    if (session.state.before === undefined) throw nothingToUndo(sessionId);
    session.urgent = true;
    if (messages !== undefined) await this.#observe(session, messages, request);
    const work = async (fence: Fence | undefined): Promise<UndoneCompaction<T>> =>
      undoCompaction(session, await this.#runContext(session, fence));
    const undone = await this.#sessions.withLease(session, work, request.signal);
    this.#background?.forget(sessionId);
    await this.#parts.recorder.write(sessionId);
    return undone;
  }

  async #run<T>(given: Omit<Call, "started">): Promise<CompactionResult<T>> {
    const call: Call = { ...given, started: this.#parts.environment.clock() };
    requireList(call.messages);
    requireRequest(call.request);
    this.#background?.callOff(call.sessionId);
    return this.#inTurn(call.sessionId, async () => {
      const messages = await this.#lists?.prepare(call.sessionId, call.messages, call.request);
      return this.#retryConflicts(messages === undefined ? call : { ...call, messages });
    });
  }

  /** Reloads the session's state after a conflict with another worker, and retries. */
  async #retryConflicts<T>(given: Call): Promise<CompactionResult<T>> {
    let call = given;
    for (let attempt = 0; ; attempt += 1) {
      const session = await this.#sessionFor<T>(call);
      if (!(session instanceof Session)) return session;
      try {
        const result = await this.#attempt<T>(call, session);
        this.#prepareBeforeLapse(call, session);
        return result;
      } catch (error) {
        if (!hasCode(error, "Conflict")) throw error;
        this.#sessions.forget(call.sessionId);
        if (isBehindOthers(call, session) || attempt >= MAX_CONFLICTS)
          throw overtakenByOthers(call.sessionId, error);
        // With `reset`, only the state in memory was stale.
        if (!session.reset) call = { ...call, overtaken: true };
      }
    }
  }

  /** The settings of a call's model. */
  #settingsFor({ model }: PreflightRequest): SessionSettings {
    const isOther = model !== undefined && model !== this.#settings.model;
    return (isOther && this.#settings.forModel?.(model)) || this.#settings;
  }

  /** Reads a list with the settings of its model. */
  async #observe(session: Session, messages: readonly unknown[], request: PreflightRequest): Promise<void> {
    const settings = this.#settingsFor(request);
    await runInSteps(session.readAhead(messages, request, settings), this.#parts.pause);
    session.observe(messages, request, settings, this.#parts.environment.now());
  }

  /** Returns the list to send, or throws the reason why it cannot be sent. */
  async #attempt<T>(call: Call, session: Session): Promise<CompactionResult<T>> {
    await this.#observe(session, call.messages, call.request);
    session.urgent = !this.#canSendUncompacted(call, session);
    // The list may continue a state stored by another worker.
    if (session.reset && !call.overtaken && (await this.#sessions.isOutdated(session)))
      throw conflict(session.id);
    this.#announceEstimate(session);
    const truncated = await this.#truncateUnsent(call, session);
    if (truncated !== undefined) {
      const again = { ...call.request, usage: undefined, cacheCold: session.cacheCold };
      await this.#observe(session, call.messages, again);
    }
    const decision = session.decide(call.manual);
    const outcome = decision.triggered
      ? await this.#compact(call, session, decision)
      : refusalFor(decision.reason);
    if (typeof outcome === "object") {
      session.requested = undefined;
      session.stall = undefined;
      this.#warnOfFrequent(session, outcome);
      return this.#compacted(session, outcome);
    }
    const reason = outcome === undefined ? decision.reason : reasonFor(outcome);
    if (decision.triggered) session.fail(reason);
    if (reason === "below_trigger")
      this.#startBackground(call, session, session.settings.policy.backgroundTriggerPct);
    if (reason === "fixed_over_trigger") this.#warnOfFixedPart(session);
    if (session.isOver()) throw this.#refused(session, decision);
    if (truncated !== undefined) return this.#compacted(session, truncated);
    // A failed attempt was already reported at the point of failure.
    const announced = decision.triggered && outcome === "attempts_failed";
    if (!announced) this.#announceDecision(session, { triggered: false, reason });
    return this.#passed(call, session, reason, outcome);
  }

  /** FIT-7: the session, or the unchanged list if it fits and the session's state cannot be read. */
  async #sessionFor<T>(call: Call): Promise<Session | CompactionResult<T>> {
    const session = await this.#sessions.get(call.sessionId);
    if (session.unread === undefined) return session;
    await this.#observe(session, call.messages, call.request);
    if (!this.#canSendUncompacted(call, session)) return this.#sessions.require(call.sessionId);
    this.#announceEstimate(session);
    const due = session.decide(false).triggered;
    const reason = due ? "attempts_failed" : "below_trigger";
    this.#announceDecision(session, { triggered: false, reason });
    return this.#passed(call, session, reason, due ? "attempts_failed" : undefined);
  }

  /**
   * Truncates tool results over the limit before they are first sent; doing it later would invalidate the
   * cached prefix.
   */
  async #truncateUnsent(call: Call, session: Session): Promise<CompactionReport | undefined> {
    const { policy } = session.settings;
    if (call.manual || policy.maxToolResultTokens === undefined) return undefined;
    if (unsentResults(session.view, policy, session.current.edit.countText).length === 0) return undefined;
    const usagePct = session.usage.tokens / session.settings.maxContextTokens;
    const decision: TriggerDecision = { triggered: true, reason: "tool_output", usagePct };
    const outcome = await this.#compact(call, session, decision);
    return typeof outcome === "string" ? undefined : outcome;
  }

  /** Returns a reason instead of a report if nothing can be gained, or if it failed and the list fits. */
  async #compact(
    call: Call,
    session: Session,
    decision: TriggerDecision,
  ): Promise<CompactionReport | RefusalReason> {
    try {
      // Never overwrite a newer state.
      if (isBehindOthers(call, session)) throw conflict(session.id);
      const report = await this.#compactAlone(call, session, decision);
      if (typeof report !== "string") this.#notify({ sessionId: session.id, report });
      return report;
    } catch (error) {
      const refused = this.#refusalAfter(error, call, session);
      // A conflict is retried; having nothing to compact is reported as a decision.
      if (!hasCode(error, "Conflict") && refused !== "nothing_to_compact")
        this.#announceDecision(session, decision, { error, note: call.request.note });
      if (refused !== undefined) return refused;
      if (hasCode(error, "InsufficientBudget"))
        this.#announcer(session)({ kind: "failed", error, fallback: FALLBACK.none });
      throw error;
    } finally {
      await this.#parts.recorder.write(session.id);
    }
  }

  /** The reason why a list that fits is sent after a failed attempt; undefined if the failure is thrown. */
  #refusalAfter(error: unknown, call: Call, session: Session): RefusalReason | undefined {
    if (!this.#canSendUncompacted(call, session)) return undefined;
    if (!call.overtaken || !hasCode(error, "Conflict")) return recoverableRefusal(error);
    // The next call reloads the session.
    this.#sessions.forget(session.id);
    return "attempts_failed";
  }

  async #compactAlone(
    call: Call,
    session: Session,
    decision: TriggerDecision,
  ): Promise<CompactionReport | RefusalReason> {
    const { maxSummaryTokens } = this.#settings;
    const request = session.compactionRequest(call.request, decision.reason, maxSummaryTokens);
    const mayUsePrepared = decision.reason !== "tool_output";
    if (
      mayUsePrepared &&
      this.#background?.isRunning(session.id) &&
      this.#canSendUncompacted(call, session)
    ) {
      return "in_background";
    }
    return this.#sessions.withLease(
      session,
      async (fence) => {
        const compaction = new Compaction(session, request, await this.#runContext(session, fence));
        const prepared = mayUsePrepared ? await this.#background?.take(session, request) : undefined;
        return prepared === undefined ? compaction.run() : compaction.commit(prepared);
      },
      call.request.signal,
    );
  }

  async #runContext(session: Session, fence?: Fence): Promise<RunContext> {
    const store = await this.#parts.open();
    const { archive } = session.urgent ? store.patient : store;
    return {
      ...this.#parts,
      archive,
      announce: this.#announcer(session),
      model: session.context === undefined ? this.#settings.model : session.settings.model,
      onFailure: this.#settings.onStorageFailure,
      findFaults: this.#lists?.findFaults,
      save: (compacted, state) => this.#sessions.save(compacted, state, fence),
    };
  }

  /** Shortly before the provider's cache expires, prepares the compaction of a list that is large enough. */
  #prepareBeforeLapse(call: Call, session: Session): void {
    const { policy } = session.settings;
    const { beforeCacheLapse, cacheTtlSeconds } = policy;
    if (beforeCacheLapse === undefined) return;
    const ms = Math.max(0, cacheTtlSeconds - beforeCacheLapse) * 1000;
    const start = (): void => this.#startBackground(call, session, coldShare(policy));
    this.#background ??= new BackgroundCompactions(this.#parts.environment);
    this.#background.startLater(session.id, ms, start);
  }

  /** Prepares a compaction in the background for a request over this share of the window. */
  #startBackground(call: Call, session: Session, share = Number.POSITIVE_INFINITY): void {
    const usagePct = session.requestTokens / session.settings.maxContextTokens;
    if (usagePct < share || !session.hasGrown(session.requestTokens)) return;
    const { maxSummaryTokens } = this.#settings;
    const compactionOf = async (snapshot: Session, signal: AbortSignal): Promise<Compaction> => {
      const request = snapshot.compactionRequest(
        { ...call.request, signal },
        "trigger_pct",
        maxSummaryTokens,
      );
      return new Compaction(snapshot, request, await this.#runContext(snapshot));
    };
    this.#background ??= new BackgroundCompactions(this.#parts.environment);
    this.#background.start(session, compactionOf, (error) =>
      this.#announcer(session)({ kind: "failed", error, fallback: FALLBACK.atTrigger }),
    );
  }

  /** True if the list fits and no compaction was requested. */
  #canSendUncompacted(call: Call, session: Session): boolean {
    return session.fits() && !call.manual;
  }

  #compacted<T>(session: Session, report: CompactionReport): CompactionResult<T> {
    const messages = session.current.codec.encode(session.view) as T[];
    return { messages, summary: session.state.summary?.text, report };
  }

  /** The result of a call that changed nothing: the caller's array, or the view of an earlier compaction. */
  #passed<T>(
    call: Call,
    session: Session,
    reason: TriggerReason,
    refused: RefusalReason | undefined,
  ): CompactionResult<T> {
    const { codec } = session.current;
    const elapsedMs = this.#parts.environment.clock() - call.started;
    const size = { messages: session.view.length, elapsedMs, refused };
    return {
      messages: session.asGiven ? (call.messages as T[]) : (codec.encode(session.view) as T[]),
      summary: session.activeState.summary?.text,
      report: unchangedReport(reason, codec.format, session.usage, size),
    };
  }

  /** FIT-6: the error for a list over its budget from which nothing can be removed. */
  #refused(session: Session, decision: TriggerDecision): CompactError {
    const error = new CompactError(
      "InsufficientBudget",
      `the request takes ${session.usage.tokens} tokens, but only ${session.available()} are available, and nothing of it can leave`,
      { hint: "Shorten the newest messages, the system prompt or the tools, or raise the context limit." },
    );
    this.#announceDecision(session, { ...decision, triggered: true }, { error });
    this.#announcer(session)({ kind: "failed", error, fallback: FALLBACK.none });
    return error;
  }

  /** Warns once if compactions are frequent. */
  #warnOfFrequent(session: Session, report: CompactionReport): void {
    if (report.reason === "manual" || !session.noteInterval()) return;
    const { policy, maxContextTokens: maxTokens } = session.settings;
    const { fixedTokens } = session;
    this.#announcer(session)({ kind: "compactsOften", report, policy, fixedTokens, maxTokens });
  }

  #announcer({ id }: Session): Announce {
    return this.#parts.recorder.announcer(id);
  }

  #announceDecision(
    session: Session,
    decision: Pick<TriggerDecision, "triggered" | "reason">,
    more: { readonly error?: unknown; readonly note?: string } = {},
  ): void {
    const { model, policy } = session.settings;
    this.#announcer(session)({ kind: "decision", decision, policy, model, ...more });
  }

  #announceEstimate(session: Session): void {
    if (session.reset) {
      session.reset = false;
      this.#announcer(session)({ kind: "historyChanged" });
    }
    const { model, maxContextTokens: maxTokens } = session.settings;
    this.#announcer(session)({ kind: "estimate", model, count: session.usage, maxTokens });
  }

  #warnOfFixedPart(session: Session): void {
    if (session.warnedOfFixedPart) return;
    session.warnedOfFixedPart = true;
    const { maxContextTokens: maxTokens } = session.settings;
    this.#announcer(session)({ kind: "fixedOverTrigger", fixedTokens: session.fixedPart(), maxTokens });
  }

  #notify(notice: CompactionNotice): void {
    for (const listener of this.#listeners) {
      (async () => listener(notice))().catch((error: unknown) =>
        this.#parts.warn(`a compaction listener failed: ${errorMessage(error)}`),
      );
    }
  }
}

/** True if another worker continued the session during the call and the list has nothing new to it. */
function isBehindOthers({ overtaken = false }: Call, session: Session): boolean {
  return overtaken && session.isBehind();
}

function overtakenByOthers(sessionId: string, cause: unknown): CompactError {
  const name = JSON.stringify(sessionId);
  return new CompactError("Conflict", `other workers continued session ${name} during this call`, {
    place: sessionId,
    hint: "Read the conversation again and repeat the call with its messages as they are now. Two conversations need a session id each.",
    cause,
  });
}
