import { applyPlan, type Outcome } from "./core/apply.ts";
import { contentHash, type Format, type Message } from "./core/message.ts";
import { type CompactionPlan, planRequest } from "./core/plan.ts";
import type { Summarizer, TextModel } from "./core/ports.ts";
import type { RunningSummary } from "./core/report.ts";
import { type CompactionRequest, type Fields, requireFields } from "./core/request.ts";
import { CompactError, defined, errorMessage, hasCode, requireList, requireText } from "./errors.ts";
import type { MemoryFlushHook } from "./flush/flush.ts";
import { createRedactor } from "./redaction/redactor.ts";
import { POLICY, type RunningList, readRunningList } from "./running-list.ts";
import { createSummarizers, modelSummarizer } from "./summarizers/create-summarizers.ts";
import { checkOptions } from "./summarizers/llm/options.ts";

// A running summary without a session: the caller keeps the summary and what it covers, and passes it in
// again. Planning, fitting and writing are the same as for any compaction.

/** Options shared by all calls of one or more conversations. */
export interface RunningOptions<T = unknown> {
  /** Writes the summary. Default: the built-in summarizer, which needs no model. */
  readonly model?: TextModel;
  /** Maximum tokens of the returned messages: system messages, summary and rest together. */
  readonly maxTokens: number;
  /**
   * Tokens of unsummarized messages at which a summary is made, and how many it covers. Default: `maxTokens`.
   * A list that would exceed `maxTokens` is summarized earlier.
   */
  readonly maxTokensBeforeSummary?: number;
  /** Tokens reserved for the summary. Default: 256. */
  readonly maxSummaryTokens?: number;
  /** Counts the caller's own messages, one at a time. Default: our counter for the list's format. */
  countTokens?(messages: T[]): number | Promise<number>;
  /**
   * Prompt for the first summary; `{messages}` is replaced by the messages, which come first if it is
   * omitted.
   */
  readonly initialSummaryPrompt?: string;
  /**
   * Prompt for later summaries; `{existing_summary}` is replaced by the current summary, `{messages}` by the
   * new messages.
   */
  readonly existingSummaryPrompt?: string;
  /** The summary as a message: `{summary}` is replaced by the text. Default role: system. */
  readonly finalPrompt?: string | { readonly role: "system" | "user" | "assistant"; readonly text: string };
  /**
   * Handling of claims by the model that the messages do not support: listed below them (default), removed,
   * or ignored.
   */
  readonly verify?: "flag" | "remove" | "off";
  /** Default: detected; neutral messages need none. */
  readonly format?: Format;
  /** Fallback if the model fails: the built-in summarizer (default), or the error. */
  readonly fallback?: "builtin" | "error";
  /** Timeout of the model in milliseconds. Default: 60,000. */
  readonly deadlineMs?: number;
}

export interface SummarizeMessagesOptions<T = unknown> extends RunningOptions<T> {
  /** The result of the previous call; omitted the first time. */
  readonly runningSummary?: RunningSummary | undefined;
  /**
   * Called once with the messages covered by a new summary, redacted. Not awaited; its failures go to
   * `onFailure`.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** Session id passed to `memoryFlushHook`. */
  readonly sessionId?: string;
  /** Called when a model or a hook fails. */
  readonly onFailure?: (error: unknown) => void;
  readonly signal?: AbortSignal;
}

export interface SummarizeMessagesResult<T = unknown> {
  /** System messages, summary, the rest; the caller's own array if nothing changed. */
  readonly messages: T[];
  readonly runningSummary: RunningSummary | undefined;
}

/** The names of all running options. */
export const RUNNING_OPTIONS: Fields<RunningOptions> = {
  model: "object",
  maxTokens: "number",
  maxTokensBeforeSummary: "number",
  maxSummaryTokens: "number",
  countTokens: "function",
  initialSummaryPrompt: "text",
  existingSummaryPrompt: "text",
  finalPrompt: "unchecked",
  verify: ["flag", "remove", "off"],
  format: "unchecked",
  fallback: ["builtin", "error"],
  deadlineMs: "positive",
};

const OPTIONS: Fields<SummarizeMessagesOptions> = {
  ...RUNNING_OPTIONS,
  runningSummary: "object",
  memoryFlushHook: "function",
  sessionId: "text",
  onFailure: "function",
  signal: "signal",
};

/**
 * Summarizes the oldest messages once they pass a threshold, each at most once, and extends the summary.
 * Protected and system messages, the latest user message, the latest message and open calls always stay; the
 * result never exceeds `maxTokens`. Throws `InvalidArgument` for options that are unknown or contradictory,
 * `InvalidMessages` for messages that lack an id in a format with ids or were already summarized,
 * `InsufficientBudget` if what must stay does not fit, `SummarizerFailed` if no summarizer can write the
 * summary, `Aborted` if the signal is aborted.
 */
export async function summarizeMessages<T = unknown>(
  messages: readonly T[],
  options: SummarizeMessagesOptions<T>,
): Promise<SummarizeMessagesResult<T>> {
  requireList(messages);
  requireFields(options, OPTIONS, "options", "Pass options such as { model, maxTokens: 4000 }.");
  const { runningSummary, memoryFlushHook, sessionId = "", onFailure, signal } = options;
  if (runningSummary !== undefined)
    requireText(runningSummary.summary, "options.runningSummary.summary", RUNNING_HINT);
  const compactor = new RunningCompactor(options);
  const view = await compactor.look(messages, runningSummary);
  const made = await compactor.summarize(view, { onFailure, signal });
  handOn(made.summarized, { memoryFlushHook, sessionId, onFailure });
  return { messages: made.messages, runningSummary: made.runningSummary };
}

const RUNNING_HINT = "Pass the runningSummary that the call before gave back; the first call has none.";

/** Passes removed messages to the hook, redacted; never waits, never throws. */
export function handOn(
  messages: readonly Message[],
  options: Pick<SummarizeMessagesOptions, "memoryFlushHook" | "onFailure"> & { readonly sessionId: string },
): void {
  const { memoryFlushHook: hook, sessionId, onFailure } = options;
  if (hook === undefined || messages.length === 0) return;
  const call = async (): Promise<void> => {
    const { redactValue } = createRedactor();
    const clean = messages.map(
      ({ id, role, parts, meta }) => redactValue(defined({ id, role, parts, meta })) as Message,
    );
    const key = contentHash({ role: "user", parts: messages.flatMap(({ parts }) => parts) });
    await hook(clean, {
      sessionId,
      step: 0,
      idempotencyKey: `${sessionId}/${key}`,
      attempt: 1,
      signal: new AbortController().signal,
    });
  };
  call().catch((error: unknown) => tell(onFailure, error));
}

/** Calls the caller's hook and ignores its failures. */
function tell(onFailure: SummarizeMessagesOptions["onFailure"], error: unknown): void {
  (async () => onFailure?.(error))().catch(() => undefined);
}

// ---- the compactor

const MAX_SUMMARY_TOKENS = 256;
const INITIAL_PROMPT = "Write a summary of the conversation in the records above.";
const EXISTING_PROMPT =
  "The summary of the conversation so far:\n{existing_summary}\n\nExtend this summary by the records above, which are newer: where they differ, they win.";
/** The caller's counter can use any unit: a model is never asked for less than this. */
const LEAST_OUTPUT = 256;
/** With a smaller reserve, the summary is the model's prose alone. */
const LEAST_FOR_FACTS = 160;

export interface RunningView<T = unknown> extends SummarizeMessagesResult<T> {
  /** Tokens of `messages`. */
  readonly tokens: number;
  /** What to compact; undefined if nothing is due. */
  readonly due: { readonly request: CompactionRequest; readonly list: RunningList } | undefined;
}

interface Summarized<T> extends SummarizeMessagesResult<T> {
  /** The messages covered by the new summary but by no earlier one. */
  readonly summarized: readonly Message[];
}

/** Keeps running summaries of any number of conversations; one instance tracks which models fail. */
export class RunningCompactor<T = unknown> {
  readonly #options: RunningOptions<T>;
  readonly #limits: ReturnType<typeof limitsOf>;
  readonly #summarizers: readonly Summarizer[];

  /** Throws `InvalidArgument` for contradictory limits and options of the wrong type. */
  constructor(options: RunningOptions<T>) {
    const { model, verify, deadlineMs, fallback, finalPrompt } = options;
    this.#options = options;
    this.#limits = limitsOf(options);
    const prompt = typeof finalPrompt === "object" ? finalPrompt?.text : finalPrompt;
    if (finalPrompt !== undefined && !(typeof prompt === "string" && prompt.includes("{summary}"))) {
      throw new CompactError("InvalidArgument", "finalPrompt has no place for the summary", {
        place: "options.finalPrompt",
        hint: "Write {summary} where its text belongs.",
      });
    }
    const templates = {
      initial: options.initialSummaryPrompt ?? INITIAL_PROMPT,
      existing: options.existingSummaryPrompt ?? EXISTING_PROMPT,
    };
    const ledger = this.#limits.maxSummaryTokens >= LEAST_FOR_FACTS;
    const asked = model && { model, verify, deadlineMs, templates, ledger };
    if (asked !== undefined) checkOptions(asked);
    this.#summarizers = createSummarizers(asked && modelSummarizer(asked), {
      fallback: fallback === "error" ? "pruning-only" : "builtin",
    });
  }

  /** The list without a new summary, and whether one is due. Rejects for a list that cannot be read. */
  async look(messages: readonly T[], running: RunningSummary | undefined): Promise<RunningView<T>> {
    if (messages.length === 0)
      return { messages: messages as T[], runningSummary: running, tokens: 0, due: undefined };
    const { maxTokens, maxTokensBeforeSummary, maxSummaryTokens } = this.#limits;
    const list = await readRunningList(messages, running, this.#options);
    const { tokens, open, fixed, frame } = list;
    const view = { messages: list.asItStands() as T[], runningSummary: running, tokens };
    const reached = open > 0 && open >= maxTokensBeforeSummary;
    if (!reached && tokens <= maxTokens) return { ...view, due: undefined };
    // If the list is over its limit before the threshold is reached, only the excess is summarized: the next
    // summary is then far away.
    const rest = reached ? open - maxTokensBeforeSummary : tokens - maxTokens;
    const byUs = this.#options.countTokens === undefined;
    const request: CompactionRequest = {
      ...list.request,
      reason: reached ? "max_tokens_before_summary" : "max_tokens",
      budget: maxTokens,
      target: Math.min(maxTokens, fixed + Math.max(0, rest) + maxSummaryTokens),
      maxSummaryTokens: byUs
        ? Math.max(1, maxSummaryTokens - frame)
        : Math.max(LEAST_OUTPUT, maxSummaryTokens),
      summaryReserve: maxSummaryTokens,
    };
    return { ...view, due: { request, list } };
  }

  /** Creates the summary that is due. */
  async summarize(
    { due, messages, runningSummary, tokens }: RunningView<T>,
    { onFailure, signal }: Pick<SummarizeMessagesOptions, "onFailure" | "signal">,
  ): Promise<Summarized<T>> {
    const asItIs = { messages, runningSummary, summarized: [] };
    if (due === undefined) return asItIs;
    const { list } = due;
    const request = { ...due.request, signal };
    const fits = tokens <= request.budget;
    const plan = planWithin(request, fits);
    if (plan === undefined) return asItIs;
    const summarized = request.messages.filter(
      ({ meta }, index) => plan.entries[index]?.action === "summarize" && meta?.summaryVersion === undefined,
    );
    // If the list is over its limit without new messages to summarize, the current summary is rewritten,
    // shorter.
    if (summarized.length === 0 && fits) return asItIs;
    const outcome = await applyPlan(request, plan, {
      // The caller's counter can be asynchronous: it counts a summary before the plan is checked against it.
      summarizers: this.#summarizers.map((summarizer) => ({
        ...summarizer,
        async summarize(...input) {
          const made = await summarizer.summarize(...input);
          await list.countSummary(made.text);
          return made;
        },
      })),
      onFailure: ({ error }) => tell(onFailure, error),
    });
    const { summary } = outcome;
    if (summary === undefined || outcome.summarizer === undefined) throw unwritten(outcome);
    const ids = summarized.map((message) => list.idOf(message));
    return {
      messages: list.encode(outcome.list.map(({ message }) => message)) as T[],
      runningSummary: {
        summary: summary.text,
        summarizedMessageIds: [...new Set([...(runningSummary?.summarizedMessageIds ?? []), ...ids])],
        lastSummarizedMessageId: ids.at(-1) ?? runningSummary?.lastSummarizedMessageId,
      },
      summarized,
    };
  }
}

function limitsOf(options: RunningOptions<never>) {
  const { maxTokens, maxTokensBeforeSummary = maxTokens, maxSummaryTokens = MAX_SUMMARY_TOKENS } = options;
  const limits = { maxTokens, maxTokensBeforeSummary, maxSummaryTokens };
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY) continue;
    throw new CompactError("InvalidArgument", `${name} must be a number of tokens`, {
      place: `options.${name}`,
      hint: "Pass a whole number.",
    });
  }
  if (maxSummaryTokens < maxTokens) return limits;
  throw new CompactError("InvalidArgument", "maxSummaryTokens must be less than maxTokens", {
    place: "options.maxSummaryTokens",
    hint: `It is ${maxSummaryTokens} of ${maxTokens}; ${MAX_SUMMARY_TOKENS} when left out.`,
  });
}

/** Undefined if no plan helps and the list fits unchanged. */
function planWithin(request: CompactionRequest, fits: boolean): CompactionPlan | undefined {
  try {
    return planRequest(request);
  } catch (error) {
    if (!hasCode(error, "InsufficientBudget")) throw error;
    // The newest exchange may be too large to keep: then its calls and results are summarized too.
  }
  try {
    const { keepRecentMessages: _, ...policy } = POLICY;
    return planRequest({ ...request, policy });
  } catch (error) {
    if (!hasCode(error, "InsufficientBudget")) throw error;
    if (fits) return undefined;
    throw new CompactError("InsufficientBudget", errorMessage(error), {
      hint: "Raise maxTokens, lower maxSummaryTokens, or shorten the system message, what is protected or the newest request.",
      cause: error,
    });
  }
}

function unwritten({ failures }: Outcome): CompactError {
  const error = failures.at(-1)?.error;
  if (CompactError.isInstance(error) && error.hint !== "") return error;
  const problem = error === undefined ? "no summary fits maxSummaryTokens" : errorMessage(error);
  return new CompactError("SummarizerFailed", problem, {
    hint: "The messages are as they were; call again, raise maxSummaryTokens, or let the built-in summarizer step in.",
    cause: error,
  });
}
