import { type CompactError, runAtOnce, type Steps } from "../errors.ts";
import { codecFor, type KnownList, KnownLists, withNatives } from "./lists.ts";
import {
  archiveId,
  callsOfTools,
  hashesOf,
  imageCount,
  type Message,
  markSummaries,
  toolResults,
  wireBytes,
} from "./message.ts";
import { RECALL_TOOL_NAMES } from "./plan.ts";
import {
  availableOf,
  decideTrigger,
  type Growth,
  hasGrown,
  heldBack,
  isPinned,
  mostImages,
  type TriggerDecision,
  type TriggerReason,
} from "./policy.ts";
import type { LiveConversation, RequestCount, TokenCounter } from "./ports.ts";
import { groupUnits, isProjectInstructions } from "./units.ts";
import {
  type CompactionRequest,
  calibrated,
  calibratedBudget,
  leastTokens,
  type ManualRequest,
  type MessageTotals,
  observeUsage,
  type PreflightRequest,
  requestBreakdown,
  type SessionSettings,
  totalOf,
} from "./usage.ts";
import {
  appendEntry,
  assemble,
  emptyState,
  keptMessages,
  type LoggedMessage,
  project,
  type SessionState,
  stateWithout,
  unloggedEntry,
  type ViewContext,
  type ViewEntry,
} from "./view.ts";

// One conversation in memory: its stored state, the view of the latest list, and its token counts. Four
// methods change it: `observe` reads a list, `commit` applies a compaction, `fail` counts a failed attempt,
// `keep` takes a stored state.

/** A summary gets at most a tenth of the window, and never more than this. */
const MAX_SUMMARY_TOKENS = 8192;
/**
 * Recalled results are restored up to this share of the trigger, so that no compaction follows immediately.
 */
const ROOM_TO_GROW = 0.75;
/** Compactions with at most this many calls between them are frequent. */
const SHORT_INTERVAL = 4;

/**
 * New messages that are read at once, and the step size for reading a longer list: each step scans everything
 * known.
 */
const STEP_MESSAGES = 64;
const MAX_STEPS = 256;
/** The first step is small because it may also load a vocabulary. */
const FIRST_MESSAGES = 8;

/** How a list is read, counted and limited. */
interface SessionContext extends ViewContext {
  readonly settings: SessionSettings;
}

/** `MessageTotals`, writable. */
type Totals = { -readonly [K in keyof MessageTotals]: MessageTotals[K] };

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
  /** The last stored state. */
  stored: SessionState = this.state;
  /** Version of the stored state; null if nothing is stored. */
  storedVersion: string | null = null;
  /** Why the stored state could not be read; the state here then does not reflect earlier compactions. */
  unread: CompactError | undefined;
  /** The latest list cannot be sent unchanged: its compaction waits for the storage. */
  urgent = false;

  // The view: what the model gets.
  entries: ViewEntry[] = [];
  view: Message[] = [];
  log: LoggedMessage[] = [];
  totals: Totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
  bytes = 0;
  images = 0;
  asGiven = true;

  // The latest list.
  /** How it is read and counted; undefined before the first list and after an undo. */
  context: SessionContext | undefined;
  /** The whole request, calibrated by reported usage if available; the breakdown is our own count. */
  usage: RequestCount = NOTHING_COUNTED;
  /** Our count of what is sent in addition to the messages. */
  fixedTokens = 0;
  /** Our uncalibrated count of the whole request; 0 before the first. */
  estimate = 0;
  answerTokens = 0;
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
  warnedOfFixedPart = false;
  /** The latest list has a different history than the state, and no warning was sent yet. */
  reset = false;
  /** The view has a different history than the state: nothing in it has been compacted yet. */
  leftBehind = false;

  /** How the request of `estimate` was read and counted. */
  #estimatedBy: SessionContext | undefined;
  readonly #lists = new KnownLists();
  /** Calls since the newest compaction; infinite before the first. */
  callsSince: number = Number.POSITIVE_INFINITY;
  #shortIntervals = 0;
  #warnedOfFrequent = false;

  constructor(id: string) {
    this.id = id;
  }

  /** The part of the state that applies to the view: only counts and calibration if the histories differ. */
  get activeState(): SessionState {
    if (!this.leftBehind) return this.state;
    const { summaryCount, step, calibration } = this.state;
    return { ...emptyState(), summaryCount, step, calibration };
  }

  /**
   * True for a list with a different history than the state whose two newest messages are already in the
   * state.
   */
  isBehind(): boolean {
    const [newest, before] = [this.log.at(-1)?.[0], this.log.at(-2)?.[0]];
    const { log } = this.state;
    const isNewest = (at: number): boolean =>
      log[at]?.[0] === newest && (before === undefined || log[at - 1]?.[0] === before);
    return this.leftBehind && log.some((_, at) => isNewest(at));
  }

  /** A copy that is independent of later changes to the session. */
  snapshot(): Session {
    const copy = Object.assign(new Session(this.id), this);
    copy.view = [...this.view];
    copy.entries = [...this.entries];
    copy.log = [...this.log];
    copy.totals = { ...this.totals };
    return copy;
  }

  // ---- reading a list

  /**
   * Reads a list with many new messages in steps, so that `observe` finds most of it known. A list that is
   * new to a session with a history is left to `observe`: only the whole list shows what it continues.
   */
  *readAhead(list: readonly unknown[], request: PreflightRequest, settings: SessionSettings): Steps<void> {
    if (list.length <= this.#lists.length + STEP_MESSAGES) return;
    const known = this.#startOf(list);
    if (known === undefined && (this.context !== undefined || this.state.log.length > 0)) return;
    const step = Math.max(STEP_MESSAGES, Math.ceil(list.length / MAX_STEPS));
    for (let end = (known?.natives.length ?? 0) + FIRST_MESSAGES; end < list.length; end += step) {
      this.#read(list.slice(0, end), request, settings);
      yield;
    }
  }

  /** Projects the list onto the session and counts the request. Throws `UnknownFormat` and `InvalidMessages`. */
  observe(list: readonly unknown[], request: PreflightRequest, settings: SessionSettings, now: Date): void {
    this.#read(list, request, settings);
    this.#measure(request, settings);
    this.#see(request, settings, now.getTime());
  }

  #read(list: readonly unknown[], request: PreflightRequest, settings: SessionSettings): void {
    const before = this.context;
    const known = this.#startOf(list);
    const seen = known && before && { codec: before.codec, seen: known.natives.length };
    const codec = codecFor(list, request, settings.codecs, seen);
    const counter = settings.counterFor(codec.format);
    const { policy, summaryRole } = settings;
    const edit = { countText: (text: string) => counter.countText(text), archiveId };
    const context = { codec, counter, policy, summaryRole, edit, settings };
    // Read again if the format turned out to be another (first messages look alike), or if another model
    // counts.
    const same = codec.format === before?.codec.format && counter.id === before?.counter.id;
    this.#show(list, same ? known : undefined, context);
    // Assigned only now: a list that cannot be read changes nothing.
    this.context = context;
  }

  #measure(request: PreflightRequest, settings: SessionSettings): void {
    const { counter } = this.current;
    const breakdown = requestBreakdown(this.totals, request, counter);
    const tokens = totalOf(breakdown);
    this.#learn(settings.readUsage(request.usage), counter);
    this.estimate = tokens;
    this.#estimatedBy = this.current;
    this.usage = { ...counter.range(this.providerTokens(tokens)), breakdown };
    this.requestTokens = this.usage.tokens;
    const limitsInputOnly = settings.limitsInputOnly(this.current.codec.format);
    this.answerTokens = limitsInputOnly ? 0 : (request.maxOutputTokens ?? 0);
    this.fixedTokens = tokens - this.totals.tokens;
  }

  /** Our count of the view converted to the provider's tokens, based on reported usage. */
  providerTokens(tokens: number): number {
    const { counter } = this.current;
    const least = leastTokens(tokens, this.totals.uncertain, counter);
    return Math.max(calibrated(tokens, this.state.calibration, counter.id), least);
  }

  #see({ cacheCold }: PreflightRequest, { policy }: SessionSettings, now: number): void {
    const idle = this.seenAt === undefined ? 0 : now - this.seenAt;
    this.cacheCold = cacheCold ?? idle > policy.cacheTtlSeconds * 1000;
    this.seenAt = now;
  }

  /**
   * The reported tokens of the last request become the anchor of later estimates. A report larger than the
   * window is a sum over several requests and is ignored; a report on another model's request is not
   * comparable.
   */
  #learn(reported: number | undefined, counter: TokenCounter): void {
    const by = this.#estimatedBy;
    if (reported === undefined || this.estimate === 0 || by?.counter.id !== counter.id) return;
    if (reported > by.settings.maxContextTokens) return;
    const observation = { reported, estimated: this.estimate, counterId: counter.id };
    this.state = { ...this.state, calibration: observeUsage(this.state.calibration, observation) };
  }

  /** How the latest list is read and counted. */
  get current(): SessionContext {
    if (this.context === undefined) throw new Error("the session has seen no list yet");
    return this.context;
  }

  /** The settings of the latest list's model. */
  get settings(): SessionSettings {
    return this.current.settings;
  }

  /** The known list that this one begins with. */
  #startOf(list: readonly unknown[]): KnownList | undefined {
    const known = this.context && this.#lists.sameStart(list);
    // A list that left its history can return to it, which only the whole list shows.
    if (known !== undefined || this.context === undefined || this.leftBehind) return known;
    return this.#lists.equalStart(list, this.context.codec);
  }

  /**
   * Of a list that extends a known one, only the new messages are read; any other list is projected as a
   * whole.
   */
  #show(list: readonly unknown[], known: KnownList | undefined, context: SessionContext): void {
    if (known !== undefined && this.#append(list, known, context)) {
      // A caller that continues our output does not return to the raw list.
      if (known.isView) this.#lists.keep(known);
      return;
    }
    const { codec, counter, summaryRole } = context;
    const messages = this.#lists.decode(list, codec, codec.format === this.context?.codec.format);
    const { kept, summary, log, asGiven, reset } = project(messages, this.state, context);
    this.log = [...log];
    this.asGiven = asGiven;
    this.reset = reset;
    this.leftBehind = reset;
    const own = (message: Message): ViewEntry => unloggedEntry(message, false, context);
    this.#setView(assemble(kept, summary, { summaryRole, format: codec.format }, own), counter);
    this.#lists.keep({ natives: [...list], messages, isView: asGiven, decoded: true });
  }

  /** Adds the new messages of a known list; false if one of them is our own summary. */
  #append(list: readonly unknown[], known: KnownList, context: SessionContext): boolean {
    const added = list.slice(known.natives.length);
    const messages = added.length === 0 ? [] : markSummaries(context.codec.decode(added, known.messages));
    if (messages.some((message) => message.meta?.summaryVersion !== undefined)) return false;
    this.asGiven = known.isView;
    const hashOf = hashesOf(messages);
    for (const [index, message] of messages.entries()) {
      const entry = isPinned(message, context.policy)
        ? unloggedEntry(message, true, context)
        : appendEntry(this.log, message, hashOf(index, message), context);
      this.#add(entry, context.counter);
    }
    this.#lists.append(added, messages);
    return true;
  }

  #setView(entries: readonly ViewEntry[], counter: TokenCounter): void {
    this.entries = [];
    this.view = [];
    this.totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
    this.bytes = 0;
    this.images = 0;
    for (const entry of entries) this.#add(entry, counter);
  }

  #add(entry: ViewEntry, counter: TokenCounter): void {
    const { message, tokens } = entry;
    const { role, meta } = message;
    this.entries.push(entry);
    this.view.push(message);
    this.bytes += wireBytes(message);
    this.images += imageCount(message);
    this.totals.tokens += tokens;
    this.totals.uncertain += counter.countUncertain(message);
    const isSummary = meta?.summaryVersion !== undefined;
    if (!isSummary && (role === "system" || role === "developer")) this.totals[role] += tokens;
  }

  // ---- deciding

  /** Whether the list is compacted now. */
  decide(manual: boolean): TriggerDecision {
    const { policy, maxContextTokens } = this.settings;
    const { tokens, breakdown } = this.usage;
    const usagePct = tokens / maxContextTokens;
    this.callsSince += 1;
    if (manual) return { triggered: true, reason: "manual", usagePct };
    const { bytes, cacheCold, answerTokens } = this;
    const messageTokens = breakdown.messages;
    const messages = this.view.length;
    const manyImages = this.images > this.mostImages();
    const size = { tokens, messageTokens, messages, bytes, manyImages };
    const measured = { ...size, maxContextTokens, cacheCold, answerTokens };
    const reached = decideTrigger(measured, policy);
    const asked = this.requested !== undefined && !reached.triggered;
    const decision: TriggerDecision = asked ? { triggered: true, reason: "requested", usagePct } : reached;
    if (!decision.triggered || !this.fits() || asked) return decision;
    const { undone = false, step, epochStart = 0, tokensAfter } = this.activeState;
    const since = {
      tokens,
      tokensAfter: step === 0 ? undefined : tokensAfter,
      addedMessages: this.log.length - epochStart,
      undone,
      stall: this.stall,
      fixedTokens: this.fixedPart(),
    };
    const held = heldBack(decision.reason, since, policy, maxContextTokens);
    return held === undefined ? decision : { triggered: false, reason: held, usagePct };
  }

  /** Whether the list has grown enough since the last compaction for another one to gain anything. */
  hasGrown(tokens: number): boolean {
    const { step, tokensAfter } = this.activeState;
    return hasGrown(tokens, step === 0 ? undefined : tokensAfter, this.settings.maxContextTokens);
  }

  /** Tokens that no compaction removes: content sent in addition to the messages, and pinned messages. */
  fixedPart(): number {
    return this.entries.reduce((total, entry) => total + (entry.pinned ? entry.tokens : 0), this.fixedTokens);
  }

  /** True if the request is over its budget and must not be sent. */
  isOver(): boolean {
    return this.usage.tokens > this.available();
  }

  /** True if the request can be sent unchanged: its tokens, bytes and images are within their limits. */
  fits(): boolean {
    const { maxRequestBytes } = this.settings.policy;
    return !this.isOver() && this.bytes <= maxRequestBytes && this.images <= this.mostImages();
  }

  /** Maximum images of the request. */
  mostImages(): number {
    return mostImages(this.current.codec.format, this.settings.maxContextTokens);
  }

  /** Maximum tokens of the request. */
  available(): number {
    const { policy, maxContextTokens } = this.settings;
    return availableOf(maxContextTokens, policy, this.answerTokens);
  }

  /** Tokens at which an automatic compaction starts. */
  triggerTokens(): number {
    const { policy, maxContextTokens } = this.settings;
    return Math.min(maxContextTokens * policy.triggerPct, this.available());
  }

  /** The budget in our counter's tokens, based on reported usage. */
  budget(): number {
    const { estimate } = this;
    const { counter } = this.current;
    const least = leastTokens(estimate, this.totals.uncertain, counter);
    const leastShare = estimate === 0 ? 1 : least / estimate;
    const about = { counterId: counter.id, leastShare };
    return calibratedBudget(this.available(), this.state.calibration, about);
  }

  // ---- the request for a compaction

  /** A compaction of the view. */
  compactionRequest(
    request: ManualRequest,
    reason: TriggerReason,
    maxSummaryTokens: number | undefined,
  ): CompactionRequest {
    const { policy, maxContextTokens, reasoningBound, summaryRole } = this.settings;
    const { codec, counter, edit } = this.current;
    const isManual = reason === "manual";
    const tenth = Math.max(256, Math.floor(maxContextTokens / 10));
    // With too many messages, filling up to the target would keep them.
    const target = reason === "max_messages" ? undefined : policy.targetContextTokens;
    return {
      messages: this.view,
      format: codec.format,
      counter,
      policy,
      reason,
      fixedTokens: this.fixedTokens,
      budget: this.budget(),
      mostImages: this.mostImages(),
      answerTokens: this.answerTokens,
      target: isManual ? request.targetTokens : target,
      preferred: isManual ? undefined : this.triggerTokens() * ROOM_TO_GROW,
      maxSummaryTokens: maxSummaryTokens ?? Math.min(MAX_SUMMARY_TOKENS, tenth),
      summaryRole,
      lastSummaryVersion: this.state.summary?.version,
      reasoningBound,
      archiveId: edit.archiveId,
      instructions: new Set(this.view.filter(isProjectInstructions)),
      recalled: this.#recalled(),
      note: isManual ? request.note : this.requested || undefined,
      signal: request.signal,
      live: () => this.#liveConversation(request),
    };
  }

  /** The conversation for a model that continues it; undefined if calls are open or the format is unknown. */
  #liveConversation({ system, tools, compact }: ManualRequest): LiveConversation | undefined {
    const { codec } = this.current;
    if (codec.neutral || codec.format === undefined) return undefined;
    if (groupUnits(this.view).some((unit) => unit.open > 0)) return undefined;
    return {
      prefix: { format: codec.format, messages: codec.encode(this.view), system, tools },
      messages: this.view,
      tokens: this.usage.tokens,
      compact,
    };
  }

  /** Results of the recall tools since the newest compaction: the next one keeps them while there is room. */
  #recalled(): ReadonlySet<Message> {
    const since = this.activeState.epochStart ?? 0;
    const recalls = callsOfTools(this.view, RECALL_TOOL_NAMES);
    const found = this.entries.filter(
      ({ at, message }) =>
        at !== undefined && at >= since && toolResults(message).length > 0 && recalls(message).length > 0,
    );
    return new Set(found.map(({ message }) => message));
  }

  // ---- after the decision

  /** Counts the calls between compactions; returns true once, after three frequent ones in a row. */
  noteInterval(): boolean {
    this.#shortIntervals = this.callsSince <= SHORT_INTERVAL ? this.#shortIntervals + 1 : 0;
    this.callsSince = 0;
    if (this.#shortIntervals < 2 || this.#warnedOfFrequent) return false;
    this.#warnedOfFrequent = true;
    return true;
  }

  /** Counts a failed attempt; from the second consecutive one, the next waits for growth. */
  fail(reason: TriggerReason): void {
    if (reason === "in_background") return;
    this.requested = undefined;
    this.stall = { tokens: this.usage.tokens, attempts: (this.stall?.attempts ?? 0) + 1, reason };
  }

  /** Applies the view of a compaction; raw list and output both map to it from now on. */
  commit(state: SessionState, entries: readonly ViewEntry[]): void {
    const { codec, counter } = this.current;
    const messages = entries.map(({ message }) => message);
    const natives = codec.encode(messages);
    const view = withNatives(messages, natives, codec);
    this.setState(state);
    this.log = [...state.log];
    this.#setView(
      entries.map((entry, index) => ({ ...entry, message: view[index] as Message })),
      counter,
    );
    this.asGiven = false;
    this.leftBehind = false;
    this.#lists.compacted(natives, view, codec);
  }

  /** Returns to an earlier state; the view is that of the next list. */
  goBack(state: SessionState): void {
    this.setState(state);
    this.context = undefined;
    this.leftBehind = false;
    this.stall = undefined;
    this.requested = undefined;
    this.estimate = 0;
    this.#lists.keep();
  }

  /** Sets the tokens of the view, in our counter. */
  setTokens(tokens: number): void {
    this.requestTokens = this.providerTokens(tokens);
    this.estimate = tokens;
  }

  setState(state: SessionState): void {
    this.state = state;
    this.stored = state;
  }

  /** True if this process knows something that the stored state lacks. */
  hasLearned(): boolean {
    const { log, calibration } = this.stored;
    return this.log.length !== log.length || this.state.calibration !== calibration;
  }

  /** The state with its newest messages in the log, for a later process. */
  resumableState(): SessionState {
    const log = [...this.log];
    const kept = runAtOnce(keptMessages(this.entries, log, this.state.summary));
    return { ...this.state, counter: this.current.counter.id, log, kept };
  }

  /** The state without its newest compaction, for `goBack`; undefined if there is nothing to undo. */
  withoutCompaction(): SessionState | undefined {
    const now = this.context === undefined ? this.state : this.resumableState();
    return this.activeState.before && stateWithout(this.activeState.before, now);
  }
}
