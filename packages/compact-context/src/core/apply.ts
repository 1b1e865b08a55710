import { abortable, abortError, CompactError, type Pause, type Steps } from "../errors.ts";
import { applyEdit, type Edit, losesText } from "./edit.ts";
import { type LiveSummary, type Message, readBack, summaryOf } from "./message.ts";
import type { CompactionPlan, PlannedMessage } from "./plan.ts";
import { isPinned } from "./policy.ts";
import {
  FALLBACK,
  type SummarizeOptions,
  type Summarizer,
  type Summary,
  type SummaryAttempt,
} from "./ports.ts";
import { afterCompaction, type CompactionRequest } from "./request.ts";
import {
  assemble,
  fingerprintOf,
  inConversation,
  keptMessages,
  type LoggedMessage,
  needsOpening,
  placeOf,
  type SessionState,
  type StoredSummary,
  unloggedEntry,
  type ViewContext,
  type ViewEntry,
} from "./view.ts";

// Applies a plan: edits the kept messages, has the rest summarized, assembles the new list, and creates the
// state that reproduces it.

/** A summarizer that failed, and its fallback. */
export interface SummarizerFailure {
  readonly summarizer: string;
  readonly error: unknown;
  /** The next summarizer's name, or `pruning-only`. */
  readonly fallback: string;
  /** Its last model request, if there was one. */
  readonly attempt?: SummaryAttempt;
}

/** A message of the new list. */
interface ListedMessage {
  readonly message: Message;
  readonly pinned: boolean;
  /** Index in the planned list; undefined for the summary. */
  readonly index?: number;
  /** The planned edit, if it changed the message. */
  readonly edit?: Edit;
}

export interface Outcome {
  /**
   * The plan as executed: after a provider's own compaction, reasoning stays that would have been removed.
   */
  readonly plan: CompactionPlan;
  readonly list: readonly ListedMessage[];
  readonly summary: LiveSummary | undefined;
  /** Tokens of the whole summary message. */
  readonly summaryTokens: number;
  /** Tokens of the whole request after the compaction, by the plan's counter. */
  readonly tokensAfter: number;
  /** See `CompactionReport.rungs`. */
  readonly rungs: readonly string[];
  readonly summarizer: string | undefined;
  readonly failures: readonly SummarizerFailure[];
  /** Every model request, in order. */
  readonly attempts: readonly SummaryAttempt[];
  /** What the summarizer returned in addition to the text. */
  readonly made: Omit<Summary, "text" | "tokens"> | undefined;
}

interface ApplyOptions {
  /** Tried in order. If there is none, or all fail, no new summary is written. */
  readonly summarizers: readonly Summarizer[];
  /** The archive step with the originals; named at the end of a summary. */
  readonly step?: number;
  readonly pause?: Pause;
  /** Called with each failed model request that the same summarizer retries. */
  onAttempt?(attempt: SummaryAttempt): void;
  onFailure?(failure: SummarizerFailure): void;
}

/** Applies a plan to the list that it was made for; the result is within the plan's budget. */
export async function applyPlan(
  request: CompactionRequest,
  plan: CompactionPlan,
  options: ApplyOptions,
): Promise<Outcome> {
  return new Application(request, plan, options).run();
}

interface Written {
  readonly summary: LiveSummary;
  readonly tokens: number;
  /** Undefined for an earlier summary. */
  readonly summarizer?: string;
  readonly made?: Outcome["made"];
}

/**
 * FIT-4: how often a model is asked for a shorter text; a deterministic summarizer is called up to
 * `MAX_TRIES` times.
 */
const MAX_SHORTER = 2;
const MAX_TRIES = 4;
/** Below this many tokens, a summary does not name the archive: its own text needs the room. */
const MIN_POINTER_ROOM = 240;
const POINTER = /\n?^Originals: archive steps? [0-9-]{1,20}\.$/m;
const BARE_OPENING = "Earlier messages were removed without a summary.";

/** A plan being applied: what is kept, what a summary covers, and what was tried. */
class Application {
  readonly #request: CompactionRequest;
  readonly #options: ApplyOptions;
  #plan: CompactionPlan;
  #kept: ListedMessage[] = [];
  #keptTokens: number;
  /** The messages covered by the summary, including the earlier summary. */
  readonly #covered: Message[] = [];
  /** The earlier summary, and the provider's own compaction that accompanies it. */
  readonly #earlier: LiveSummary | undefined;
  readonly #opening: Message | undefined;
  /** Without pinned messages: summarizers never read them. */
  readonly #context: { readonly list: Message[]; readonly kept: Message[] } = { list: [], kept: [] };
  readonly #version: number;
  readonly #failures: SummarizerFailure[] = [];
  readonly #attempts: SummaryAttempt[] = [];

  constructor(request: CompactionRequest, plan: CompactionPlan, options: ApplyOptions) {
    const { messages, policy, lastSummaryVersion = 0 } = request;
    this.#request = request;
    this.#plan = plan;
    this.#options = options;
    for (const [index, message] of messages.entries()) {
      const { action, edit, layer } = plan.entries[index] ?? {};
      if (layer !== "pinned") this.#context.list.push(message);
      if (action === "summarize" || losesText(edit)) this.#covered.push(message);
      if (action === "summarize") continue;
      const edited = applyEdit(message, edit, request);
      const applied = edited === message ? undefined : edit;
      this.#kept.push({ message: edited, pinned: isPinned(message, policy), index, edit: applied });
      if (layer !== "pinned") this.#context.kept.push(edited);
    }
    this.#keptTokens = plan.fixedTokens + this.#tokensOf(this.#kept);
    const earlier = this.#covered.filter(({ meta }) => meta?.summaryVersion !== undefined);
    this.#earlier = earlier.map(summaryOf).findLast((summary) => summary !== undefined);
    this.#opening = earlier.find(({ parts }) => parts[0]?.type === "reasoning");
    this.#version =
      messages.reduce((newest, { meta }) => Math.max(newest, meta?.summaryVersion ?? 0), lastSummaryVersion) +
      1;
  }

  async run(): Promise<Outcome> {
    const planned = this.#plan;
    const written =
      planned.summaryTokens > 0
        ? ((await this.#write()) ?? this.#previous() ?? this.#bareOpening())
        : undefined;
    const covers = written?.made?.opening?.covers;
    const summaryTokens = written?.tokens ?? 0;
    const behind = covers === undefined ? undefined : this.#keepReasoning(covers, summaryTokens);
    // Kept reasoning is bound to the messages before it: nothing may come between them and the provider's
    // compaction.
    const after =
      written &&
      (behind === undefined ? placeOf(written.summary, this.#kept, this.#request) : this.#kept.length);
    const summary = written && { ...written.summary, after, behind };
    return {
      plan: this.#plan,
      list: this.#listWith(summary),
      summary,
      summaryTokens,
      tokensAfter: this.#keptTokens + summaryTokens,
      rungs: rungsOf(planned, written?.summarizer),
      summarizer: written?.summarizer,
      failures: this.#failures,
      attempts: this.#attempts,
      made: written?.made,
    };
  }

  #listWith(summary: LiveSummary | undefined): ListedMessage[] {
    return assemble(this.#kept, summary, this.#request, (message) => ({ message, pinned: false }));
  }

  #tokensOf(list: readonly ListedMessage[]): number {
    return list.reduce((total, { message }) => total + this.#request.counter.countMessage(message), 0);
  }

  /**
   * Keeps bound reasoning, if the provider accepts that after its own compaction of the first `covers`
   * messages: everything not compacted stays unchanged, directly after it, and begins with another role.
   * Returns how many kept messages it covers: they come after the others, so that nothing comes between.
   */
  #keepReasoning(covers: number, summaryTokens: number): number | undefined {
    const { messages } = this.#request;
    const [last, first] = [messages[covers - 1], messages[covers]];
    const speaker = (message: Message | undefined) => (message?.role === "tool" ? "user" : message?.role);
    const parted =
      speaker(last) !== speaker(first) && first?.role !== "system" && first?.role !== "developer";
    const entries = this.#plan.entries.map((entry): PlannedMessage => {
      const { stripReasoning: _, unarchived: __, ...others } = entry.edit ?? {};
      if (entry.edit?.stripReasoning !== true || Object.keys(others).length > 0) return entry;
      const reason = "kept whole behind the provider's own compaction";
      return { ...entry, action: "keep", edit: undefined, tokensAfter: entry.tokens, reason };
    });
    const told = messages.filter((_, index) => index < covers && entries[index]?.action !== "summarize");
    const isPlain = told.every(
      ({ parts }) => !parts.some(({ type }) => type === "reasoning" || type.startsWith("tool")),
    );
    const unchanged = entries.every(
      ({ action, edit }, index) =>
        (action === "keep" && edit === undefined) || (index < covers && action === "summarize"),
    );
    if (!parted || !isPlain || !unchanged) return undefined;
    const whole = this.#kept.map(({ index = 0, pinned }): ListedMessage => {
      return { message: messages[index] as Message, pinned, index };
    });
    const tokens = this.#keptTokens + this.#tokensOf(whole) - this.#tokensOf(this.#kept);
    if (tokens + summaryTokens > this.#plan.budget) return undefined;
    this.#kept = whole;
    this.#keptTokens = tokens;
    this.#plan = { ...this.#plan, entries };
    return told.length;
  }

  /** Tries the summarizers in order. */
  async #write(): Promise<Written | undefined> {
    const { summarizers, onFailure } = this.#options;
    for (const [rung, summarizer] of summarizers.entries()) {
      const { name } = summarizer;
      const before = this.#attempts.length;
      let error: unknown;
      try {
        const written = await this.#writeWithin(summarizer);
        if (written !== undefined) return written;
        // A deterministic summarizer without enough room is not a failure.
        if (summarizer.deterministic === true) continue;
        error = new CompactError("SummarizerFailed", `${name}: its text is empty or too long`, {
          hint: "A summarizer keeps to maxTokens, counted with countText.",
        });
      } catch (cause) {
        if (this.#request.signal?.aborted === true) throw abortError(cause);
        error = cause ?? new CompactError("SummarizerFailed", `${name} failed`);
      }
      const fallback = summarizers[rung + 1]?.name ?? FALLBACK.pruningOnly;
      const attempt = this.#attempts.slice(before).at(-1);
      const failure: SummarizerFailure = { summarizer: name, error, fallback, attempt };
      this.#failures.push(failure);
      onFailure?.(failure);
    }
    return undefined;
  }

  /**
   * Retries with less room while the summary is too long: a deterministic summarizer by the excess, a model
   * by half.
   */
  async #writeWithin(summarizer: Summarizer): Promise<Written | undefined> {
    const { budget, target, tokensAfter, summaryTokens } = this.#plan;
    const { summaryReserve, signal } = this.#request;
    const ceiling = summaryReserve === undefined ? Math.min(budget, Math.max(tokensAfter, target)) : budget;
    const deterministic = summarizer.deterministic === true;
    const version = this.#version;
    const options = this.#optionsFor(summarizer);
    let room = summaryTokens;
    for (let tries = deterministic ? MAX_TRIES : 1 + MAX_SHORTER; tries > 0 && room > 0; tries -= 1) {
      // A summarizer that hangs must not block a caller who aborts, nor the queued calls.
      const made = await abortable(this.#ask(summarizer, { ...options, maxTokens: room }), signal);
      const summary = { version, text: readBack(made.text, version), opening: made.opening?.entry };
      const tokens = this.#costInPlace(summary);
      // A provider's text has a fixed length, and is used if it fits because it is already paid for.
      const excess = this.#keptTokens + tokens - (made.opening === undefined ? ceiling : budget);
      if (excess <= 0 && made.text.trim() !== "") {
        const { text: _, tokens: __, ...rest } = made;
        return { summary, tokens, summarizer: made.summarizer || summarizer.name, made: rest };
      }
      // A model is asked for half; a provider's own compaction would be just as long again.
      const half = made.opening === undefined ? Math.floor(room / 2) : 0;
      room = deterministic ? Math.min(room, made.tokens) - Math.max(excess, 1) : half;
    }
    return undefined;
  }

  #optionsFor(summarizer: Summarizer): Omit<SummarizeOptions, "maxTokens"> {
    const { counter, policy, note, signal, live } = this.#request;
    const { pause, onAttempt } = this.#options;
    return {
      strategy: policy.strategy,
      countText: (text) => counter.countText(text),
      previous: this.#earlier?.text.replace(POINTER, ""),
      // A deterministic summarizer cannot follow an instruction.
      instruction: summarizer.deterministic === true ? undefined : note,
      signal,
      pause,
      live: summarizer.usesLivePrefix === true ? live?.() : undefined,
      context: this.#context,
      onAttempt: (attempt) => {
        this.#attempts.push(attempt);
        if (attempt.fallback !== undefined) onAttempt?.(attempt);
      },
    };
  }

  /**
   * A summary of the covered messages, and of the readable text of a provider's earlier compaction. Its last
   * line names the archive steps of its sources.
   */
  async #ask(summarizer: Summarizer, options: SummarizeOptions): Promise<Summary> {
    const messages = this.#covered.filter(({ meta }) => meta?.summaryVersion === undefined);
    const [part] = this.#opening?.parts ?? [];
    if (this.#opening !== undefined && part?.type === "reasoning" && part.text !== "") {
      const { id, role } = this.#opening;
      const { text } = part;
      messages.unshift({ id, role, parts: [{ type: "text", text }], meta: { synthetic: true } });
    }
    const { step } = this.#options;
    const { counter } = this.#request;
    const { maxTokens } = options;
    if (step === undefined || maxTokens < MIN_POINTER_ROOM) return summarizer.summarize(messages, options);
    const pointer = step === 1 ? "Originals: archive step 1." : `Originals: archive steps 1-${step}.`;
    // One token for joining the texts.
    const room = maxTokens - counter.countText(`\n${pointer}`) - 1;
    const made = await summarizer.summarize(messages, { ...options, maxTokens: room });
    if (made.text === "") return made;
    const text = `${made.text}\n${pointer}`;
    return { ...made, text, tokens: counter.countText(text) };
  }

  /** The earlier summary once more. */
  #previous(): Written | undefined {
    return this.#earlier && this.#ifItFits({ ...this.#earlier, opening: this.#opening?.native });
  }

  /** A first user message for providers that require one, if there is no summary. */
  #bareOpening(): Written | undefined {
    if (!needsOpening(this.#kept, this.#request)) return undefined;
    return this.#ifItFits({ version: this.#version, text: BARE_OPENING });
  }

  #ifItFits(summary: LiveSummary): Written | undefined {
    const tokens = this.#costInPlace(summary);
    return this.#keptTokens + tokens <= this.#plan.budget ? { summary, tokens } : undefined;
  }

  /** Tokens of the summary message, and of the lines required by its position in the list. */
  #costInPlace(summary: LiveSummary): number {
    const isOwn = ({ message }: ListedMessage): boolean => message.meta?.summaryVersion === summary.version;
    return this.#tokensOf(this.#listWith(summary).filter(isOwn));
  }
}

function rungsOf(plan: CompactionPlan, summarizer: string | undefined): string[] {
  const { keepRecentTurns, keepRecentMessages, keepToolIoPairs } = plan.keep;
  const recent = keepRecentMessages === undefined ? `${keepRecentTurns}` : `${keepRecentMessages}m`;
  const does = (action: PlannedMessage["action"]): boolean =>
    plan.entries.some((entry) => entry.action === action);
  const rungs = plan.relaxed > 0 ? [`keep:${recent}/${keepToolIoPairs}`] : [];
  if (does("clear")) rungs.push("clear");
  if (does("elide")) rungs.push("elide");
  if (plan.summaryTokens > 0)
    rungs.push(summarizer === undefined ? FALLBACK.pruningOnly : `summary:${summarizer}`);
  return rungs;
}

// ---- the state after a compaction

/** The session and messages of a compaction. */
interface Compacted {
  /** The part of its state that applies to the view. */
  readonly activeState: SessionState;
  readonly view: {
    readonly entries: readonly ViewEntry[];
    readonly log: readonly LoggedMessage[];
    readonly current: ViewContext;
  };
}

interface Commit {
  readonly step: number;
  /** ISO 8601. */
  readonly at: string;
  /** False if only messages changed that were never sent: this does not count as a compaction. */
  readonly rewrote: boolean;
}

/** The state after a compaction, and the entries of its view; changes nothing. */
export function* stateAfter(
  session: Compacted,
  outcome: Outcome,
  { step, at, rewrote }: Commit,
): Steps<{ readonly state: SessionState; readonly entries: readonly ViewEntry[] }> {
  const { activeState: before, view } = session;
  const log = [...view.log];
  const entries = outcome.list.map((listed) => entryAfter(listed, view, outcome.plan));
  yield;
  const summary = summaryAfter(session, outcome, { step, at });
  // Without a summarizer's text, no summary covers the removed messages.
  const wrote = outcome.summarizer !== undefined;
  const read = wrote || summary?.version === before.summary?.version ? before.summarizedMessageIds : [];
  const gone = new Set(
    view.entries.filter((_, index) => outcome.plan.entries[index]?.action === "summarize"),
  );
  const left = inConversation(view.entries, before.summary).filter(
    (entry) => gone.has(entry) && entry.message.meta?.summaryVersion === undefined,
  );
  const { epochStart, tokensAfter, calibration } = before;
  // Listed one by one, as the order of the keys is that of the stored text.
  const epoch = rewrote
    ? {
        epochStart: log.length,
        tokensAfter: outcome.tokensAfter,
        calibration: afterCompaction(calibration),
        before: {
          kept: yield* keptMessages(view.entries, log, before.summary),
          summary: before.summary,
          summaryCount: before.summaryCount,
          summarizedMessageIds: before.summarizedMessageIds,
          epochStart,
          tokensAfter,
          step,
          logged: log.length,
          tokens: outcome.plan.tokensBefore,
        },
      }
    : { epochStart: epochStart ?? 0, tokensAfter, calibration, before: before.before, undone: before.undone };
  yield;
  const state: SessionState = {
    counter: view.current.counter.id,
    log,
    kept: yield* keptMessages(entries, log, summary),
    summary,
    summaryCount: before.summaryCount + (wrote ? 1 : 0),
    summarizedMessageIds: wrote
      ? [...read, ...left.map(({ message }) => message.callerId ?? message.id)]
      : read,
    step,
    ...epoch,
  };
  return { state, entries };
}

function entryAfter(
  { message, index, edit }: ListedMessage,
  { entries, current }: Compacted["view"],
  plan: CompactionPlan,
): ViewEntry {
  const entry = index === undefined ? undefined : entries[index];
  if (entry === undefined) return unloggedEntry(message, false, current);
  if (edit === undefined) return entry;
  const tokens = plan.entries[index as number]?.tokensAfter ?? entry.tokens;
  return { ...entry, message, tokens, edit: appendEdit(entry.edit, edit) };
}

/** The new summary, or the one that stays in the view. */
function summaryAfter(
  { activeState: { summary }, view }: Compacted,
  { summary: made, summaryTokens: tokens, plan }: Outcome,
  { step, at }: Pick<Commit, "step" | "at">,
): StoredSummary | undefined {
  if (summary !== undefined && made?.version === summary.version)
    return { ...summary, after: made.after, behind: made.behind };
  if (made !== undefined) return { ...made, fingerprint: fingerprintOf(made.text), at, tokens, step };
  const carried = view.entries.some(
    ({ message }, index) =>
      message.meta?.summaryVersion === summary?.version && plan.entries[index]?.action === "keep",
  );
  return carried ? summary : undefined;
}

/** All edits of a message, in order. */
function appendEdit(before: Edit | undefined, now: Edit): Edit {
  if (before === undefined) return now;
  return { ...before, next: before.next === undefined ? now : appendEdit(before.next, now) };
}
