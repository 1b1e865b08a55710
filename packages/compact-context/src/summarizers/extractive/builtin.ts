import { type Message, messageText, readSummary } from "../../core/message.ts";
import type { SummarizeOptions, Summarizer, Summary, SummaryStrategy } from "../../core/ports.ts";
import { CompactError, refuseAborted, requireList, requireOptions, runInSteps } from "../../errors.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";
import type { Reading } from "./reading.ts";

const NAME = "builtin";

/**
 * Extracts a summary without a model: deterministic, at most `maxTokens`. Throws `InvalidArgument` for an
 * invalid budget, `Aborted` if the signal is aborted.
 */
export const builtinSummarizer: Summarizer = {
  name: NAME,
  deterministic: true,
  summarize: summarizeBuiltin,
};

async function summarizeBuiltin(messages: readonly Message[], options: SummarizeOptions): Promise<Summary> {
  // Most processes never compact: the summary code is loaded on first use.
  const { composeSummary } = await import("./compose.ts");
  const { reading, previous, strategy, countText } = await readInput(messages, options);
  const { instruction } = options;
  const maxTokens = Math.floor(options.maxTokens);
  const composing = composeSummary(reading, { maxTokens, strategy, previous, instruction, countText });
  const text = await runInSteps(composing, options.pause);
  return { text, tokens: countText(text), summarizer: NAME, messagesRead: messages.length };
}

export interface Input {
  /** The messages without our own summaries. */
  readonly rest: readonly Message[];
  readonly previous: string | undefined;
  readonly reading: Reading;
  readonly strategy: SummaryStrategy;
  readonly countText: (text: string) => number;
}

/**
 * Validates the arguments and reads the messages. Throws `InvalidArgument`, or `Aborted` if the signal is
 * aborted.
 */
export async function readInput(messages: readonly Message[], options: SummarizeOptions): Promise<Input> {
  requireList(messages);
  requireOptions(options);
  refuseAborted(options.signal);
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

/**
 * Removes our own summaries from a list; the first one found is used if no existing summary was passed. Only
 * messages marked by the program count: anyone can type a tag.
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
