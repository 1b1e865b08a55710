import { requireList, requireOptions } from "../argument.ts";
import { budgetOf, type TriggerDecision, type TriggerReason } from "../policy/trigger.ts";
import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import { conflict } from "../storage/conflict.ts";
import { openOnce } from "../storage/open-once.ts";
import type { Fence } from "../storage/shared.ts";
import { createTurns } from "../storage/turns.ts";
import type { Summarizer } from "../summarizers/summarizer.ts";
import { lookUpModel } from "../tokens/models.ts";
import { tokenEstimate, warning } from "../tracing/events.ts";
import { createAheadRounds } from "./ahead.ts";
import { type Announce, decisionEvent, failureEvent } from "./announce.ts";
import { checkConfigObject } from "./check-policy.ts";
import { type CompactConfig, type CompactConfigInput, mergeConfig } from "./config.ts";
import { createCounters } from "./counters.ts";
import { isError, reasonToGoOn } from "./failures.ts";
import { createListeners } from "./listeners.ts";
import { decide, fixedPart, hasGrown, type Look, type LookContext, lookAt, noteStall } from "./look.ts";
import { createManagerFlushing, type MemoryFlushing, type Recovery } from "./memory-flush.ts";
import type {
  CompactionNotice,
  ManagerPorts,
  ManagerState,
  ManualRequest,
  PreflightRequest,
  RunningSummary,
} from "./ports.ts";
import { createRecall, type Recall } from "./recall/recall.ts";
import { type CompactionReport, type CompactionResult, untouched } from "./report.ts";
import { compactSession, type PreparedRound, prepareRound, type RoundPorts } from "./round.ts";
import { roundInputOf } from "./round-input.ts";
import { type LiveSession, standingState } from "./session.ts";
import { managerStateOf, runningSummaryOf } from "./session-facts.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { unsentResults } from "./shorten.ts";
import { configuredExporters, openStore } from "./store.ts";
import { summarizersOf } from "./summarizers.ts";
import { createTelling, type Telling } from "./telling.ts";

/** Every conflict means that another worker got on: this many in one call are none of many workers any more. */
const MOST_CONFLICTS = 20;
/** How long `flush` waits for hooks that take in memories. */
const SETTLE_MS = 2000;

/** One call of `preflight` or `manualCompact` on its way. */
interface Call<T> {
  readonly sessionId: string;
  readonly messages: readonly T[];
  readonly request: PreflightRequest;
  readonly manual: ManualRequest | undefined;
  /** Milliseconds of the steady clock. */
  readonly started: number;
}

/**
 * Keeps sessions inside the window: `preflight` before every model call gives back the list to send.
 * One manager serves any number of sessions; calls for one session run one after the other.
 */
export class CompactManager {
  readonly config: CompactConfig;
  /** The model's window in tokens. */
  readonly maxContextTokens: number;
  readonly #ports: ManagerPorts;
  readonly #context: LookContext;
  readonly #redactor: Redactor;
  readonly #summarizers: readonly Summarizer[];
  readonly #telling: Telling;
  readonly #sessions: Sessions;
  readonly #listeners = createListeners((message) => this.#warn(message));
  readonly #inTurn = createTurns();
  readonly #worker: string;
  readonly #ahead = createAheadRounds();
  readonly #flushing: MemoryFlushing | undefined;
  readonly #open = openOnce(async () => {
    const store = await openStore({
      config: this.config,
      driver: this.#ports.storage,
      archiveDriver: this.#ports.archive,
      worker: this.#worker,
      now: () => this.#now(),
      redactor: this.#redactor,
      warn: (message) => this.#warn(message),
    });
    queueMicrotask(() => this.#flushing?.start());
    return store;
  });

  /** Throws `InvalidConfig` for settings that do not exist or are out of range. */
  constructor(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
    requireOptions(config, "config");
    requireOptions(ports, "ports");
    this.config = mergeConfig(config);
    checkConfigObject(this.config);
    const { model, models } = this.config;
    const warn = (message: string): void => this.#warn(message);
    this.#ports = ports;
    this.#worker = ports.worker ?? crypto.randomUUID();
    this.maxContextTokens = this.config.maxContextTokens ?? lookUpModel(model ?? "", models).window;
    this.#context = {
      config: this.config,
      maxContextTokens: this.maxContextTokens,
      now: () => this.#now().getTime(),
      counterFor: createCounters({ models, ...(model === undefined ? {} : { model }), onWarning: warn }),
    };
    this.#redactor = createRedactor(this.config.redaction);
    this.#summarizers = summarizersOf(ports.summarizer, this.config.summarizer, (text) =>
      this.#redactor.redactText(text),
    );
    this.#sessions = createSessions({
      open: () => this.#open(),
      redactor: this.#redactor,
      now: () => this.#now(),
      warn,
      forgotten: (sessionId) => this.#ahead.forget(sessionId),
    });
    this.#telling = createTelling({
      exporters: [...(ports.exporters ?? []), ...configuredExporters(this.config, warn)],
      redactor: this.#redactor,
      archive: async () => (await this.#open()).archive,
      now: () => this.#now(),
      warn,
    });
    this.#flushing = createManagerFlushing(ports, {
      worker: this.#worker,
      redact: this.#redactor,
      open: () => this.#open(),
      now: () => this.#now(),
      warn,
    });
  }

  /**
   * Looks at the list that is about to be sent, raw or our last output with new messages behind it, and
   * compacts it when a threshold is reached. The caller's own array comes back when nothing has to change.
   * Entries are recognised by object: one that is changed in place after a look keeps its old text and count, so put
   * a new object in its place.
   * Throws `InsufficientBudget` when what must stay does not fit, `StorageFailed` when the archive cannot be
   * written and the list is over the budget, `InvalidMessages` for entries that cannot be read, `Conflict` when
   * other workers went on with the session meanwhile and the list is behind: read it again.
   */
  preflight<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: PreflightRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: undefined, started: this.#clock() });
  }

  /** Compacts whatever the usage, unless nothing came since the last compaction; errors as `preflight`. */
  manualCompact<T = unknown>(
    sessionId: string,
    messages: readonly T[],
    request: ManualRequest = {},
  ): Promise<CompactionResult<T>> {
    return this.#run({ sessionId, messages, request, manual: request, started: this.#clock() });
  }

  /** What is known of a session now; zeros for one that was never seen. */
  getState(sessionId: string): ManagerState {
    return managerStateOf(this.#sessions.peek(sessionId), this.maxContextTokens);
  }

  /** The session's summary and which messages it stands for; undefined while none is in its list. */
  getRunningSummary(sessionId: string): RunningSummary | undefined {
    return runningSummaryOf(this.#sessions.peek(sessionId));
  }

  /** Finds what left a session's prompt, and brings it back. Nothing is read before it is asked for. */
  recall(sessionId: string): Recall {
    const { countText } = this.#context.counterFor(undefined);
    return createRecall({ sessionId, countText, archive: async () => (await this.#open()).archive });
  }

  /** Tells the exporters of something that went less well beside a call; `code` is a stable word. */
  warn(sessionId: string, code: string, message: string): void {
    this.#telling.announcer(sessionId)(warning({ severity: "medium", code, message }));
  }

  /** Calls back after every compaction; the returned function ends that. */
  onCompaction(listener: (notice: CompactionNotice) => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Resolves when every session's state and all events so far are stored, and the exporters had their time
   * (2 s at most). A later process then resumes without counting or summarizing anything again.
   */
  async flush(): Promise<void> {
    for (const id of this.#sessions.ids()) await this.#inTurn(id, () => this.#sessions.keep(id));
    await Promise.all([this.#telling.flush(), this.#flushing?.settle(SETTLE_MS)]);
  }

  /**
   * Hands on what an earlier process queued for the memory flush hook and did not get rid of; resolves when that was
   * taken in, or failed and is tried again later. Without it the same begins by itself with the first call.
   */
  async recover(): Promise<Recovery> {
    return (await this.#flushing?.recover()) ?? { handedOn: 0, failed: 0 };
  }

  /** Lets go of a session that has ended, after its calls under way: archive and stored state stay. */
  release(sessionId: string): Promise<void> {
    return this.#inTurn(sessionId, async () => this.#sessions.forget(sessionId));
  }

  async #run<T>(call: Call<T>): Promise<CompactionResult<T>> {
    requireList(call.messages);
    requireOptions(call.request, "request");
    return this.#inTurn(call.sessionId, () => this.#step(call));
  }

  /** Another worker may have compacted the session meanwhile: its state is read and the list looked at again. */
  async #step<T>(call: Call<T>): Promise<CompactionResult<T>> {
    let overtaken = false;
    for (let attempt = 0; ; attempt += 1) {
      const session = await this.#sessions.get(call.sessionId);
      try {
        return await this.#attempt(call, session, overtaken);
      } catch (error) {
        if (!isError(error, "Conflict") || attempt >= MOST_CONFLICTS) throw error;
        // While this call slept, others went on beyond its list: what it would store is the past.
        if (overtaken && session.reset) throw error;
        overtaken ||= !session.reset;
        this.#sessions.forget(call.sessionId);
      }
    }
  }

  async #attempt<T>(call: Call<T>, session: LiveSession, overtaken: boolean): Promise<CompactionResult<T>> {
    const announce = this.#telling.announcer(call.sessionId);
    const first = lookAt(session, call.messages, call.request, this.#context);
    // A list that goes on from what another worker stored is unknown only to this one.
    if (session.reset && (overtaken || (await this.#sessions.isOutdated(session))))
      throw conflict(session.id);
    this.#announceLook(first, announce);
    const shortened = await this.#shorten(call, first, announce);
    const { usage: _, ...again } = call.request;
    const seen = shortened === undefined ? first : lookAt(session, call.messages, again, this.#context);
    session.requestTokens = seen.usage.tokens;
    const decision = decide(seen, call.manual !== undefined, this.#context);
    const outcome = decision.triggered
      ? await this.#compact(call, seen, { decision, announce })
      : decision.reason;
    if (typeof outcome !== "string") {
      session.stall = undefined;
      return this.#compacted(call, seen, outcome);
    }
    if (decision.triggered && outcome !== "in_background") noteStall(seen, outcome);
    if (outcome === "below_trigger") this.#beginAhead(call.request, seen, announce);
    if (outcome === "fixed_over_trigger") this.#tellFixedPart(seen, announce);
    if (shortened !== undefined) return this.#compacted(call, seen, shortened);
    const settled: TriggerDecision = { ...decision, triggered: false, reason: outcome };
    announce(decisionEvent(settled, this.config.policy));
    return this.#passed(call, seen, settled);
  }

  /** Tool results over the limit are cut before a model ever sees them: later it would break the cached prefix. */
  async #shorten<T>(call: Call<T>, seen: Look, announce: Announce): Promise<CompactionReport | undefined> {
    const limit = this.config.policy.maxToolResultTokens;
    if (limit === undefined || call.manual !== undefined) return undefined;
    if (unsentResults(seen.session.view, limit, seen.ports.edit).length === 0) return undefined;
    const usagePct = seen.usage.tokens / this.maxContextTokens;
    const decision: TriggerDecision = { triggered: true, reason: "tool_output", usagePct };
    const outcome = await this.#compact(call, seen, { decision, announce });
    return typeof outcome === "string" ? undefined : outcome;
  }

  #tellFixedPart(seen: Look, announce: Announce): void {
    if (seen.session.fixedPartTold) return;
    seen.session.fixedPartTold = true;
    const message =
      `the system prompt, tools and protected messages take ${fixedPart(seen)} of ${this.maxContextTokens} ` +
      "tokens, which is over the trigger: compacting cannot help until the hard cap. Reduce them, or raise the trigger";
    this.#warn(message);
    announce(warning({ severity: "high", code: "fixed_over_trigger", message }));
  }

  #announceLook({ session, usage }: Look, announce: Announce): void {
    if (session.reset) {
      session.reset = false;
      const message = "the history changed before the point that was summarized; it is taken as it is";
      announce(warning({ severity: "low", code: "history_changed", message }));
    }
    const model = this.config.model ?? "unknown";
    const maxTokens = this.maxContextTokens;
    announce(tokenEstimate({ model, tokens: usage.tokens, maxTokens, breakdown: usage.breakdown }));
  }

  /** A reason instead of a report when there is nothing to gain, or when it failed and the list fits as it is. */
  async #compact<T>(
    call: Call<T>,
    seen: Look,
    { decision, announce }: { readonly decision: TriggerDecision; readonly announce: Announce },
  ): Promise<CompactionReport | TriggerReason> {
    try {
      return (await this.#round(call, seen, { decision, announce })) ?? "nothing_eligible";
    } catch (error) {
      const reason = this.#maySendFirst(call, seen) ? reasonToGoOn(error) : undefined;
      if (reason !== undefined) return reason;
      if (isError(error, "InsufficientBudget")) announce(failureEvent(error, "none"));
      throw error;
    } finally {
      await this.#telling.keep();
    }
  }

  async #round<T>(
    call: Call<T>,
    seen: Look,
    { decision, announce }: { readonly decision: TriggerDecision; readonly announce: Announce },
  ): Promise<CompactionReport | TriggerReason | undefined> {
    const { request, manual } = call;
    const input = roundInputOf({ seen, decision, request, manual }, this.#context);
    const ahead = decision.reason !== "tool_output";
    if (ahead && this.#ahead.isRunning(call.sessionId) && this.#maySendFirst(call, seen)) {
      return "in_background";
    }
    const round = async (fence: Fence | undefined): Promise<CompactionReport | undefined> => {
      const ports = await this.#roundPorts(announce, fence);
      return (ahead ? await this.#ahead.takeOver(input, ports) : undefined) ?? compactSession(input, ports);
    };
    return (await this.#open()).sharing.alone(seen.session, round, request.signal);
  }

  async #roundPorts(announce: Announce, fence?: Fence): Promise<RoundPorts> {
    const store = await this.#open();
    return {
      archive: store.archive,
      summarizers: this.#summarizers,
      announce,
      now: () => this.#now().toISOString(),
      clock: () => this.#clock(),
      save: (session, state) => this.#sessions.save(session, state, fence),
      flush: this.#flushing?.queue,
    };
  }

  /** Over the lower mark, a compaction is made beside the run; nothing of it shows before it is taken over. */
  #beginAhead(request: PreflightRequest, seen: Look, announce: Announce): void {
    const { backgroundTriggerPct } = this.config.policy;
    const usagePct = seen.usage.tokens / this.maxContextTokens;
    if (backgroundTriggerPct === undefined || usagePct < backgroundTriggerPct) return;
    if (!hasGrown(seen, this.#context)) return;
    const decision: TriggerDecision = { triggered: true, reason: "trigger_pct", usagePct };
    const work = async (session: LiveSession, signal: AbortSignal): Promise<PreparedRound | undefined> => {
      const asked = {
        seen: { ...seen, session },
        decision,
        request: { ...request, signal },
        manual: undefined,
      };
      return prepareRound(roundInputOf(asked, this.#context), await this.#roundPorts(announce));
    };
    const failed = (error: unknown): void => announce(failureEvent(error, "a compaction when it is due"));
    this.#ahead.begin(seen.session, work, failed);
  }

  /** The list fits as it is, and nobody asked for a compaction. */
  #maySendFirst<T>(call: Call<T>, { session, usage }: Look): boolean {
    const { policy } = this.config;
    const fits = usage.tokens <= budgetOf(this.maxContextTokens, policy);
    return fits && session.bytes <= policy.maxRequestBytes && call.manual === undefined;
  }

  #compacted<T>(call: Call<T>, seen: Look, report: CompactionReport): CompactionResult<T> {
    seen.session.requestTokens = report.tokensAfter;
    seen.session.estimate = report.tokensAfter;
    this.#listeners.tell({ sessionId: call.sessionId, report });
    const messages = seen.codec.encode(seen.session.view) as T[];
    return { messages, summary: seen.session.state.summary?.text, report };
  }

  /** Nothing was done: the caller's array, or the projected view of a session that was compacted before. */
  #passed<T>(call: Call<T>, { session, codec, usage }: Look, decision: TriggerDecision): CompactionResult<T> {
    return {
      messages: session.asGiven ? (call.messages as T[]) : (codec.encode(session.view) as T[]),
      summary: standingState(session).summary?.text,
      report: untouched({
        reason: decision.reason,
        format: codec.format,
        range: usage,
        messages: session.view.length,
        elapsedMs: this.#clock() - call.started,
      }),
    };
  }

  #warn(message: string): void {
    const say = this.#ports.onWarning ?? ((text) => console.warn(`[compact] ${text}`));
    // Who hears of trouble must not make more of it: there is nobody left to tell.
    (async () => say(message))().catch(() => undefined);
  }

  #now(): Date {
    return this.#ports.now?.() ?? new Date();
  }

  #clock(): number {
    return this.#ports.clock?.() ?? performance.now();
  }
}
