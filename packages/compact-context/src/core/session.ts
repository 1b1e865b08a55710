import type { Outcome } from "./apply.ts";
import { archiveId } from "./archive.ts";
import { applyEdit, type Edit } from "./edit.ts";
import {
  contentHash,
  hashesOf,
  type LiveSummary,
  type Message,
  markSummaries,
  toolResults,
  wireBytes,
} from "./message.ts";
import { actionsFor, type CompactionPlan, isRecallAnswer, type PlannedMessage } from "./plan.ts";
import {
  budgetOf,
  decideTrigger,
  isPinned,
  type Policy,
  type TriggerDecision,
  type TriggerReason,
} from "./policy.ts";
import type { Codecs, ListCodec, RequestCount, TokenCounter } from "./ports.ts";
import {
  afterCompaction,
  calibrated,
  calibratedBudget,
  leastTokens,
  type MessageTotals,
  observeUsage,
  type PreflightRequest,
  requestBreakdown,
  totalOf,
} from "./usage.ts";
import {
  appendEntry,
  assemble,
  emptyState,
  fingerprintOf,
  type KeptMessage,
  type LoggedMessage,
  project,
  type SessionState,
  type StoredSummary,
  unloggedEntry,
  type ViewContext,
  type ViewEntry,
} from "./view.ts";

// One conversation in memory: its stored state, the view that was made from the newest list, and what that costs.
// It changes in four ways: `observe` takes in a list, `commit` a compaction, `fail` an attempt that came to nothing,
// `keep` what was learnt since the state was stored.

/** What every session needs and none changes. */
export interface SessionSettings {
  readonly policy: Policy;
  readonly summaryRole: "assistant" | "user" | "system";
  /** Tokens of the model's window. */
  readonly maxContextTokens: number;
  readonly codecs: Codecs;
  /** Counts for the model; where none is named, as lists of this format are usually counted. */
  counterFor(format: ListCodec["format"]): TokenCounter;
  /** Input tokens of a provider's usage record; undefined where it has none. */
  readUsage(usage: unknown): number | undefined;
  /** True where a request in this format has a window of its own, which the answer takes nothing from. */
  limitsInputOnly(format: ListCodec["format"]): boolean;
}

/** A native list that stands for the session's view, with its decoded messages. */
interface Source {
  readonly natives: unknown[];
  readonly messages: Message[];
  /** The list itself is the view: it can go back to the caller as it is. */
  readonly isView: boolean;
}

/** After a compaction the next waits until the list has grown by this share of the window, while it fits. */
const MIN_GROWTH = 0.05;
/** Compactions that follow each other after no more calls than this are frequent. */
const SHORT_INTERVAL = 4;
/** Attempts that came to nothing double the wait up to this share of the window. */
const MAX_GROWTH = 0.4;

/** What `MessageTotals` says, while it grows. */
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
  /** The state as it is stored; what a session learnt since makes the difference. */
  stored: SessionState = this.state;
  /** Version of the stored state; null while nothing is stored. */
  storedVersion: string | null = null;

  // The view: what the model gets.
  entries: ViewEntry[] = [];
  view: Message[] = [];
  log: LoggedMessage[] = [];
  /** Tokens of the view's messages, and of the system and developer messages among them. */
  totals: Totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
  /** Bytes of the view on the wire. */
  bytes = 0;
  /** The caller's list is the view: nothing has to be projected. */
  asGiven = true;

  // The newest list, as it was measured.
  /** How it is read and counted; undefined before the first list. */
  context: ViewContext | undefined;
  /** The whole request, calibrated by the provider's usage where that was given; the breakdown is our own count. */
  usage: RequestCount = NOTHING_COUNTED;
  /** Our count of what travels beside the messages. */
  fixedTokens = 0;
  /** Our count of the whole request, before any calibration; 0 before the first. */
  estimate = 0;
  /** The least that the whole request may cost, whatever usage was reported. */
  leastTokens = 0;
  /** Tokens of the window that the answer may take. */
  answerTokens = 0;
  /** Tokens of the newest request, calibrated; after a compaction those of its result. */
  requestTokens = 0;
  /** The provider has forgotten the session's prefix, as far as can be told. */
  cacheCold = false;
  /** Milliseconds since 1970 of the newest list; undefined when unknown. */
  seenAt: number | undefined;

  /** Attempts in a row that came to nothing; the next waits until the list has grown. */
  stall: { readonly tokens: number; readonly attempts: number; readonly reason: TriggerReason } | undefined;
  /** Whether the warning was given that what is never pruned is over the trigger by itself. */
  fixedPartTold = false;
  /** The newest list has a history that the state does not belong to, and no warning said so yet. */
  reset = false;
  /** The view is of a history that the state does not belong to: nothing was compacted in it so far. */
  leftBehind = false;

  #sources: Source[] = [];
  /** Calls since the newest compaction; none is near before the first. */
  #callsSince = Number.POSITIVE_INFINITY;
  #shortIntervals = 0;
  #frequentTold = false;

  constructor(id: string) {
    this.id = id;
  }

  /** What of the state holds for the view: of a history that was left behind only what counts on. */
  get activeState(): SessionState {
    if (!this.leftBehind) return this.state;
    const { summaryCount, step, calibration } = this.state;
    return { ...emptyState(), summaryCount, step, calibration };
  }

  /** A copy that stays as it is while the session goes on. */
  snapshot(): Session {
    const copy = Object.assign(new Session(this.id), this);
    copy.view = [...this.view];
    copy.entries = [...this.entries];
    copy.log = [...this.log];
    copy.totals = { ...this.totals };
    return copy;
  }

  // ---- a list comes in

  /** Projects the list onto the session and counts the request. Throws `UnknownFormat` and `InvalidMessages`. */
  observe(list: readonly unknown[], request: PreflightRequest, settings: SessionSettings, now: Date): void {
    const before = this.context?.codec;
    const known = before === undefined ? undefined : this.#sourceOf(list);
    const codec = codecFor(
      list,
      request,
      settings,
      known && before && { codec: before, seen: known.natives.length },
    );
    const counter = settings.counterFor(codec.format);
    const context: ViewContext = {
      codec,
      counter,
      policy: settings.policy,
      summaryRole: settings.summaryRole,
      edit: { countText: (text) => counter.countText(text), archiveId },
    };
    // A list that was first read as another format is read anew: the first words of a conversation look the same in several.
    this.#show(list, codec.format === before?.format ? known : undefined, context);
    // Not before: a list that cannot be read leaves the session as it was.
    this.context = context;
    this.#measure(request, settings);
    this.#see(request, settings, now.getTime());
  }

  #measure(request: PreflightRequest, settings: SessionSettings): void {
    const { counter } = this.current;
    const breakdown = requestBreakdown(this.totals, request, counter);
    const tokens = totalOf(breakdown);
    this.#learn(settings.readUsage(request.usage), counter);
    this.estimate = tokens;
    this.leastTokens = leastTokens(tokens, this.totals.uncertain, counter);
    const corrected = Math.max(calibrated(tokens, this.state.calibration, counter.id), this.leastTokens);
    this.usage = { ...counter.range(corrected), breakdown };
    this.requestTokens = this.usage.tokens;
    const limitsInputOnly = settings.limitsInputOnly(this.current.codec.format);
    this.answerTokens = limitsInputOnly ? 0 : (request.maxOutputTokens ?? 0);
    this.fixedTokens = tokens - this.totals.tokens;
  }

  #see({ cacheCold }: PreflightRequest, { policy }: SessionSettings, now: number): void {
    const idle = this.seenAt === undefined ? 0 : now - this.seenAt;
    this.cacheCold = cacheCold ?? idle > policy.cacheTtlSeconds * 1000;
    this.seenAt = now;
  }

  /** The provider's own figure for the request of the last list becomes the anchor of the next estimates. */
  #learn(reported: number | undefined, counter: TokenCounter): void {
    if (reported === undefined || this.estimate === 0) return;
    const observation = { reported, estimated: this.estimate, counterId: counter.id };
    this.state = { ...this.state, calibration: observeUsage(this.state.calibration, observation) };
  }

  /** How the newest list is read and counted. */
  get current(): ViewContext {
    if (this.context === undefined) throw new Error("the session has seen no list yet");
    return this.context;
  }

  /** The list among those seen before that this one begins with, object by object. */
  #sourceOf(list: readonly unknown[]): Source | undefined {
    return this.#sources.find(({ natives }) => startsWith(list, natives));
  }

  /** A list that only grew behind a known one costs as much as its new messages; any other is projected as a whole. */
  #show(list: readonly unknown[], known: Source | undefined, context: ViewContext): void {
    if (known !== undefined && this.#append(list, known, context)) {
      // Who goes on from our output does not come back to the raw list: that one would grow for nothing.
      if (known.isView) this.#sources = [known];
      return;
    }
    const messages = markSummaries(context.codec.decode(list));
    const projection = project(messages, this.state, context);
    this.log = [...projection.log];
    this.asGiven = projection.asGiven;
    this.reset = projection.reset;
    this.leftBehind = projection.reset;
    const shape = { summaryRole: context.summaryRole, format: context.codec.format };
    this.#setView(assemble(projection.kept, projection.summary, shape), projection.kept, context.counter);
    this.#sources = [{ natives: [...list], messages, isView: projection.asGiven }];
  }

  /** Adds new messages to everything that is known; false when one of them is a summary of ours. */
  #append(list: readonly unknown[], known: Source, context: ViewContext): boolean {
    const added = list.slice(known.natives.length);
    const messages = added.length === 0 ? [] : markSummaries(context.codec.decode(added, known.messages));
    if (messages.some((message) => message.meta?.summaryVersion !== undefined)) return false;
    this.asGiven = known.isView;
    const hashOf = hashesOf(messages);
    for (const [index, message] of messages.entries()) {
      const entry = isPinned(message, context.policy)
        ? unloggedEntry(message, true, context)
        : appendEntry(this.log, message, hashOf(index, message), context);
      this.entries.push(entry);
      this.view.push(message);
      this.bytes += wireBytes(message);
      this.#addTokens(message, entry.tokens, context.counter);
    }
    for (const source of this.#sources) {
      // One by one: as arguments of one call very many of them would not fit on the stack.
      for (const native of added) source.natives.push(native);
      for (const message of messages) source.messages.push(message);
    }
    return true;
  }

  #setView(view: readonly Message[], entries: readonly ViewEntry[], counter: TokenCounter): void {
    this.entries = [...entries];
    this.view = [...view];
    this.totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
    this.bytes = view.reduce((total, message) => total + wireBytes(message), 0);
    for (const entry of entries) this.#addTokens(entry.message, entry.tokens, counter);
    const hasSummary = view.length > entries.length;
    const summary = hasSummary
      ? view.find((message) => message.meta?.summaryVersion !== undefined)
      : undefined;
    if (summary !== undefined) this.totals.tokens += counter.countMessage(summary);
  }

  #addTokens(message: Message, tokens: number, counter: TokenCounter): void {
    const { role } = message;
    this.totals.tokens += tokens;
    this.totals.uncertain += counter.countUncertain(message);
    if (role === "system" || role === "developer") this.totals[role] += tokens;
  }

  // ---- what is to be done about it

  /** Whether this list is to be compacted now. */
  decide(manual: boolean, { policy, maxContextTokens }: SessionSettings): TriggerDecision {
    const { tokens, breakdown } = this.usage;
    const usagePct = tokens / maxContextTokens;
    this.#callsSince += 1;
    if (manual) return { triggered: true, reason: "manual", usagePct };
    const { bytes, cacheCold, answerTokens } = this;
    const messageTokens = breakdown.messages;
    const measured = { tokens, messageTokens, maxContextTokens, bytes, cacheCold, answerTokens };
    const decision = decideTrigger(measured, policy);
    const mustAct = this.isOver({ policy, maxContextTokens }) || bytes > policy.maxRequestBytes;
    if (!decision.triggered || mustAct) return decision;
    const held = this.#heldBack(decision, policy, maxContextTokens);
    return held === undefined ? decision : { triggered: false, reason: held, usagePct };
  }

  /** Whether another compaction is far enough from the last one to gain anything. */
  hasGrown(maxContextTokens: number): boolean {
    const { step, tokensAfter } = this.activeState;
    const grown = this.usage.tokens - tokensAfter;
    return step === 0 || grown < 0 || grown >= MIN_GROWTH * maxContextTokens;
  }

  /** Why a list that is over a threshold, but fits, is sent as it is. */
  #heldBack(decision: TriggerDecision, policy: Policy, maxContextTokens: number): TriggerReason | undefined {
    if (!this.hasGrown(maxContextTokens)) return "just_compacted";
    const { stall } = this;
    if (stall !== undefined && stall.attempts > 1) {
      const wait = Math.min(MAX_GROWTH, MIN_GROWTH * 2 ** (stall.attempts - 2));
      const grown = (this.usage.tokens - stall.tokens) / maxContextTokens;
      if (grown >= 0 && grown < wait) return stall.reason;
    }
    const share = decision.reason === "trigger_pct" ? policy.triggerPct : undefined;
    const threshold = decision.reason === "cold_cache" ? policy.coldTriggerPct : share;
    const hopeless = threshold !== undefined && this.fixedPart() >= threshold * maxContextTokens;
    return hopeless ? "fixed_over_trigger" : undefined;
  }

  /** Tokens that no compaction takes away: what travels beside the messages, and those that are pinned. */
  fixedPart(): number {
    return this.entries.reduce((total, entry) => total + (entry.pinned ? entry.tokens : 0), this.fixedTokens);
  }

  /** The request is over its budget: it must not go out. */
  isOver({ policy, maxContextTokens }: Pick<SessionSettings, "policy" | "maxContextTokens">): boolean {
    return this.usage.tokens > budgetOf(maxContextTokens, policy, this.answerTokens);
  }

  /** The budget in our counter's tokens: less what the provider adds unseen, at the ratio that was learnt. */
  budget({ policy, maxContextTokens }: SessionSettings): number {
    const budget = budgetOf(maxContextTokens, policy, this.answerTokens);
    const leastShare = this.estimate === 0 ? 1 : this.leastTokens / this.estimate;
    return calibratedBudget(budget, this.state.calibration, {
      counterId: this.current.counter.id,
      leastShare,
    });
  }

  /**
   * The answers of the recall tools since the newest compaction: what the model just brought back is not cleared again
   * by the compaction that follows.
   */
  recalled(): ReadonlySet<Message> {
    const since = this.activeState.epochStart ?? 0;
    const answersRecall = isRecallAnswer(this.view);
    const isAnswer = (message: Message): boolean => toolResults(message).some(({ id }) => answersRecall(id));
    const found = this.entries.filter(
      ({ at, message }) => at !== undefined && at >= since && isAnswer(message),
    );
    return new Set(found.map(({ message }) => message));
  }

  // ---- what came of it

  /** Counts the calls between compactions; true, once, when three in a row followed each other after a few calls. */
  noteInterval(): boolean {
    this.#shortIntervals = this.#callsSince <= SHORT_INTERVAL ? this.#shortIntervals + 1 : 0;
    this.#callsSince = 0;
    if (this.#shortIntervals < 2 || this.#frequentTold) return false;
    this.#frequentTold = true;
    return true;
  }

  /** Remembers an attempt that came to nothing; from the second in a row on, the next waits for growth. */
  fail(reason: TriggerReason): void {
    this.stall = { tokens: this.usage.tokens, attempts: (this.stall?.attempts ?? 0) + 1, reason };
  }

  /** Takes over the view that a compaction left: raw list and output both stand for it from now on. */
  commit({ state, entries }: NextView, messages: readonly Message[]): void {
    const { codec, counter } = this.current;
    const natives = codec.encode(messages);
    const view = withNatives(messages, natives, codec);
    this.keep(state);
    this.log = [...state.log];
    this.#setView(view, entries, counter);
    this.asGiven = false;
    this.leftBehind = false;
    this.#sources = [
      ...this.#sources.slice(0, 1).map((source) => ({ ...source, isView: false })),
      { natives: [...natives], messages: [...view], isView: true },
    ];
  }

  /** The request as it stands after a compaction. */
  setTokens(tokens: number): void {
    this.requestTokens = tokens;
    this.estimate = tokens;
  }

  /** Takes over a state that is stored now. */
  keep(state: SessionState): void {
    this.state = state;
    this.stored = state;
  }

  /** True where a later process would not resume from what this one knows. */
  hasLearnt(): boolean {
    const { log, calibration } = this.stored;
    return this.log.length !== log.length || this.state.calibration !== calibration;
  }

  /** The state with its newest messages logged: what a later process resumes from. */
  resumableState(): SessionState {
    const log = [...this.log];
    const kept = this.entries.flatMap((entry) => keptMessage(entry, log));
    return { ...this.state, counter: this.current.counter.id, log, kept };
  }

  /** The state and view after a compaction; the session itself stays as it is. */
  next(plan: CompactionPlan, outcome: Outcome, { step, at, rewrote }: Commit): NextView {
    const { counter, edit } = this.current;
    const actions = actionsFor(plan, this.entries);
    const log = [...this.log];
    const entries: ViewEntry[] = [];
    const summarized: string[] = [];
    for (const [index, entry] of this.entries.entries()) {
      const action = actions[index];
      if (action?.action !== "summarize") entries.push(editedEntry(entry, action, edit));
      else if (entry.message.meta?.summaryVersion === undefined)
        summarized.push(entry.message.callerId ?? entry.message.id);
    }
    const before = this.activeState;
    const summary = this.#summaryAfter(plan, outcome, { step, at });
    // Where no summarizer wrote, what left now is in no summary.
    const wrote = outcome.summarizer !== undefined;
    const read = wrote || summary?.version === before.summary?.version ? before.summarizedMessageIds : [];
    const state: SessionState = {
      counter: counter.id,
      log,
      kept: entries.flatMap((entry) => keptMessage(entry, log)),
      summary,
      summaryCount: before.summaryCount + (wrote ? 1 : 0),
      summarizedMessageIds: wrote ? [...read, ...summarized] : read,
      step,
      epochStart: rewrote ? log.length : (before.epochStart ?? 0),
      tokensAfter: rewrote ? outcome.tokensAfter : before.tokensAfter,
      calibration: rewrote ? afterCompaction(before.calibration) : before.calibration,
    };
    return { state, entries };
  }

  /** The new summary, or the one that the plan left in the view. */
  #summaryAfter(
    plan: CompactionPlan,
    outcome: Outcome,
    { step, at }: Pick<Commit, "step" | "at">,
  ): StoredSummary | undefined {
    const { summary } = this.activeState;
    const made = outcome.summary;
    if (summary !== undefined && made?.version === summary.version) return { ...summary, after: made.after };
    if (made !== undefined) return { ...stored(made, outcome.summaryTokens, at), step };
    const carried = this.view.some(
      (message, index) =>
        message.meta?.summaryVersion === summary?.version && plan.entries[index]?.action === "keep",
    );
    return carried ? summary : undefined;
  }
}

/** State and entries of the view after a compaction. */
export interface NextView {
  readonly state: SessionState;
  readonly entries: readonly ViewEntry[];
}

export interface Commit {
  readonly step: number;
  /** ISO 8601. */
  readonly at: string;
  /** False where only messages were touched that had not been sent yet: the next compaction is no nearer. */
  readonly rewrote: boolean;
}

/** The codec that read the list so far, while nothing says otherwise; else the one of the format given or detected. */
function codecFor(
  list: readonly unknown[],
  { format }: PreflightRequest,
  { codecs }: SessionSettings,
  known: { readonly codec: ListCodec; readonly seen: number } | undefined,
): ListCodec {
  if (known === undefined) return codecs.forList(list, format);
  const agrees = format === undefined || format === known.codec.format;
  const stays = agrees && (known.codec.certain || !codecs.showFormat(list.slice(known.seen)));
  return stays ? known.codec : codecs.forList(list, format);
}

function startsWith(list: readonly unknown[], natives: readonly unknown[]): boolean {
  if (natives.length === 0 || list.length < natives.length) return false;
  for (let index = natives.length - 1; index >= 0; index -= 1)
    if (list[index] !== natives[index]) return false;
  return true;
}

/** The summary keeps the native that was made for it, so that every later call hands out the same object. */
function withNatives(
  messages: readonly Message[],
  natives: readonly unknown[],
  { format, neutral }: ListCodec,
): readonly Message[] {
  if (neutral || format === undefined || natives.length !== messages.length) return messages;
  return messages.map((message, index) => {
    if (message.meta?.summaryVersion === undefined && message.edited !== true) return message;
    const { edited: _, ...rest } = message;
    return { ...rest, native: natives[index], format };
  });
}

function stored(summary: LiveSummary, tokens: number, at: string): StoredSummary {
  return { ...summary, fingerprint: fingerprintOf(summary.text), at, tokens };
}

function editedEntry(
  entry: ViewEntry,
  planned: PlannedMessage | undefined,
  context: ViewContext["edit"],
): ViewEntry {
  if (planned?.edit === undefined) return entry;
  const message = applyEdit(entry.message, planned.edit, context);
  if (message === entry.message) return entry;
  return { ...entry, tokens: planned.tokensAfter, message, edit: appendEdit(entry.edit, planned.edit) };
}

/** All edits of a message, in the order in which they were made. */
function appendEdit(before: Edit | undefined, now: Edit): Edit {
  if (before === undefined) return now;
  return { ...before, next: before.next === undefined ? now : appendEdit(before.next, now) };
}

function keptMessage({ at, edit, message }: ViewEntry, log: readonly LoggedMessage[]): KeptMessage[] {
  if (at === undefined) return [];
  if (edit === undefined) return [{ at }];
  const hash = contentHash(message);
  return [{ at, edit, hash: hash === log[at]?.[0] ? undefined : hash }];
}
