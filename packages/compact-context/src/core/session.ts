import { CompactError, runAtOnce } from "../errors.ts";
import { MAX_SUMMARY_TOKENS } from "./fit.ts";
import { type SessionContext, View } from "./lists.ts";
import { archiveId, callsOfTools, type Message, toolResults } from "./message.ts";
import { RECALL_TOOL_NAMES } from "./plan.ts";
import {
  availableOf,
  decideTrigger,
  type Growth,
  hasGrown,
  heldBack,
  leastTokens,
  limitsBelow,
  mostImages,
  type TriggerDecision,
  type TriggerReason,
} from "./policy.ts";
import type { LiveConversation, RequestCount } from "./ports.ts";
import type { CompactionReport, RequestedCompaction, SessionEvent } from "./report.ts";
import {
  answerRoom,
  type Calibration,
  type CompactionRequest,
  calibrated,
  calibratedBudget,
  fadeRefusal,
  type ManualRequest,
  observeRefusal,
  observeUsage,
  type PreflightRequest,
  refusedTarget,
  type SessionSettings,
  strictnessOf,
} from "./request.ts";
import { groupUnits, isProjectInstructions } from "./units.ts";
import { emptyState, keptMessages, type SessionState, type ViewEntry } from "./view.ts";

// One conversation in memory: its stored state, the view of the latest list, and its token counts. Four
// methods change it: `observe` reads a list, `commit` applies a compaction, `fail` counts a failed attempt,
// `setState` takes a stored state.

/**
 * Recalled results are restored up to this share of the trigger, so that no compaction follows immediately.
 */
const ROOM_TO_GROW = 0.75;
/** Compactions with at most this many calls between them are frequent. */
const SHORT_INTERVAL = 4;
/**
 * A model can request a compaction from this share of the trigger, and this many calls after the last one.
 */
const MIN_REQUESTED_SHARE = 0.5;
const MIN_REQUESTED_CALLS = 10;

const NOTHING_COUNTED: RequestCount = {
  tokens: 0,
  exact: true,
  low: 0,
  high: 0,
  breakdown: { system: 0, developer: 0, tools_schema: 0, messages: 0 },
};

export class Session {
  readonly id: string;
  state: SessionState = emptyState();
  stored: SessionState = this.state;
  /** Version of the stored state; null if nothing is stored. */
  storedVersion: string | null = null;
  /** Why the stored state could not be read; the state here then does not reflect earlier compactions. */
  unread: CompactError | undefined;
  /** The latest list cannot be sent unchanged: its compaction waits for the storage. */
  urgent = false;

  // The latest list.
  view: View = new View();
  /** The whole request, calibrated by reported usage if available; the breakdown is our own count. */
  usage: RequestCount = NOTHING_COUNTED;
  /** Our count of what is sent in addition to the messages. */
  fixedTokens = 0;
  /** Our uncalibrated count of the whole request; 0 before the first. */
  estimate = 0;
  answerTokens = 0;
  /** What a refusal says something about: a model, and the format of its lists. */
  refusable = "";
  /** Tokens of the latest request, calibrated; after a compaction those of its result. */
  requestTokens = 0;
  /** The provider's prompt cache has probably expired. */
  cacheCold = false;
  /** Time of the latest call in milliseconds since 1970, if known. */
  seenAt: number | undefined;

  /** Consecutive failed attempts: the next one waits until the list has grown. */
  stall: Growth["stall"];
  /** The model requested a compaction: what to preserve, empty if nothing specific. */
  requested: string | undefined;

  /** The latest list that went out: our count, and how it was read and counted. */
  #sent: { readonly estimated: number; readonly of: string; readonly by: SessionContext } | undefined;
  /** Calls since the newest compaction; infinite before the first. */
  #callsSince: number = Number.POSITIVE_INFINITY;
  /** Messages of the list that an undo gave back, until the next one is read. */
  #givenBack: number | undefined;
  #shortIntervals = 0;
  #warnedOfFrequent = false;
  #warnedOfFixedPart = false;

  constructor(id: string, calibration?: Calibration) {
    this.id = id;
    if (calibration !== undefined) this.#setCalibration(calibration);
  }

  /** The part of the state that applies to the view: only counts and calibration if the histories differ. */
  get activeState(): SessionState {
    if (!this.view.leftBehind) return this.state;
    const { summaryCount, step, calibration } = this.state;
    return { ...emptyState(), summaryCount, step, calibration };
  }

  /**
   * True for a list with a different history than the state whose two newest messages are already in the
   * state.
   */
  isBehind(): boolean {
    const [newest, before] = [this.view.log.at(-1)?.[0], this.view.log.at(-2)?.[0]];
    const { log } = this.state;
    const isNewest = (at: number): boolean =>
      log[at]?.[0] === newest && (before === undefined || log[at - 1]?.[0] === before);
    return this.view.leftBehind && log.some((_, at) => isNewest(at));
  }

  /** A copy that is independent of later changes to the session. */
  snapshot(): Session {
    const copy = Object.assign(new Session(this.id), this);
    copy.view = this.view.copy();
    return copy;
  }

  /** Messages of the latest list; after an undo, of the one that it gave back. */
  get messageCount(): number {
    return this.#givenBack ?? this.view.messages.length;
  }

  // ---- reading a list

  /** Projects the list onto the session and counts the request. Throws `UnknownFormat` and `InvalidMessages`. */
  observe(list: readonly unknown[], request: ManualRequest, settings: SessionSettings, now: Date): void {
    this.view.read(list, request, settings, this.state);
    const { format } = this.view.current.codec;
    this.#givenBack = undefined;
    this.#measure(request);
    this.answerTokens = settings.limitsInputOnly(format) ? 0 : (request.maxOutputTokens ?? 0);
    this.refusable = `${request.answeredBy ?? settings.model} ${format}`;
    if (request.refused !== undefined)
      this.#setCalibration(observeRefusal(this.state.calibration, request.refused, this.#counted));
    const idle = this.seenAt === undefined ? 0 : now.getTime() - this.seenAt;
    this.cacheCold = request.cacheCold ?? idle > settings.policy.cacheTtlSeconds * 1000;
    this.seenAt = now.getTime();
  }

  #measure({ system, tools, input, usage }: PreflightRequest): void {
    const { counter } = this.view.current;
    const { totals } = this.view;
    const systemPrompt = counter.countSystem(system);
    const toolSchemas = counter.countTools(tools);
    const pending = (input === undefined ? 0 : counter.countText(input)) + counter.perRequest;
    // Nothing is learned from a call whose request cannot be counted.
    this.#learn(this.settings.readUsage(usage));
    this.fixedTokens = systemPrompt + toolSchemas + pending;
    this.estimate = totals.tokens + this.fixedTokens;
    const breakdown = {
      system: totals.system + systemPrompt,
      developer: totals.developer,
      tools_schema: toolSchemas,
      messages: totals.tokens - totals.system - totals.developer + pending,
    };
    this.usage = { ...counter.range(this.providerTokens(this.estimate)), breakdown };
    this.requestTokens = this.usage.tokens;
  }

  /** Our count of the view converted to the provider's tokens, based on reported usage. */
  providerTokens(tokens: number): number {
    const { counter } = this.view.current;
    const least = leastTokens(tokens, this.view.totals.uncertain, counter);
    return Math.max(calibrated(tokens, this.state.calibration, counter.id), least);
  }

  /**
   * The reported tokens of the last request become the anchor of later estimates. A report larger than the
   * window is a sum over several requests and is ignored; a report on another model's request is not
   * comparable.
   */
  #learn(reported: number | undefined): void {
    const { counter } = this.view.current;
    if (reported === undefined || this.#sent?.by.counter.id !== counter.id) return;
    const { estimated, of, by } = this.#sent;
    const { maxContextTokens } = by.settings;
    if (reported > maxContextTokens) return;
    const observation = { reported, estimated, counterId: counter.id, of, maxContextTokens };
    this.#setCalibration(observeUsage(this.state.calibration, observation));
  }

  #setCalibration(calibration: Calibration): void {
    this.state = { ...this.state, calibration };
  }

  /** How much fuller than we the provider finds the request, by what its refusals taught; at least 1. */
  strictness(): number {
    return strictnessOf(this.usage.tokens, this.state.calibration, this.#counted);
  }

  get #counted(): { readonly of: string; readonly estimated: number; readonly maxContextTokens: number } {
    return { of: this.refusable, estimated: this.estimate, maxContextTokens: this.settings.maxContextTokens };
  }

  get #answerRoom(): number {
    return answerRoom(this.answerTokens, this.state.calibration, this.#counted);
  }

  /** The settings of the latest list's model. */
  get settings(): SessionSettings {
    return this.view.current.settings;
  }

  // ---- deciding

  decide(manual: boolean): TriggerDecision {
    const { policy, maxContextTokens } = this.settings;
    const { tokens, breakdown } = this.usage;
    const strictness = this.strictness();
    this.#callsSince += 1;
    if (manual) return { triggered: true, reason: "manual" };
    const { view, cacheCold } = this;
    const measured = {
      tokens: tokens * strictness,
      messageTokens: breakdown.messages,
      messages: view.messages.length,
      bytes: view.bytes,
      manyImages: view.images > this.mostImages(),
      maxContextTokens,
      cacheCold,
      answerTokens: this.#answerRoom,
    };
    const reached = decideTrigger(measured, policy);
    const asked = this.requested !== undefined && !reached.triggered;
    const decision: TriggerDecision = asked ? { triggered: true, reason: "requested" } : reached;
    if (!decision.triggered || !this.fits() || asked) return decision;
    const { undone = false, step, epochStart = 0, tokensAfter } = this.activeState;
    const since = {
      tokens,
      tokensAfter: step === 0 ? undefined : tokensAfter,
      addedMessages: view.log.length - epochStart,
      undone,
      stall: this.stall,
      fixedTokens: this.fixedPart(),
    };
    const held = heldBack(decision.reason, since, policy, maxContextTokens / strictness);
    return held === undefined ? decision : { triggered: false, reason: held };
  }

  /** Whether the list has grown enough since the last compaction for another one to gain anything. */
  hasGrown(): boolean {
    const { step, tokensAfter } = this.activeState;
    return hasGrown(this.requestTokens, step === 0 ? undefined : tokensAfter, this.settings.maxContextTokens);
  }

  /** Tokens that no compaction removes: content sent in addition to the messages, and pinned messages. */
  fixedPart(): number {
    return this.view.entries.reduce(
      (total, entry) => total + (entry.pinned ? entry.tokens : 0),
      this.fixedTokens,
    );
  }

  /** True if the request is over its budget and must not be sent. */
  isOver(): boolean {
    return this.usage.tokens > this.available();
  }

  /** True if the request can be sent unchanged: its tokens, bytes and images are within their limits. */
  fits(): boolean {
    const { maxRequestBytes } = this.settings.policy;
    return !this.isOver() && this.view.bytes <= maxRequestBytes && this.view.images <= this.mostImages();
  }

  mostImages(): number {
    return mostImages(this.view.current.codec.format, this.settings.maxContextTokens);
  }

  available(): number {
    const { policy, maxContextTokens } = this.settings;
    return availableOf(maxContextTokens, policy, this.answerTokens);
  }

  /** Tokens at which an automatic compaction starts. */
  triggerTokens(): number {
    const { policy, maxContextTokens } = this.settings;
    const available = availableOf(maxContextTokens, policy, this.#answerRoom);
    return Math.min(maxContextTokens * policy.triggerPct, available) / this.strictness();
  }

  /** The budget in our counter's tokens, based on reported usage. */
  budget(): number {
    const { estimate } = this;
    const { counter } = this.view.current;
    const least = leastTokens(estimate, this.view.totals.uncertain, counter);
    const leastShare = estimate === 0 ? 1 : least / estimate;
    return calibratedBudget(this.available(), this.state.calibration, { counterId: counter.id, leastShare });
  }

  /** The budget with room to grow under what the provider accepts, by what its refusals taught. */
  #acceptedBudget(): number {
    if (this.strictness() === 1) return this.budget();
    const accepted = (this.triggerTokens() * ROOM_TO_GROW * this.estimate) / this.usage.tokens;
    return Math.min(this.budget(), Math.floor(accepted));
  }

  // ---- the request for a compaction

  compactionRequest(request: ManualRequest, reason: TriggerReason): CompactionRequest {
    const { policy, maxContextTokens, maxSummaryTokens, reasoningBound, summaryRole } = this.settings;
    const { codec, counter } = this.view.current;
    const isManual = reason === "manual";
    const asked =
      request.refused === undefined
        ? request.targetTokens
        : refusedTarget(request.refused, this.estimate, this.answerTokens);
    // A summary gets at most a tenth of the window.
    const tenth = Math.max(256, Math.floor(maxContextTokens / 10));
    // With too many messages, filling up to the target would keep them.
    const target = reason === "max_messages" ? undefined : policy.targetContextTokens;
    return {
      messages: this.view.messages,
      format: codec.format,
      counter,
      policy,
      reason,
      fixedTokens: this.fixedTokens,
      maxContextTokens,
      // What a refusal taught may be wrong: it never keeps a list that cannot be sent from being compacted.
      budget: isManual || !this.fits() ? this.budget() : this.#acceptedBudget(),
      mostImages: this.mostImages(),
      answerTokens: this.answerTokens,
      target: isManual ? asked : target,
      preferred: isManual ? undefined : this.triggerTokens() * ROOM_TO_GROW,
      maxSummaryTokens: maxSummaryTokens ?? Math.min(MAX_SUMMARY_TOKENS, tenth),
      summaryRole,
      lastSummaryVersion: this.state.summary?.version,
      reasoningBound,
      archiveId,
      instructions: new Set(this.view.messages.filter(isProjectInstructions)),
      recalled: this.#recalled(),
      note: isManual ? request.note : this.requested || undefined,
      signal: request.signal,
      live: () => this.#liveConversation(request),
    };
  }

  /** The conversation for a model that continues it; undefined if calls are open or the format is unknown. */
  #liveConversation({ system, tools, compact }: ManualRequest): LiveConversation | undefined {
    const { codec } = this.view.current;
    if (codec.neutral || codec.format === undefined) return undefined;
    if (groupUnits(this.view.messages).some((unit) => unit.open > 0)) return undefined;
    return {
      prefix: { format: codec.format, messages: codec.encode(this.view.messages), system, tools },
      messages: this.view.messages,
      tokens: this.usage.tokens,
      compact,
    };
  }

  /** Results of the recall tools since the newest compaction: the next one keeps them while there is room. */
  #recalled(): ReadonlySet<Message> {
    const since = this.activeState.epochStart ?? 0;
    const recalls = callsOfTools(this.view.messages, RECALL_TOOL_NAMES);
    const found = this.view.entries.filter(
      ({ at, message }) =>
        at !== undefined && at >= since && toolResults(message).length > 0 && recalls(message).length > 0,
    );
    return new Set(found.map(({ message }) => message));
  }

  // ---- after the decision

  /** The model's own request for a compaction at the next call; `note` says what to preserve. */
  requestCompaction(note: string): RequestedCompaction {
    const triggerTokens = this.triggerTokens();
    const tokens = this.requestTokens;
    const large = tokens >= triggerTokens * MIN_REQUESTED_SHARE;
    const waitCalls = large ? Math.max(0, MIN_REQUESTED_CALLS - this.#callsSince) : 0;
    const accepted = large && waitCalls === 0;
    if (accepted) this.requested = note;
    return { accepted, tokens, triggerTokens, waitCalls };
  }

  /** The list to send. Usage that is reported later is about it, and not about one that was refused or aborted. */
  send(given: readonly unknown[]): readonly unknown[] {
    const { current, messages, asGiven } = this.view;
    this.#sent = { estimated: this.estimate, of: this.refusable, by: current };
    return asGiven ? given : current.codec.encode(messages);
  }

  /** It is not known which list goes out: usage that is reported next teaches nothing. */
  forgetSent(): void {
    this.#sent = undefined;
  }

  /** Ends a wait and a request after a compaction; tells once that three in a row had few calls between them. */
  succeed(report: CompactionReport): SessionEvent[] {
    this.requested = undefined;
    this.stall = undefined;
    if (report.reason === "manual") return [];
    this.#setCalibration(fadeRefusal(this.state.calibration, this.refusable));
    this.#shortIntervals = this.#callsSince <= SHORT_INTERVAL ? this.#shortIntervals + 1 : 0;
    this.#callsSince = 0;
    if (this.#shortIntervals < 2 || this.#warnedOfFrequent) return [];
    this.#warnedOfFrequent = true;
    const { policy, maxContextTokens: maxTokens } = this.settings;
    return [{ kind: "compactsOften", report, policy, fixedTokens: this.fixedTokens, maxTokens }];
  }

  /** Counts a failed attempt; from the second consecutive one, the next waits for growth. */
  fail(reason: TriggerReason): void {
    if (reason === "in_background") return;
    this.requested = undefined;
    this.stall = { tokens: this.usage.tokens, attempts: (this.stall?.attempts ?? 0) + 1, reason };
  }

  /** What is to be told of a list that was read. */
  noticesOfList(): SessionEvent[] {
    const { model, maxContextTokens: maxTokens } = this.settings;
    const changed: SessionEvent[] = this.view.reset ? [{ kind: "historyChanged" }] : [];
    this.view.reset = false;
    return [...changed, { kind: "estimate", model, count: this.usage, maxTokens }];
  }

  /** What is to be told of a decision against a compaction: once, that what must stay is over the trigger. */
  noticesOfHeld(reason: TriggerReason): SessionEvent[] {
    if (reason !== "fixed_over_trigger" || this.#warnedOfFixedPart) return [];
    this.#warnedOfFixedPart = true;
    const { maxContextTokens: maxTokens } = this.settings;
    return [{ kind: "fixedOverTrigger", fixedTokens: this.fixedPart(), maxTokens }];
  }

  /** FIT-6: the error for a list over its budget from which nothing can be removed. */
  tooLarge(): CompactError {
    const { settings, usage, answerTokens } = this;
    const limits = limitsBelow(usage.tokens, settings.maxContextTokens, settings.policy, answerTokens);
    return new CompactError(
      "InsufficientBudget",
      `the request takes ${usage.tokens} tokens, but only ${this.available()} are available, and nothing of it can leave`,
      { hint: `Shorten the newest messages, the system prompt or the tools, or raise ${limits}.` },
    );
  }

  /** Applies the view of a compaction, a request of `tokens` in our counter. */
  commit(state: SessionState, entries: readonly ViewEntry[], tokens: number): void {
    this.setState(state);
    this.view.replace(entries, state.log);
    this.requestTokens = this.providerTokens(tokens);
    this.estimate = tokens;
  }

  /** Returns to an earlier state, with a list of this many messages; the view is that of the next list. */
  goBack(state: SessionState, messageCount: number): void {
    this.setState(state);
    this.requestTokens = state.tokensAfter;
    this.#givenBack = messageCount;
    this.view.forget();
    this.stall = undefined;
    this.requested = undefined;
    this.estimate = 0;
    this.forgetSent();
  }

  setState(state: SessionState): void {
    this.state = state;
    this.stored = state;
  }

  /** True if this process knows something that the stored state lacks. */
  hasLearned(): boolean {
    const { log, calibration } = this.stored;
    return this.view.log.length !== log.length || this.state.calibration !== calibration;
  }

  /** The state with its newest messages in the log, for a later process. */
  resumableState(): SessionState {
    if (this.view.context === undefined) return this.state;
    const log = [...this.view.log];
    const kept = runAtOnce(keptMessages(this.view.entries, log, this.state.summary));
    return { ...this.state, counter: this.view.current.counter.id, log, kept };
  }
}
