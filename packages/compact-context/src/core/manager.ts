import {
  CompactError,
  conflict,
  createKeyedMutex,
  errorMessage,
  hasCode,
  requireList,
  runInSteps,
} from "../errors.ts";
import type { ListCheck } from "./lists.ts";
import { unsentCuts } from "./plan.ts";
import type { TriggerDecision, TriggerReason } from "./policy.ts";
import { FALLBACK, type Fence } from "./ports.ts";
import {
  type CompactionNotice,
  type CompactionReport,
  type CompactionResult,
  type EventRecorder,
  type ManagerState,
  type RefusalReason,
  type RequestedCompaction,
  type RunningSummary,
  reasonFor,
  refusalFor,
  type SessionEvent,
  type UndoneCompaction,
  unchangedReport,
} from "./report.ts";
import {
  type ManualRequest,
  type PreflightRequest,
  requireRequest,
  type SessionSettings,
} from "./request.ts";
import { BackgroundCompactions, Compaction, nothingToUndo, type RunContext, undoCompaction } from "./run.ts";
import { Session } from "./session.ts";
import { Sessions, type StoreParts } from "./store.ts";

// The entry point of the core: one manager, any number of sessions. Calls for one session run sequentially.

export interface ManagerSettings extends SessionSettings {
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

/** Maximum conflicts per call; after each, the session is reloaded and the call retried. */
const MAX_CONFLICTS = 20;
/** Warnings that nothing is compacted, or that calls are made without thinking. */
const TOLD_CODES: ReadonlySet<string> = new Set([
  "server_managed_history",
  "reasoning_refused",
  "no_session_id",
]);
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
  readonly #background: BackgroundCompactions;
  readonly #listeners = new Set<(notice: CompactionNotice) => void>();
  readonly #inTurn = createKeyedMutex();
  readonly #told = new Set<string>();

  constructor(settings: ManagerSettings, parts: ManagerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#background = new BackgroundCompactions(parts, (session) => this.#runContext(session));
    this.#sessions = new Sessions({
      ...parts,
      policy: settings.policy,
      inTurn: this.#inTurn,
      onForget: (sessionId) => this.#background.forget(sessionId),
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

  /** Compacts regardless of usage, unless nothing is new since the last compaction; throws like `preflight`. */
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
          this.#giveWay(sessionId, error, attempt >= MAX_CONFLICTS);
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
    if (session?.view.context !== undefined) return session.requestCompaction(note);
    return { accepted: false, tokens: 0, triggerTokens: 0, waitCalls: 0 };
  }

  /** True for a request over its budget, by the counts of the session in memory; throws like `preflight`. */
  isOverBudget(sessionId: string, messages: readonly unknown[], request: PreflightRequest = {}): boolean {
    requireList(messages);
    requireRequest(request);
    const session = new Session("", this.#sessions.peek(sessionId)?.state.calibration);
    session.observe(messages, request, this.#settingsFor(request), this.#parts.environment.now());
    return session.isOver();
  }

  /** The state of a session in memory; zeros for any other. */
  getState(sessionId: string): ManagerState {
    const session = this.#sessions.peek(sessionId) ?? new Session(sessionId);
    const { summary, summaryCount, step } = session.state;
    return {
      totalTokens: session.requestTokens,
      maxContextTokens: session.view.context?.settings.maxContextTokens ?? this.maxContextTokens,
      messageCount: session.messageCount,
      summaryCount,
      lastSummaryAt: summary?.at,
      summaryVersion: summary?.version,
      archiveSteps: step,
    };
  }

  /** The session's summary and the messages that it covers; undefined if its list has none. */
  getRunningSummary(sessionId: string): RunningSummary | undefined {
    const { summary, summarizedMessageIds: ids = [] } = this.#sessions.peek(sessionId)?.activeState ?? {};
    return (
      summary && { summary: summary.text, summarizedMessageIds: ids, lastSummarizedMessageId: ids.at(-1) }
    );
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
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Resolves when every session's state and all events so far are stored and exported; a later process then
   * resumes without recounting or summarizing again. An exporter that delivers nothing for two seconds is
   * skipped, and a warning reports how many events it missed. Waits up to two seconds for memory flush hooks.
   */
  async flush(): Promise<void> {
    await this.#lists?.lintWaiting();
    await this.#sessions.saveAll();
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
    this.#background.forget(sessionId);
    await this.#parts.recorder.write(sessionId);
    return undone;
  }

  async #run<T>(given: Omit<Call, "started">): Promise<CompactionResult<T>> {
    const call: Call = { ...given, started: this.#parts.environment.clock() };
    requireList(call.messages);
    requireRequest(call.request);
    this.#background.callOff(call.sessionId);
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
        this.#background.startBeforeLapse(session, call.request);
        return result;
      } catch (error) {
        // A caller may send the list of a failed call as it is, but never one over its budget.
        if (!hasCode(error, "InsufficientBudget")) session.forgetSent();
        const isBehind = call.overtaken === true && session.isBehind();
        this.#giveWay(call.sessionId, error, isBehind || attempt >= MAX_CONFLICTS);
        // With `reset`, only the state in memory was stale.
        if (!session.view.reset) call = { ...call, overtaken: true };
      }
    }
  }

  /** Forgets a session that another worker stored meanwhile; throws the error of anything else, or of the `last` time. */
  #giveWay(sessionId: string, error: unknown, last: boolean): void {
    if (!hasCode(error, "Conflict")) throw error;
    this.#sessions.forget(sessionId);
    if (!last) return;
    const name = JSON.stringify(sessionId);
    throw new CompactError("Conflict", `other workers continued session ${name} during this call`, {
      place: sessionId,
      hint: "Read the conversation again and repeat the call with its messages as they are now. Two conversations need a session id each.",
      cause: error,
    });
  }

  #settingsFor({ model }: PreflightRequest): SessionSettings {
    const isOther = model !== undefined && model !== this.#settings.model;
    return (isOther && this.#settings.forModel?.(model)) || this.#settings;
  }

  async #observe(session: Session, messages: readonly unknown[], request: ManualRequest): Promise<void> {
    const settings = this.#settingsFor(request);
    await runInSteps(session.view.readAhead(messages, request, settings, session.state), this.#parts.pause);
    session.observe(messages, request, settings, this.#parts.environment.now());
  }

  /** Returns the list to send, or throws the reason why it cannot be sent. */
  async #attempt<T>(call: Call, session: Session): Promise<CompactionResult<T>> {
    await this.#observe(session, call.messages, call.request);
    session.urgent = !this.#canSendUncompacted(call, session);
    // The list may continue a state stored by another worker.
    if (session.view.reset && !call.overtaken && (await this.#sessions.isOutdated(session)))
      throw conflict(session.id);
    this.#announce(session, ...session.noticesOfList());
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
      this.#announce(session, ...session.succeed(outcome));
      return this.#compacted(call, session, outcome);
    }
    const reason = outcome === undefined ? decision.reason : reasonFor(outcome);
    if (decision.triggered) session.fail(reason);
    if (reason === "below_trigger")
      this.#background.start(session, call.request, session.settings.policy.backgroundTriggerPct);
    this.#announce(session, ...session.noticesOfHeld(reason));
    if (session.isOver()) throw this.#refused(session, decision);
    if (truncated !== undefined) return this.#compacted(call, session, truncated);
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
    this.#announce(session, ...session.noticesOfList());
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
    const { messages, current } = session.view;
    if (call.manual || unsentCuts(messages, policy, current.counter).length === 0) return undefined;
    const outcome = await this.#compact(call, session, { triggered: true, reason: "tool_output" });
    return typeof outcome === "string" ? undefined : outcome;
  }

  /** Returns a reason instead of a report if nothing can be gained, or if it failed and the list fits. */
  async #compact(
    call: Call,
    session: Session,
    decision: TriggerDecision,
  ): Promise<CompactionReport | RefusalReason> {
    try {
      // The list has nothing new to a newer state, which must not be overwritten.
      if (call.overtaken && session.isBehind()) throw conflict(session.id);
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
        this.#announce(session, { kind: "failed", error, fallback: FALLBACK.none });
      throw error;
    } finally {
      await this.#parts.recorder.write(session.id);
    }
  }

  /** The reason why a list that fits is sent after a failed attempt; undefined if the failure is thrown. */
  #refusalAfter(error: unknown, call: Call, session: Session): RefusalReason | undefined {
    if (!this.#canSendUncompacted(call, session)) return undefined;
    if (hasCode(error, "InsufficientBudget")) return "nothing_to_compact";
    const isOvertaken = call.overtaken === true && hasCode(error, "Conflict");
    // The next call reloads the session.
    if (isOvertaken) this.#sessions.forget(session.id);
    return isOvertaken || hasCode(error, "StorageFailed") ? "attempts_failed" : undefined;
  }

  async #compactAlone(
    call: Call,
    session: Session,
    decision: TriggerDecision,
  ): Promise<CompactionReport | RefusalReason> {
    const request = session.compactionRequest(call.request, decision.reason);
    const mayUsePrepared = decision.reason !== "tool_output";
    const isRunning = !call.manual && this.#background.isRunning(session.id);
    if (mayUsePrepared && isRunning && this.#canSendUncompacted(call, session)) return "in_background";
    return this.#sessions.withLease(
      session,
      async (fence) => {
        const compaction = new Compaction(session, request, await this.#runContext(session, fence));
        const prepared = mayUsePrepared ? await this.#background.take(session, request) : undefined;
        return prepared === undefined ? compaction.run() : compaction.commit(prepared);
      },
      call.request.signal,
    );
  }

  async #runContext(session: Session, fence?: Fence): Promise<RunContext> {
    const { archive } = await this.#sessions.storeFor(session);
    return {
      ...this.#parts,
      archive,
      announce: this.#parts.recorder.announcer(session.id),
      model: (session.view.context?.settings ?? this.#settings).model,
      onFailure: this.#settings.onStorageFailure,
      findFaults: this.#lists?.findFaults,
      save: (compacted, state) => this.#sessions.save(compacted, state, fence),
    };
  }

  /** True if the list fits by our count and no compaction was requested by the user. */
  #canSendUncompacted({ manual, request }: Call, session: Session): boolean {
    return session.fits() && (!manual || request.refused !== undefined);
  }

  #compacted<T>(call: Call, session: Session, report: CompactionReport): CompactionResult<T> {
    return { messages: session.send(call.messages) as T[], summary: session.state.summary?.text, report };
  }

  /** The result of a call that changed nothing: the caller's array, or the view of an earlier compaction. */
  #passed<T>(
    call: Call,
    session: Session,
    reason: TriggerReason,
    refused: RefusalReason | undefined,
  ): CompactionResult<T> {
    const { codec } = session.view.current;
    const elapsedMs = this.#parts.environment.clock() - call.started;
    const size = { messages: session.view.messages.length, elapsedMs, refused };
    return {
      messages: session.send(call.messages) as T[],
      summary: session.activeState.summary?.text,
      report: unchangedReport(reason, codec.format, session.usage, size),
    };
  }

  /** FIT-6: the error for a list over its budget from which nothing can be removed. */
  #refused(session: Session, decision: TriggerDecision): CompactError {
    const error = session.tooLarge();
    this.#announceDecision(session, { ...decision, triggered: true }, { error });
    this.#announce(session, { kind: "failed", error, fallback: FALLBACK.none });
    return error;
  }

  #announceDecision(
    session: Session,
    decision: TriggerDecision,
    more: { readonly error?: unknown; readonly note?: string } = {},
  ): void {
    const { model, policy } = session.settings;
    this.#announce(session, { kind: "decision", decision, policy, model, ...more });
  }

  #announce({ id }: Session, ...events: readonly SessionEvent[]): void {
    for (const event of events) this.#parts.recorder.announcer(id)(event);
  }

  #notify(notice: CompactionNotice): void {
    for (const listener of this.#listeners) {
      (async () => listener(notice))().catch((error: unknown) =>
        this.#parts.warn(`a compaction listener failed: ${errorMessage(error)}`),
      );
    }
  }
}
