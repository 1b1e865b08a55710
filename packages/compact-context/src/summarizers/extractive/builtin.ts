import { type Message, messageText, readSummary } from "../../core/message.ts";
import type { SummarizeOptions, Summarizer, Summary, SummaryStrategy } from "../../core/ports.ts";
import { CompactError, requireList, requireOptions, runInSteps } from "../../errors.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";
import type { Reading } from "./reading.ts";

const NAME = "builtin";

/**
 * Extracts a summary by program: no model, the same text for the same input, never more than `maxTokens`.
 * Throws `InvalidArgument` for a budget that is no number, `Aborted` when the signal is.
 */
export const builtinSummarizer: Summarizer = {
  name: NAME,
  deterministic: true,
  summarize: summarizeBuiltin,
};

async function summarizeBuiltin(messages: readonly Message[], options: SummarizeOptions): Promise<Summary> {
  // Most processes never compact: what reads and writes summaries is loaded with the first one.
  const { composeSummary } = await import("./compose.ts");
  const { reading, previous, strategy, countText } = await readInput(messages, options);
  const { instruction } = options;
  const maxTokens = Math.floor(options.maxTokens);
  const composing = composeSummary(reading, { maxTokens, strategy, previous, instruction, countText });
  const text = await runInSteps(composing, options.pause);
  return { text, tokens: countText(text), summarizer: NAME, messagesRead: messages.length };
}

/** What every summarizer starts from. */
export interface Input {
  /** The messages without summaries of ours. */
  readonly rest: readonly Message[];
  /** The summary so far. */
  readonly previous: string | undefined;
  readonly reading: Reading;
  readonly strategy: SummaryStrategy;
  readonly countText: (text: string) => number;
}

/** Checks what was asked and reads the messages. Throws `InvalidArgument`, or `Aborted` when the signal is. */
export async function readInput(messages: readonly Message[], options: SummarizeOptions): Promise<Input> {
  requireList(messages);
  requireOptions(options);
  throwIfAborted(options.signal);
  if (typeof options.maxTokens !== "number" || Number.isNaN(options.maxTokens)) {
    throw new CompactError("InvalidArgument", "maxTokens must be a number.", {
      hint: "Give the most tokens that the summary may have, such as 2000.",
      place: "options.maxTokens",
    });
  }
  const { readInSteps } = await import("./reading.ts");
  const { rest, previous } = takeOwnSummaries(messages, options.previous);
  return {
    rest,
    previous: previous === "" ? undefined : previous,
    reading: await runInSteps(readInSteps(rest, options.context), options.pause),
    strategy: options.strategy ?? "task_state",
    countText: options.countText ?? ((text) => o200kBase.count(text)),
  };
}

/** Throws `Aborted` when the signal is. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}

export function abortError(signal: AbortSignal | undefined): CompactError {
  return new CompactError("Aborted", "The summary was aborted by its caller.", {
    hint: "The history is as it was; call again to compact it.",
    cause: signal?.reason,
  });
}

/**
 * Takes summaries of ours out of a list; the first found stands in where no summary so far was given. Only messages
 * that the program itself marked count: anybody can type a tag.
 */
function takeOwnSummaries(
  messages: readonly Message[],
  given: string | undefined,
): { readonly rest: readonly Message[]; readonly previous: string | undefined } {
  let previous = given;
  const rest = messages.filter((message) => {
    if (message.meta?.summaryVersion === undefined) return true;
    const summary = readSummary(messageText(message));
    if (summary === undefined) return true;
    previous ??= summary.text;
    return false;
  });
  return { rest, previous };
}
