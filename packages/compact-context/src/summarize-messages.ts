import { applyPlan, type Outcome } from "./core/apply.ts";
import { contentHash, type Format, type Message } from "./core/message.ts";
import { type CompactionPlan, planRequest } from "./core/plan.ts";
import type { Summarizer, TextModel } from "./core/ports.ts";
import type { RunningSummary } from "./core/report.ts";
import type { CompactionRequest } from "./core/usage.ts";
import {
  CompactError,
  defined,
  errorMessage,
  hasCode,
  refuseUnknown,
  requireFunction,
  requireList,
  requireOptions,
} from "./errors.ts";
import type { MemoryFlushHook } from "./flush/delivery.ts";
import { createRedactor } from "./redaction/redactor.ts";
import { POLICY, type RunningList, readRunningList } from "./running-list.ts";
import { createSummarizers, modelSummarizer } from "./summarizers/create-summarizers.ts";
import { checkOptions } from "./summarizers/llm/options.ts";

// A running summary without a session: the caller keeps the summary and what it covers, and hands it in again. Planning,
// fitting and writing are those of every compaction.

/** What is the same for every call of one conversation, or of many. */
export interface RunningOptions<T = unknown> {
  /** Writes the summary; the built-in summarizer, which needs none, when left out. */
  readonly model?: TextModel;
  /** Most tokens of the messages that come back: system messages, summary and rest together. */
  readonly maxTokens: number;
  /**
   * Tokens of not yet summarized messages from which a summary is made, and of how many; `maxTokens` when left out.
   * A list that would be over `maxTokens` is summarized before.
   */
  readonly maxTokensBeforeSummary?: number;
  /** Tokens kept free for the summary; 256 when left out. */
  readonly maxSummaryTokens?: number;
  /** Counts the caller's own messages, one at a time; our counter for the list's format when left out. */
  countTokens?(messages: T[]): number | Promise<number>;
  /** Asks for the first summary; `{messages}` stands for the messages, which come first when it is left out. */
  readonly initialSummaryPrompt?: string;
  /** Asks for a later one; `{existing_summary}` stands for the summary so far, `{messages}` for the new messages. */
  readonly existingSummaryPrompt?: string;
  /** The summary as a message: `{summary}` stands for the text; a system message when no role is given. */
  readonly finalPrompt?: string | { readonly role: "system" | "user" | "assistant"; readonly text: string };
  /** What happens to claims of the model that the messages do not hold: listed below them (default), taken out, nothing. */
  readonly verify?: "flag" | "remove" | "off";
  /** Recognised when left out; neutral messages need none. */
  readonly format?: Format;
  /** What follows when the model fails: the built-in summarizer (default), or the error. */
  readonly fallback?: "builtin" | "error";
  /** Milliseconds for the model; 60,000 when left out. */
  readonly deadlineMs?: number;
}

export interface SummarizeMessagesOptions<T = unknown> extends RunningOptions<T> {
  /** What the call before gave back; none the first time. */
  readonly runningSummary?: RunningSummary | undefined;
  /**
   * Called once with the messages that a new summary covers, secrets removed. It is not awaited; its failures go to
   * `onFailure`.
   */
  readonly memoryFlushHook?: MemoryFlushHook;
  /** Names the conversation to `memoryFlushHook`. */
  readonly sessionId?: string;
  /** Called when a model or a hook fails. */
  readonly onFailure?: (error: unknown) => void;
  readonly signal?: AbortSignal;
}

export interface SummarizeMessagesResult<T = unknown> {
  /** System messages, summary, the rest; the caller's own array where nothing changed. */
  readonly messages: T[];
  readonly runningSummary: RunningSummary | undefined;
}

/** Every name that the running options have. */
export const RUNNING_OPTIONS: Readonly<Record<keyof RunningOptions, true>> = {
  model: true,
  maxTokens: true,
  maxTokensBeforeSummary: true,
  maxSummaryTokens: true,
  countTokens: true,
  initialSummaryPrompt: true,
  existingSummaryPrompt: true,
  finalPrompt: true,
  verify: true,
  format: true,
  fallback: true,
  deadlineMs: true,
};

const OPTIONS: Readonly<Record<keyof SummarizeMessagesOptions, true>> = {
  ...RUNNING_OPTIONS,
  runningSummary: true,
  memoryFlushHook: true,
  sessionId: true,
  onFailure: true,
  signal: true,
};

/**
 * Summarizes the oldest messages once they pass a threshold, each at most once, and carries the summary on. What is
 * protected, system messages, the newest request and message, and calls that are still open always stay; the result
 * is never over `maxTokens`. Throws `InvalidArgument` for options that are unknown or contradict each other,
 * `InvalidMessages` for messages without an id where the format has ids, or summarized before, `InsufficientBudget`
 * when what must stay does not fit, `SummarizerFailed` when no summarizer can write the summary, `Aborted` when the signal is.
 */
export async function summarizeMessages<T = unknown>(
  messages: readonly T[],
  options: SummarizeMessagesOptions<T>,
): Promise<SummarizeMessagesResult<T>> {
  requireList(messages);
  requireOptions(options, "options", "Pass options such as { model, maxTokens: 4000 }.");
  refuseUnknown(options, OPTIONS);
  const { runningSummary, memoryFlushHook, sessionId = "", onFailure, signal } = options;
  if (memoryFlushHook !== undefined) requireFunction(memoryFlushHook, "options.memoryFlushHook", HOOK_HINT);
  const compactor = createRunningCompactor(options);
  const view = await compactor.look(messages, runningSummary);
  const made = await compactor.summarize(view, { onFailure, signal });
  handOn(made.summarized, { memoryFlushHook, sessionId, onFailure });
  return { messages: made.messages, runningSummary: made.runningSummary };
}

const HOOK_HINT = "Pass a function of the messages that leave the list.";

/** Gives messages that leave a list to the hook, without their secrets; never waits and never throws. */
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
/** A counter of the caller's may count anything: a model is never asked for less than this. */
const LEAST_OUTPUT = 256;
/** Where less is kept free, the summary is the model's prose alone. */
const LEAST_FOR_FACTS = 160;

/** Keeps running summaries of any number of conversations; one instance remembers which models fail. */
export interface RunningCompactor<T = unknown> {
  /** What a list is without a new summary, and whether one is due. Rejects for a list that cannot be read. */
  look(messages: readonly T[], running: RunningSummary | undefined): Promise<RunningView<T>>;
  /** Makes the summary that is due. */
  summarize(
    view: RunningView<T>,
    call: Pick<SummarizeMessagesOptions, "onFailure" | "signal">,
  ): Promise<Summarized<T>>;
}

export interface RunningView<T = unknown> extends SummarizeMessagesResult<T> {
  /** Tokens of `messages`. */
  readonly tokens: number;
  /** What is to be compacted; undefined where nothing is due. */
  readonly due: { readonly request: CompactionRequest; readonly list: RunningList } | undefined;
}

interface Summarized<T> extends SummarizeMessagesResult<T> {
  /** What the new summary stands for and no earlier one did. */
  readonly summarized: readonly Message[];
}

/** Throws `InvalidArgument` for limits that contradict each other and options of the wrong kind. */
export function createRunningCompactor<T>(options: RunningOptions<T>): RunningCompactor<T> {
  const limits = limitsOf(options);
  checkPrompt(options.finalPrompt);
  const { model, verify, deadlineMs, fallback, countTokens } = options;
  if (countTokens !== undefined)
    requireFunction(countTokens, "options.countTokens", "Pass a function of a list of messages.");
  const templates = {
    initial: options.initialSummaryPrompt ?? INITIAL_PROMPT,
    existing: options.existingSummaryPrompt ?? EXISTING_PROMPT,
  };
  const ledger = limits.maxSummaryTokens >= LEAST_FOR_FACTS;
  const asked = model && { model, verify, deadlineMs, templates, ledger };
  if (asked !== undefined) checkOptions(asked);
  const summarizers = createSummarizers(asked && modelSummarizer(asked), {
    fallback: fallback === "error" ? "pruning-only" : "builtin",
  });
  return {
    look: (messages, running) => look(messages, running, { options, limits }),
    summarize: (view, { onFailure, signal }) => summarize(view, { summarizers, onFailure, signal }),
  };
}

interface Limits {
  readonly maxTokens: number;
  readonly maxTokensBeforeSummary: number;
  readonly maxSummaryTokens: number;
}

function limitsOf(options: RunningOptions<never>): Limits {
  const { maxTokens, maxTokensBeforeSummary = maxTokens, maxSummaryTokens = MAX_SUMMARY_TOKENS } = options;
  for (const [name, value] of Object.entries({ maxTokens, maxTokensBeforeSummary, maxSummaryTokens })) {
    if (typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY) continue;
    throw new CompactError("InvalidArgument", `${name} must be a number of tokens`, {
      place: `options.${name}`,
      hint: "Pass a whole number.",
    });
  }
  if (maxSummaryTokens >= maxTokens) {
    throw new CompactError("InvalidArgument", "maxSummaryTokens must be less than maxTokens", {
      place: "options.maxSummaryTokens",
      hint: `It is ${maxSummaryTokens} of ${maxTokens}; ${MAX_SUMMARY_TOKENS} when left out.`,
    });
  }
  return { maxTokens, maxTokensBeforeSummary, maxSummaryTokens };
}

function checkPrompt(prompt: RunningOptions["finalPrompt"]): void {
  const text = typeof prompt === "object" ? prompt.text : prompt;
  if (text === undefined || text.includes("{summary}")) return;
  throw new CompactError("InvalidArgument", "finalPrompt has no place for the summary", {
    place: "options.finalPrompt",
    hint: "Write {summary} where its text belongs.",
  });
}

async function look<T>(
  messages: readonly T[],
  running: RunningSummary | undefined,
  { options, limits }: { readonly options: RunningOptions<T>; readonly limits: Limits },
): Promise<RunningView<T>> {
  if (messages.length === 0)
    return { messages: messages as T[], runningSummary: running, tokens: 0, due: undefined };
  const list = await readRunningList(messages, running, options);
  const { tokens, open } = list;
  const view = { messages: list.asItStands() as T[], runningSummary: running, tokens };
  const reached = open > 0 && open >= limits.maxTokensBeforeSummary;
  if (!reached && tokens <= limits.maxTokens) return { ...view, due: undefined };
  // Where the list is over before the threshold is reached, only what is over stays: the next summary is far away then.
  const rest = reached ? open - limits.maxTokensBeforeSummary : tokens - limits.maxTokens;
  const most =
    options.countTokens === undefined
      ? Math.max(1, limits.maxSummaryTokens - list.frame)
      : Math.max(LEAST_OUTPUT, limits.maxSummaryTokens);
  const request: CompactionRequest = {
    ...list.request,
    reason: reached ? "max_tokens_before_summary" : "max_tokens",
    budget: limits.maxTokens,
    target: Math.min(limits.maxTokens, list.fixed + Math.max(0, rest) + limits.maxSummaryTokens),
    maxSummaryTokens: most,
    summaryReserve: limits.maxSummaryTokens,
  };
  return { ...view, due: { request, list } };
}

interface Writers extends Pick<SummarizeMessagesOptions, "onFailure" | "signal"> {
  readonly summarizers: readonly Summarizer[];
}

async function summarize<T>(
  view: RunningView<T>,
  { summarizers, onFailure, signal }: Writers,
): Promise<Summarized<T>> {
  const { due, messages, runningSummary, tokens } = view;
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
  // Over its limit with nothing new to summarize, the summary so far is rewritten, and shorter.
  if (summarized.length === 0 && fits) return asItIs;
  const outcome = await applyPlan(request, plan, {
    summarizers: summarizers.map((summarizer) => counted(summarizer, list)),
    onFailure: ({ error }) => tell(onFailure, error),
  });
  const { summary } = outcome;
  if (summary === undefined || outcome.summarizer === undefined) throw unwritten(outcome);
  const ids = summarized.map((message) => list.idOf(message));
  return {
    messages: list.encode(outcome.messages) as T[],
    runningSummary: {
      summary: summary.text,
      summarizedMessageIds: [...new Set([...(runningSummary?.summarizedMessageIds ?? []), ...ids])],
      lastSummarizedMessageId: ids.at(-1) ?? runningSummary?.lastSummarizedMessageId,
    },
    summarized,
  };
}

/** Undefined where no plan helps and the list fits as it is. */
function planWithin(request: CompactionRequest, fits: boolean): CompactionPlan | undefined {
  try {
    return planRequest(request);
  } catch (error) {
    if (!hasCode(error, "InsufficientBudget")) throw error;
    // The newest exchange may be too large to stay: then its calls and results go into the summary too.
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

/** The caller's counter may take its time: it has counted a summary before the plan is held against it. */
function counted(summarizer: Summarizer, list: RunningList): Summarizer {
  return {
    ...summarizer,
    summarize: async (messages, options) => {
      const made = await summarizer.summarize(messages, options);
      await list.countSummary(made.text);
      return made;
    },
  };
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
