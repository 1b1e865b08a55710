import { CompactError } from "../errors.ts";
import type { Message } from "../messages/message.ts";
import type { SummaryAttempt } from "../summarizers/attempt.ts";
import type {
  LiveConversation,
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryStrategy,
  Surroundings,
} from "../summarizers/summarizer.ts";
import { readSummary, wrapSummary } from "../summarizers/summary-tag.ts";
import type { TokenCounter } from "../tokens/counter.ts";
import {
  assemble,
  type LiveSummary,
  lacksOpening,
  placeOf,
  type SummaryShape,
  summaryOf,
} from "./assemble.ts";
import { applyEdit, type EditContext, losesText } from "./edit.ts";
import type { CompactionPlan } from "./plan.ts";
import { asAborted, unlessAborted } from "./unless-aborted.ts";

export interface ApplyOptions {
  readonly counter: TokenCounter;
  /** Tried in turn; with none, or when all fail, the result carries no summary. */
  readonly summarizers: readonly Summarizer[];
  readonly strategy: SummaryStrategy;
  readonly instruction?: string | undefined;
  readonly shape: SummaryShape;
  /** Pinned messages that come first stand before the summary. */
  isPinned(message: Message): boolean;
  /** The version of the summary to be written. */
  readonly version: number;
  readonly archiveId?: (message: Message) => string;
  readonly signal?: AbortSignal | undefined;
  /** The conversation as the agent's last call sent it; only asked for where a summarizer can use it. */
  readonly live?: (() => LiveConversation | undefined) | undefined;
  /** Hears of each attempt of a model that something else of the same summarizer followed, as it happens. */
  onAttempt?(attempt: SummaryAttempt): void;
  /** Hears of each summarizer that failed, as it happens. */
  onFailure?(failure: SummarizerFailure): void;
}

/** A summarizer that could not be used, and what was done instead. */
export interface SummarizerFailure {
  readonly summarizer: string;
  readonly error: unknown;
  /** The next summarizer's name, or `pruning-only`. */
  readonly fallback: string;
  /** Its last request to a model, where there was one. */
  readonly attempt?: SummaryAttempt;
}

export interface Applied {
  readonly messages: readonly Message[];
  readonly summary: LiveSummary | undefined;
  /** Tokens of the whole summary message. */
  readonly summaryTokens: number;
  /** Tokens of the whole request afterwards, by the same counter as the plan. */
  readonly tokensAfter: number;
  /** What was done, in order: `clear`, `elide`, `summary:<name>`, `pruning-only`. */
  readonly rungs: readonly string[];
  readonly summarizer: string | undefined;
  readonly failures: readonly SummarizerFailure[];
  /** Every request to a model, in order. */
  readonly attempts: readonly SummaryAttempt[];
  /** What the summarizer said of its summary beside the text. */
  readonly made: Omit<Summary, "text" | "tokens"> | undefined;
}

/** Makes a plan happen on the list that it was made for; the result is at or under the plan's budget. */
export async function applyPlan(
  view: readonly Message[],
  plan: CompactionPlan,
  options: ApplyOptions,
): Promise<Applied> {
  const context: EditContext = {
    countText: (text) => options.counter.countText(text),
    ...(options.archiveId === undefined ? {} : { archiveId: options.archiveId }),
  };
  const kept: { message: Message; pinned: boolean }[] = [];
  const told: Message[] = [];
  view.forEach((message, index) => {
    const entry = plan.entries[index];
    if (entry?.action === "summarize" || losesText(entry?.edit)) told.push(message);
    if (entry?.action !== "summarize")
      kept.push({ message: applyEdit(message, entry?.edit, context), pinned: options.isPinned(message) });
  });
  const keptTokens = kept.reduce(
    (total, entry) => total + options.counter.countMessage(entry.message),
    plan.fixedTokens,
  );
  const failures: SummarizerFailure[] = [];
  const attempts: SummaryAttempt[] = [];
  const within: Surroundings = {
    list: view.filter((message) => !options.isPinned(message)),
    stays: kept.filter((entry) => !entry.pinned).map((entry) => entry.message),
  };
  const frame: Frame = { plan, keptTokens, kept, within, failures, attempts };
  const written =
    plan.summaryTokens > 0
      ? ((await writeSummary(told, frame, options)) ??
        earlierSummary(told, frame, options) ??
        bareOpening(frame, options))
      : undefined;
  const summary =
    written === undefined ? undefined : { ...written.summary, after: placeOf(written.summary, kept) };
  return {
    messages: assemble(kept, summary, options.shape),
    summary,
    summaryTokens: written?.tokens ?? 0,
    tokensAfter: keptTokens + (written?.tokens ?? 0),
    rungs: rungsOf(plan, written?.summarizer),
    summarizer: written?.summarizer,
    failures,
    attempts,
    made: written?.made,
  };
}

interface Written {
  readonly summary: LiveSummary;
  readonly tokens: number;
  /** None for a summary that was there before. */
  readonly summarizer: string | undefined;
  readonly made?: Omit<Summary, "text" | "tokens">;
}

interface Frame {
  readonly plan: CompactionPlan;
  readonly keptTokens: number;
  readonly kept: readonly { readonly message: Message; readonly pinned: boolean }[];
  /** What is pinned is left out: it never reaches a summarizer. */
  readonly within: Surroundings;
  readonly failures: SummarizerFailure[];
  readonly attempts: SummaryAttempt[];
}

async function writeSummary(
  told: readonly Message[],
  frame: Frame,
  options: ApplyOptions,
): Promise<Written | undefined> {
  for (const [rung, summarizer] of options.summarizers.entries()) {
    const before = frame.attempts.length;
    const outcome = await tryWriting(told, frame, summarizer, options);
    if (outcome.written !== undefined) return outcome.written;
    if (outcome.error === undefined) continue;
    const attempt = frame.attempts.slice(before).at(-1);
    const failure: SummarizerFailure = {
      summarizer: summarizer.name,
      error: outcome.error,
      fallback: options.summarizers[rung + 1]?.name ?? "pruning-only",
      ...(attempt === undefined ? {} : { attempt }),
    };
    frame.failures.push(failure);
    options.onFailure?.(failure);
  }
  return undefined;
}

/** Neither for the built-in summarizer where there is no room for anything: that is no failure. */
async function tryWriting(
  told: readonly Message[],
  frame: Frame,
  summarizer: Summarizer,
  options: ApplyOptions,
): Promise<{ readonly written?: Written; readonly error?: unknown }> {
  try {
    const written = await summarizeWithin(told, frame, summarizer, options);
    if (written !== undefined) return { written };
    if (summarizer.byProgram === true) return {};
    const error = new CompactError("SummarizerFailed", `${summarizer.name}: its text is empty or too long`, {
      hint: "A summarizer keeps to maxTokens, counted with countText.",
    });
    return { error };
  } catch (error) {
    if (options.signal?.aborted === true) throw asAborted(error);
    return { error: error ?? new CompactError("SummarizerFailed", `${summarizer.name} failed`) };
  }
}

/** Shorter texts that another's summarizer is asked for; the built-in one keeps to its room. */
const SHORTER = 2;
const TRIES = 4;

/**
 * Asks again with less room while the summary is over what is left of the budget: the built-in summarizer with what
 * tag and framing took, any other with half, twice at most.
 */
async function summarizeWithin(
  told: readonly Message[],
  frame: Frame,
  summarizer: Summarizer,
  options: ApplyOptions,
): Promise<Written | undefined> {
  const input = told.filter((message) => message.meta?.summaryVersion === undefined);
  const request = requestOf(told, frame, summarizer, options);
  const ceiling = Math.min(frame.plan.budget, Math.max(frame.plan.tokensAfter, frame.plan.target));
  const ours = summarizer.byProgram === true;
  let room = frame.plan.summaryTokens;
  for (let attempt = 0; attempt < (ours ? TRIES : 1 + SHORTER) && room > 0; attempt += 1) {
    // A summarizer that never ends must not hold the caller who gives up, nor the calls behind this one.
    const asked = summarizer.summarize(input, { ...request, maxTokens: room });
    const made = await unlessAborted(asked, options.signal);
    const summary: LiveSummary = { version: options.version, text: normalized(made.text, options.version) };
    const tokens = summaryCost(summary, frame, options);
    const excess = frame.keptTokens + tokens - ceiling;
    if (excess <= 0 && made.text.trim() !== "") {
      const { text: _, tokens: __, ...rest } = made;
      return { summary, tokens, summarizer: made.summarizer || summarizer.name, made: rest };
    }
    room = ours ? Math.min(room, made.tokens) - Math.max(excess, 1) : Math.floor(room / 2);
  }
  return undefined;
}

/** Where no summarizer made a new one, the summary that was there stays, if it still fits. */
function earlierSummary(told: readonly Message[], frame: Frame, options: ApplyOptions): Written | undefined {
  const summary = told.map(summaryOf).findLast((candidate) => candidate !== undefined);
  if (summary === undefined) return undefined;
  const tokens = summaryCost(summary, frame, options);
  const fits = frame.keptTokens + tokens <= frame.plan.budget;
  return fits ? { summary, tokens, summarizer: undefined } : undefined;
}

const BARE_OPENING = "Earlier messages were removed without a summary.";

/** Where nothing can be told, a provider that wants the user first still gets a message to begin with. */
function bareOpening(frame: Frame, options: ApplyOptions): Written | undefined {
  if (!lacksOpening(frame.kept, options.shape)) return undefined;
  const summary: LiveSummary = { version: options.version, text: BARE_OPENING };
  const tokens = summaryCost(summary, frame, options);
  const fits = frame.keptTokens + tokens <= frame.plan.budget;
  return fits ? { summary, tokens, summarizer: undefined } : undefined;
}

function requestOf(
  told: readonly Message[],
  frame: Frame,
  summarizer: Summarizer,
  options: ApplyOptions,
): Omit<SummarizeOptions, "maxTokens"> {
  const live = summarizer.ridesLive === true ? options.live?.() : undefined;
  const previous = told.map(summaryOf).findLast((summary) => summary !== undefined);
  return {
    strategy: options.strategy,
    countText: (text) => options.counter.countText(text),
    ...(previous === undefined ? {} : { previous: previous.text }),
    ...(options.instruction === undefined ? {} : { instruction: options.instruction }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(live === undefined ? {} : { live }),
    ...(summarizer.byProgram === true ? { within: frame.within } : {}),
    onAttempt: (attempt) => {
      frame.attempts.push(attempt);
      if (attempt.fallback !== undefined) options.onAttempt?.(attempt);
    },
  };
}

/** The text as it reads back from its message, so that a summary is recognised by its text. */
function normalized(text: string, version: number): string {
  return readSummary(wrapSummary(text, version))?.text ?? text;
}

function summaryCost(summary: LiveSummary, frame: Frame, options: ApplyOptions): number {
  const placed = assemble(frame.kept, summary, options.shape);
  const message = placed.find((candidate) => candidate.meta?.summaryVersion === summary.version);
  return message === undefined ? 0 : options.counter.countMessage(message);
}

function rungsOf(plan: CompactionPlan, summarizer: string | undefined): string[] {
  const rungs: string[] = [];
  if (plan.entries.some((entry) => entry.action === "clear")) rungs.push("clear");
  if (plan.entries.some((entry) => entry.action === "elide")) rungs.push("elide");
  if (plan.summaryTokens > 0) rungs.push(summarizer === undefined ? "pruning-only" : `summary:${summarizer}`);
  return rungs;
}
