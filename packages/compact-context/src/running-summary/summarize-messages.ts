import { listCodec } from "../codecs/formats.ts";
import type { RunningSummary } from "../core/manager.ts";
import { contentHash, type Format, type Message, messageText } from "../core/message.ts";
import type { ListCodec, TextModel } from "../core/ports.ts";
import { CompactError, errorMessage, requireList, requireOptions } from "../errors.ts";
import { builtinSummarizer } from "../summarizers/extractive/builtin.ts";
import { createTokenCounter } from "../tokens/token-counter.ts";
import { type ListedMessage, type RunningLimits, selectMessages } from "./selection.ts";
import { type RunningPrompts, writeRunningSummary } from "./write.ts";

export interface SummarizeMessagesOptions<T = unknown> extends RunningPrompts {
  /** What the call before gave back; none the first time. */
  readonly runningSummary?: RunningSummary | undefined;
  readonly model: TextModel;
  /** Most tokens of the messages that come back, once a summary was made. */
  readonly maxTokens: number;
  /** Tokens of not yet summarized messages from which a summary is made; `maxTokens` when left out. */
  readonly maxTokensBeforeSummary?: number;
  /** Tokens kept free for the summary; 256 when left out. */
  readonly maxSummaryTokens?: number;
  /** Counts the caller's own messages; our counter for the list's format when left out. */
  readonly countTokens?: (messages: readonly T[]) => number;
  /** The summary as a message: `{summary}` stands for the text; a system message when no role is given. */
  readonly finalPrompt?: string | { readonly role: "system" | "user" | "assistant"; readonly text: string };
  /** Recognised when left out; neutral messages need none. */
  readonly format?: Format;
  /** What follows when the model fails: the built-in summarizer (default), or the error. */
  readonly fallback?: "builtin" | "error";
  /** Told of a model that failed. */
  readonly onFailure?: (error: unknown) => void;
  /** Milliseconds for the model; 60,000 when left out. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

export interface SummarizeMessagesResult<T = unknown> {
  /** System message, summary, the rest; the caller's own array when there is no summary. */
  readonly messages: T[];
  readonly runningSummary: RunningSummary | undefined;
}

const MAX_SUMMARY_TOKENS = 256;
const FINAL_PROMPT = "Summary of the conversation so far: {summary}";
/** A custom counter may count anything: a model is never asked for less than this. */
const LEAST_OUTPUT = 256;
const SHORTER = 2;

/**
 * Summarizes the oldest messages once they pass a threshold, each at most once, and carries the summary on. The
 * newest request and calls that are still open always stay. Throws `InvalidArgument` for limits that contradict each
 * other, `InvalidMessages` for messages without an id where the format has ids, or summarized before,
 * `InsufficientBudget` when what must stay does not fit, `Aborted` when the signal is.
 */
export async function summarizeMessages<T = unknown>(
  messages: readonly T[],
  options: SummarizeMessagesOptions<T>,
): Promise<SummarizeMessagesResult<T>> {
  requireList(messages);
  requireOptions(options, "options", "Pass options such as { model, maxTokens: 4000 }.");
  const limits = limitsOf(options);
  const running = options.runningSummary ?? undefined;
  if (messages.length === 0) return { messages: messages as T[], runningSummary: running };
  const codec = listCodec(messages, options.format);
  const count = counterOf(options, codec);
  const listed = listMessages(messages, codec, count);
  const shown = running && {
    ...running,
    shown: messageText(summaryMessage(running.summary, options.finalPrompt)),
  };
  const { system, summarize, stay } = selectMessages(listed, shown, limits);
  const assemble = (text: string): T[] => {
    const summary = summaryMessage(text, options.finalPrompt);
    const rest = stay.map((entry) => entry.message);
    return codec.encode([...(system === undefined ? [] : [system.message]), summary, ...rest]) as T[];
  };
  if (summarize.length === 0) {
    if (running === undefined || running.summary === "")
      return { messages: messages as T[], runningSummary: running };
    return { messages: assemble(running.summary), runningSummary: running };
  }
  const fits = (text: string): boolean => count(assemble(text)) <= limits.maxTokens;
  const text = await summaryText(summarize, running, { options, limits, fits });
  return { messages: assemble(text), runningSummary: extended(running, summarize, text) };
}

function limitsOf<T>(options: SummarizeMessagesOptions<T>): RunningLimits {
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

type Count = (natives: readonly unknown[]) => number;

function counterOf<T>(options: SummarizeMessagesOptions<T>, codec: ListCodec): Count {
  const { countTokens } = options;
  if (countTokens !== undefined) return (natives) => countTokens(natives as readonly T[]);
  const counter = createTokenCounter(codec.format === undefined ? {} : { format: codec.format });
  return (natives) =>
    codec.decode(natives).reduce((total, message) => total + counter.countMessage(message), 0);
}

function listMessages(messages: readonly unknown[], codec: ListCodec, count: Count): ListedMessage[] {
  return codec.decode(messages).map((message, index) => {
    const minted = !codec.neutral && message.id.startsWith(contentHash(message));
    if (minted && codec.format === "langchain") {
      throw new CompactError("InvalidMessages", "messages need an id to be summarized once only", {
        place: `messages[${index}]`,
        hint: "Give every message an id of its own, or let the graph's reducer do it first.",
      });
    }
    return { message, index, tokens: count([codec.neutral ? message : messages[index]]), minted };
  });
}

function summaryMessage(summary: string, prompt: SummarizeMessagesOptions["finalPrompt"]): Message {
  const { role, text } =
    typeof prompt === "object" ? prompt : { role: "system" as const, text: prompt ?? FINAL_PROMPT };
  const parts = [{ type: "text", text: text.replaceAll("{summary}", () => summary) }] as const;
  return { id: `running-summary-${contentHash({ role, parts })}`, role, parts, meta: { synthetic: true } };
}

interface Writing<T> {
  readonly options: SummarizeMessagesOptions<T>;
  readonly limits: RunningLimits;
  fits(text: string): boolean;
}

async function summaryText<T>(
  summarize: readonly ListedMessage[],
  running: RunningSummary | undefined,
  { options, limits, fits }: Writing<T>,
): Promise<string> {
  const messages = summarize.map((entry) => entry.message);
  const most =
    options.countTokens === undefined
      ? limits.maxSummaryTokens
      : Math.max(LEAST_OUTPUT, limits.maxSummaryTokens);
  let failure: unknown;
  try {
    const text = await writeRunningSummary(messages, running?.summary, { ...options, most, fits });
    if (text !== undefined) return text;
    failure = new CompactError("SummarizerFailed", `${options.model.name}: its summaries were too long`);
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    failure = error;
  }
  options.onFailure?.(failure);
  if (options.fallback === "error") throw asFailure(failure);
  return builtinText(messages, running?.summary, { most, fits, failure });
}

function asFailure(error: unknown): CompactError {
  if (CompactError.isInstance(error)) return error;
  return new CompactError("SummarizerFailed", errorMessage(error), {
    hint: "The messages are as they were; call again, or let the built-in summarizer step in.",
    cause: error,
  });
}

/** Needs no model; keeps to its room, which is halved while the whole is too long. */
async function builtinText(
  messages: readonly Message[],
  previous: string | undefined,
  { most, fits, failure }: { most: number; fits(text: string): boolean; failure: unknown },
): Promise<string> {
  let maxTokens = most;
  for (let attempt = 0; attempt <= SHORTER; attempt += 1) {
    const made = await builtinSummarizer.summarize(messages, { maxTokens, previous });
    if (made.text !== "" && fits(made.text)) return made.text;
    maxTokens = Math.floor(maxTokens / 2);
  }
  throw asFailure(failure);
}

function extended(
  running: RunningSummary | undefined,
  summarized: readonly ListedMessage[],
  summary: string,
): RunningSummary {
  const ids = summarized.map((entry) => entry.message.id);
  return {
    summary,
    summarizedMessageIds: [...new Set([...(running?.summarizedMessageIds ?? []), ...ids])],
    lastSummarizedMessageId: ids.at(-1) ?? running?.lastSummarizedMessageId,
  };
}
