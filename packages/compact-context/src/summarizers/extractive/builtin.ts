import { type Message, messageText, readSummary } from "../../core/message.ts";
import type { SummarizeOptions, Summarizer, Summary } from "../../core/ports.ts";
import { CompactError, requireList, requireOptions, runInSteps } from "../../errors.ts";
import { o200kBase } from "../../tokens/encodings/o200k-base.ts";

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
  requireList(messages);
  requireOptions(options);
  if (options.signal?.aborted === true) {
    throw new CompactError("Aborted", "The summary was aborted before it began.", {
      cause: options.signal.reason,
    });
  }
  if (typeof options.maxTokens !== "number" || Number.isNaN(options.maxTokens)) {
    throw new CompactError("InvalidArgument", "maxTokens must be a number.", {
      hint: "Give the most tokens that the summary may have, such as 2000.",
      place: "options.maxTokens",
    });
  }
  const countText = options.countText ?? ((text: string): number => o200kBase.count(text));
  // Most processes never compact: what reads and writes summaries is loaded with the first one.
  const [{ composeSummary }, { readInSteps }] = await Promise.all([
    import("./compose.ts"),
    import("./reading.ts"),
  ]);
  const { rest, previous } = takeOwnSummaries(messages, options.previous);
  const reading = await runInSteps(readInSteps(rest, options.context), options.pause);
  const composing = composeSummary(reading, {
    maxTokens: Math.floor(options.maxTokens),
    strategy: options.strategy ?? "task_state",
    previous,
    instruction: options.instruction,
    countText,
  });
  const text = await runInSteps(composing, options.pause);
  return { text, tokens: countText(text), summarizer: NAME, messagesRead: messages.length };
}

/**
 * Takes summaries of ours out of a list; the first found stands in where no summary so far was given. Only messages
 * that the program itself marked count: anybody can type a tag.
 */
export function takeOwnSummaries(
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
