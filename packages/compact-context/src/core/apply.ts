import { abortable, abortError, CompactError, type Pause, type Steps } from "../errors.ts";
import { applyEdit, type Edit, losesText } from "./edit.ts";
import { editContext } from "./fit.ts";
import { type LiveSummary, type Message, nextSummaryVersion, readBack, summaryOf } from "./message.ts";
import type { CompactionPlan, PlannedMessage } from "./plan.ts";
import { isPinned, type KeepCounts } from "./policy.ts";
import {
  FALLBACK,
  type SummarizeOptions,
  type Summarizer,
  type Summary,
  type SummaryAttempt,
  type SummaryContext,
} from "./ports.ts";
import { afterCompaction, type CompactionRequest } from "./usage.ts";
import {
  assemble,
  fingerprintOf,
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
export interface ListedMessage {
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
  const writing = startWriting(request, plan, options);
  const written =
    plan.summaryTokens > 0
      ? ((await writeSummary(writing)) ?? previousSummary(writing) ?? bareOpening(writing))
      : undefined;
  const summaryTokens = written?.tokens ?? 0;
  const whole = withReasoning(writing, written);
  const { kept, keptTokens } = whole ?? writing;
  // Kept reasoning is bound to the messages before it: nothing may come between them and the provider's
  // compaction.
  const after = written && (whole === undefined ? placeOf(written.summary, kept) : kept.length);
  const summary = written && { ...written.summary, after, behind: whole?.behind };
  return {
    plan: whole?.plan ?? plan,
    list: inList(kept, summary, request),
    summary,
    summaryTokens,
    tokensAfter: keptTokens + summaryTokens,
    rungs: rungsOf(plan, written?.summarizer),
    summarizer: written?.summarizer,
    failures: writing.failures,
    attempts: writing.attempts,
    made: written?.made,
  };
}

function inList(
  kept: readonly ListedMessage[],
  summary: LiveSummary | undefined,
  request: CompactionRequest,
): ListedMessage[] {
  return assemble(kept, summary, request, (message) => ({ message, pinned: false }));
}

/** A summary in progress: its input, the surrounding messages, and what was tried. */
interface Writing {
  readonly request: CompactionRequest;
  readonly plan: CompactionPlan;
  readonly options: ApplyOptions;
  /** The messages covered by the summary, including the earlier summary. */
  readonly covered: readonly Message[];
  readonly kept: readonly ListedMessage[];
  readonly keptTokens: number;
  /** Without pinned messages: summarizers never read them. */
  readonly context: SummaryContext;
  readonly version: number;
  readonly failures: SummarizerFailure[];
  readonly attempts: SummaryAttempt[];
}

interface Written {
  readonly summary: LiveSummary;
  readonly tokens: number;
  /** Undefined for an earlier summary. */
  readonly summarizer: string | undefined;
  readonly made?: Omit<Summary, "text" | "tokens">;
}

function startWriting(request: CompactionRequest, plan: CompactionPlan, options: ApplyOptions): Writing {
  const { messages, counter, policy } = request;
  const kept: ListedMessage[] = [];
  const covered: Message[] = [];
  const context: { list: Message[]; kept: Message[] } = { list: [], kept: [] };
  for (const [index, message] of messages.entries()) {
    const { action, edit, layer } = plan.entries[index] ?? {};
    if (layer !== "pinned") context.list.push(message);
    if (action === "summarize" || losesText(edit)) covered.push(message);
    if (action === "summarize") continue;
    const edited = applyEdit(message, edit, editContext(request));
    const applied = edited === message ? undefined : edit;
    kept.push({ message: edited, pinned: isPinned(message, policy), index, edit: applied });
    if (layer !== "pinned") context.kept.push(edited);
  }
  return {
    request,
    plan,
    options,
    covered,
    kept,
    keptTokens: kept.reduce((total, { message }) => total + counter.countMessage(message), plan.fixedTokens),
    context,
    version: Math.max(nextSummaryVersion(messages), (request.lastSummaryVersion ?? 0) + 1),
    failures: [],
    attempts: [],
  };
}

/** What is kept after a provider's own compaction, with all its reasoning. */
interface KeptWhole extends Pick<Writing, "kept" | "keptTokens"> {
  readonly plan: CompactionPlan;
  /** Number of them covered by the compaction: they come after the others, so that nothing comes between. */
  readonly behind: number;
}

/**
 * What is kept with its bound reasoning, if the provider accepts that after its own compaction: everything
 * not compacted stays unchanged, directly after it, and begins with another role.
 */
function withReasoning(
  { request, plan, kept, keptTokens }: Writing,
  written: Written | undefined,
): KeptWhole | undefined {
  const covers = written?.made?.opening?.covers;
  if (covers === undefined || written === undefined) return undefined;
  const { messages, counter, policy } = request;
  const [last, first] = [messages[covers - 1], messages[covers]];
  const speaker = (message: Message | undefined) => (message?.role === "tool" ? "user" : message?.role);
  const parted = speaker(last) !== speaker(first) && first?.role !== "system" && first?.role !== "developer";
  const entries = plan.entries.map((entry): PlannedMessage => {
    const { stripReasoning: _, unarchived: __, ...others } = entry.edit ?? {};
    if (entry.edit?.stripReasoning !== true || Object.keys(others).length > 0) return entry;
    const reason = "kept whole behind the provider's own compaction";
    return { ...entry, action: "keep", edit: undefined, tokensAfter: entry.tokens, reason };
  });
  const stays = entries.map(({ action, edit }) => action === "keep" && edit === undefined);
  const told = messages.filter((_, index) => index < covers && entries[index]?.action !== "summarize");
  const isPlain = told.every(
    ({ parts }) => !parts.some(({ type }) => type === "reasoning" || type.startsWith("tool")),
  );
  const unchanged = stays.every(
    (same, index) => same || (index < covers && !told.includes(messages[index] as Message)),
  );
  if (!parted || !isPlain || !unchanged) return undefined;
  const whole = kept.map(({ index = 0 }): ListedMessage => {
    const message = messages[index] as Message;
    return { message, pinned: isPinned(message, policy), index };
  });
  const tokens = whole.reduce(
    (total, { message }) => total + counter.countMessage(message),
    keptTokens - kept.reduce((total, { message }) => total + counter.countMessage(message), 0),
  );
  if (tokens + written.tokens > plan.budget) return undefined;
  return { kept: whole, keptTokens: tokens, plan: { ...plan, entries }, behind: told.length };
}

async function writeSummary(writing: Writing): Promise<Written | undefined> {
  const { options, attempts, failures, request } = writing;
  for (const [rung, summarizer] of options.summarizers.entries()) {
    const before = attempts.length;
    let error: unknown;
    try {
      const written = await summarizeWithin(writing, summarizer);
      if (written !== undefined) return written;
      // A deterministic summarizer without enough room is not a failure.
      if (summarizer.deterministic === true) continue;
      error = new CompactError("SummarizerFailed", `${summarizer.name}: its text is empty or too long`, {
        hint: "A summarizer keeps to maxTokens, counted with countText.",
      });
    } catch (cause) {
      if (request.signal?.aborted === true) throw abortError(cause);
      error = cause ?? new CompactError("SummarizerFailed", `${summarizer.name} failed`);
    }
    const failure: SummarizerFailure = {
      summarizer: summarizer.name,
      error,
      fallback: options.summarizers[rung + 1]?.name ?? FALLBACK.pruningOnly,
      attempt: attempts.slice(before).at(-1),
    };
    failures.push(failure);
    options.onFailure?.(failure);
  }
  return undefined;
}

/**
 * FIT-4: how often a model is asked for a shorter text; a deterministic summarizer is called up to
 * `MAX_TRIES` times.
 */
const MAX_SHORTER = 2;
const MAX_TRIES = 4;

/**
 * Retries with less room while the summary is too long: a deterministic summarizer by the excess, a model by
 * half.
 */
async function summarizeWithin(writing: Writing, summarizer: Summarizer): Promise<Written | undefined> {
  const { plan, covered, version, request, options } = writing;
  const input = inputOf(covered);
  const summarizeOptions = optionsFor(writing, summarizer);
  const aimed = Math.max(plan.tokensAfter, plan.target);
  const ceiling = request.summaryReserve === undefined ? Math.min(plan.budget, aimed) : plan.budget;
  const deterministic = summarizer.deterministic === true;
  let room = plan.summaryTokens;
  for (let attempt = 0; attempt < (deterministic ? MAX_TRIES : 1 + MAX_SHORTER) && room > 0; attempt += 1) {
    // A summarizer that hangs must not block a caller who aborts, nor the queued calls.
    const asked = withPointer(summarizer, input, { ...summarizeOptions, maxTokens: room }, options.step);
    const made = await abortable(asked, request.signal);
    const summary = { version, text: readBack(made.text, version), opening: made.opening?.entry };
    const tokens = costInPlace(summary, writing);
    // A provider's text has a fixed length, and is used if it fits because it is already paid for.
    const excess = writing.keptTokens + tokens - (made.opening === undefined ? ceiling : plan.budget);
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

function optionsFor(writing: Writing, summarizer: Summarizer): Omit<SummarizeOptions, "maxTokens"> {
  const { request, covered, context, attempts, options } = writing;
  return {
    strategy: request.policy.strategy,
    countText: (text) => request.counter.countText(text),
    previous: earlierSummary(covered)?.text,
    // A deterministic summarizer cannot follow an instruction.
    instruction: summarizer.deterministic === true ? undefined : request.note,
    signal: request.signal,
    pause: options.pause,
    live: summarizer.usesLivePrefix === true ? request.live?.() : undefined,
    context,
    onAttempt: (attempt) => {
      attempts.push(attempt);
      if (attempt.fallback !== undefined) options.onAttempt?.(attempt);
    },
  };
}

/** Below this many tokens, a summary does not name the archive: its own text needs the room. */
const MIN_POINTER_ROOM = 240;
const POINTER = /\n?^Originals: archive steps? [0-9-]{1,20}\.$/m;

/** The summary with a last line that names the archive steps of its sources. */
async function withPointer(
  summarizer: Summarizer,
  messages: readonly Message[],
  options: SummarizeOptions,
  step: number | undefined,
): Promise<Summary> {
  const { maxTokens, countText = () => 0 } = options;
  const inner = { ...options, previous: options.previous?.replace(POINTER, "") };
  if (step === undefined || maxTokens < MIN_POINTER_ROOM) return summarizer.summarize(messages, inner);
  const pointer = step === 1 ? "Originals: archive step 1." : `Originals: archive steps 1-${step}.`;
  // One token for joining the texts.
  const room = maxTokens - countText(`\n${pointer}`) - 1;
  const made = await summarizer.summarize(messages, { ...inner, maxTokens: room });
  if (made.text === "") return made;
  const text = `${made.text}\n${pointer}`;
  return { ...made, text, tokens: countText(text) };
}

function previousSummary(writing: Writing): Written | undefined {
  const summary = earlierSummary(writing.covered);
  return fitting(writing, summary && { ...summary, opening: openingOf(writing.covered)?.native });
}

function earlierSummary(covered: readonly Message[]): LiveSummary | undefined {
  const marked = covered.filter(({ meta }) => meta?.summaryVersion !== undefined);
  return marked.map(summaryOf).findLast((summary) => summary !== undefined);
}

/**
 * The input of a summarizer: the covered messages, and the readable text of a provider's earlier compaction.
 */
function inputOf(covered: readonly Message[]): Message[] {
  const messages = covered.filter((message) => message.meta?.summaryVersion === undefined);
  return [...openingText(openingOf(covered)), ...messages];
}

/** The provider's own compaction that accompanies an earlier summary. */
function openingOf(covered: readonly Message[]): Message | undefined {
  return covered.find(
    ({ meta, parts }) => meta?.summaryVersion !== undefined && parts[0]?.type === "reasoning",
  );
}

/** Its text, as a message that summarizers read. */
function openingText(opening: Message | undefined): Message[] {
  const [part] = opening?.parts ?? [];
  if (opening === undefined || part?.type !== "reasoning" || part.text === "") return [];
  const { id, role } = opening;
  return [{ id, role, parts: [{ type: "text", text: part.text }], meta: { synthetic: true } }];
}

const BARE_OPENING = "Earlier messages were removed without a summary.";

/** A first user message for providers that require one, if there is no summary. */
function bareOpening(writing: Writing): Written | undefined {
  if (!needsOpening(writing.kept, writing.request)) return undefined;
  return fitting(writing, { version: writing.version, text: BARE_OPENING });
}

function fitting(writing: Writing, summary: LiveSummary | undefined): Written | undefined {
  if (summary === undefined) return undefined;
  const tokens = costInPlace(summary, writing);
  const fits = writing.keptTokens + tokens <= writing.plan.budget;
  return fits ? { summary, tokens, summarizer: undefined } : undefined;
}

/** Tokens of the summary message, and of the lines required by its position in the list. */
function costInPlace(summary: LiveSummary, { kept, request }: Writing): number {
  const own = inList(kept, summary, request).filter(
    ({ message }) => message.meta?.summaryVersion === summary.version,
  );
  return own.reduce((total, { message }) => total + request.counter.countMessage(message), 0);
}

function rungsOf(plan: CompactionPlan, summarizer: string | undefined): string[] {
  const rungs: string[] = [];
  if (plan.relaxed > 0) rungs.push(keepRung(plan.keep));
  if (plan.entries.some((entry) => entry.action === "clear")) rungs.push("clear");
  if (plan.entries.some((entry) => entry.action === "elide")) rungs.push("elide");
  if (plan.summaryTokens > 0)
    rungs.push(summarizer === undefined ? FALLBACK.pruningOnly : `summary:${summarizer}`);
  return rungs;
}

function keepRung({ keepRecentTurns, keepRecentMessages, keepToolIoPairs }: KeepCounts): string {
  const recent = keepRecentMessages === undefined ? `${keepRecentTurns}` : `${keepRecentMessages}m`;
  return `keep:${recent}/${keepToolIoPairs}`;
}

// ---- the state after a compaction

/** The session and messages of a compaction. */
interface Compacted {
  /** The part of its state that applies to the view. */
  readonly activeState: SessionState;
  readonly entries: readonly ViewEntry[];
  readonly log: readonly LoggedMessage[];
  readonly current: ViewContext;
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
  const { activeState: before, current } = session;
  const log = [...session.log];
  const entries = outcome.list.map((listed) => entryAfter(listed, session, outcome.plan));
  yield;
  const summary = summaryAfter(session, outcome, { step, at });
  // Without a summarizer's text, no summary covers the removed messages.
  const wrote = outcome.summarizer !== undefined;
  const read = wrote || summary?.version === before.summary?.version ? before.summarizedMessageIds : [];
  const left = session.entries.filter(
    ({ message }, index) =>
      outcome.plan.entries[index]?.action === "summarize" && message.meta?.summaryVersion === undefined,
  );
  const { epochStart, tokensAfter, calibration } = before;
  // Listed one by one, as the order of the keys is that of the stored text.
  const epoch = rewrote
    ? {
        epochStart: log.length,
        tokensAfter: outcome.tokensAfter,
        calibration: afterCompaction(calibration),
        before: {
          kept: yield* keptMessages(session.entries, log, before.summary),
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
    counter: current.counter.id,
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
  { entries, current }: Compacted,
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
  { activeState: { summary }, entries }: Compacted,
  { summary: made, summaryTokens: tokens, plan }: Outcome,
  { step, at }: Pick<Commit, "step" | "at">,
): StoredSummary | undefined {
  if (summary !== undefined && made?.version === summary.version)
    return { ...summary, after: made.after, behind: made.behind };
  if (made !== undefined) return { ...made, fingerprint: fingerprintOf(made.text), at, tokens, step };
  const carried = entries.some(
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
